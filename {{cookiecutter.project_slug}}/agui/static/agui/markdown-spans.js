// @ts-check
/**
 * Read emphasis, code, links and the like as tokens, in time that is linear in the text's length.
 */
import { DEEPEST_SPAN, depthOf, markOf, plain, withEmphasis } from "./markdown-emphasis.js";
import { mathAt } from "./markdown-math.js";

/** @typedef {import("./markdown-lexer.js").Token} Token */
/** @typedef {import("./markdown-lexer.js").Links} Links */

const AUTOLINK = /<(?:([a-z][a-z\d+.-]{1,31}:[^\s<>]*)|([\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(?:\.[a-z\d-]+)+))>/iy;
const URL_TEXT = /(?:(?:https?|ftp):\/\/|www\.)(?=[\p{L}\p{N}])[^\s<]*/iuy;
const EMAIL = /(?:mailto:)?[a-z\d.+_-]{1,64}@[a-z\d_-]+(?:\.[a-z\d_-]*[a-z\d])+(?![-_])/iy;
const LONGEST_MAIL_START = 72;
const LABEL = /\[((?:\\[^]|[^[\]\\]){0,999})\]/y;
const BLANKS = /[ \t]*(?:\n[ \t]*)?/y;
const TITLE = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\((?:\\[^]|[^()\\])*\)/y;
/** The end of a line, blanks, an escape, or marks. */
const SIGN = /[ \t]*\n[ \t]*|[ \t]+|\\(?:\n[ \t]*|[!-/:-@[-`{-~])|`+|\*+|_+|~+/y;
const WORD = /[a-z\d]+|[^a-z\d]/iy;

/**
 * The reader of raw HTML, which is loaded with the first HTML, and whether a text lacked it.
 * @type {{ reader: typeof import("./markdown-html.js") | null, isMissing: boolean }}
 */
export const html = { reader: null, isMissing: false };

/** The reader, if HTML may begin there. @param {string} text @param {number} at */
export function readerOfHtml(text, at) {
  if (text[at] !== "<" || !/[a-z/!?]/i.test(text[at + 1] ?? "")) return null;
  html.isMissing ||= !html.reader;
  return html.reader;
}

/** @param {RegExp} pattern @param {string} text @param {number} at */
export function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/**
 * Read the texts inside blocks. This comes after all blocks, because a later block may define a
 * link.
 * @param {Token[]} tokens @param {Links} links
 */
export function readInline(tokens, links) {
  for (const token of tokens) {
    if (["paragraph", "heading", "text"].includes(token.type)) {
      token.tokens = [...(token.box ? [token.box] : []), ...spans(token.text, links)];
    } else if (token.tokens) readInline(token.tokens, links);
    for (const { tokens } of token.items ?? []) readInline(tokens, links);
    for (const cell of [...(token.header ?? []), ...(token.rows ?? []).flat()]) cell.tokens = spans(cell.text, links);
  }
}

/** @param {string} text @param {Links} links @returns {Token[]} */
function spans(text, links) {
  return new SpanReader(text, links).read();
}

class SpanReader {
  #text;
  #links;
  #at = 0;
  /** @type {any[]} tokens, and marks that may become emphasis or links */
  #out = [];
  /**
   * @type {{ index: number, at: number, isImage: boolean }[]} open brackets: their places in the
   *   tokens and in the text
   */
  #brackets = [];
  /** So many of the open brackets can't begin a link, because a link can't contain a link. */
  #dead = 0;
  /**
   * Whether there is no bracket between the last open one and here. Otherwise the text is not a
   * label.
   */
  #isLabel = false;
  /**
   * Delimiters that don't occur after `#at`, so that nothing searches for them again.
   * @type {Set<string>}
   */
  #missing = new Set();
  #mailAt = -1;

  /** @param {string} text @param {Links} links */
  constructor(text, links) {
    this.#text = text;
    this.#links = links;
  }

  /** @returns {Token[]} */
  read() {
    while (this.#at < this.#text.length) this.#readOne();
    return withEmphasis(this.#out);
  }

  /** @param {any} token @param {number} length */
  #put(token, length) {
    this.#out.push(token);
    this.#at += length;
  }

  /** @param {RegExp} pattern */
  #match(pattern) {
    return matchAt(pattern, this.#text, this.#at);
  }

  #readOne() {
    const [text, at] = [this.#text, this.#at];
    const character = text[at];
    const found = this.#match(SIGN)?.[0];
    const math = mathAt(text, at, this.#missing);
    if (math) this.#put(math, math.length);
    else if (found?.includes("\n")) this.#put({ type: "br" }, found.length);
    else if (character === "\\" && found) this.#put({ type: "escape", text: found[1] }, 2);
    else if (character === "`") this.#readCode(found ?? "");
    else if (found && " \t".includes(character)) this.#put(plain(found), found.length);
    else if (found) this.#put(markOf(found, text[at - 1], text[at + found.length]), found.length);
    else if (character === "[" || text.startsWith("![", at)) this.#openBracket(character === "!");
    else if (character === "]") this.#closeBracket();
    else if (!(character === "<" && this.#readTag()) && !this.#readBareLink()) {
      const word = this.#match(WORD)?.[0] ?? "";
      this.#put(plain(word), word.length);
    }
  }

  /** @param {string} ticks */
  #readCode(ticks) {
    const from = this.#at + ticks.length;
    const closing = new RegExp(`(?<!\`)${ticks}(?!\`)`, "g");
    const end = this.#missing.has(ticks) ? undefined : matchAt(closing, this.#text, from)?.index;
    if (end === undefined) {
      this.#missing.add(ticks);
      return this.#put(plain(ticks), ticks.length);
    }
    this.#put({ type: "codespan", text: codeText(this.#text.slice(from, end)) }, end + ticks.length - this.#at);
  }

  /** Read an address or a tag in angle brackets. */
  #readTag() {
    const [text, at] = [this.#text, this.#at];
    const link = this.#match(AUTOLINK);
    if (link) {
      const shown = link[1] ?? link[2];
      this.#put({ type: "link", href: link[1] ?? `mailto:${shown}`, text: shown, autolink: true }, link[0].length);
      return true;
    }
    const length = readerOfHtml(text, at)?.htmlLength(text, at, this.#missing);
    if (length) this.#put({ type: "html", text: text.slice(at, at + length) }, length);
    return !!length;
  }

  /** Read a bare address. */
  #readBareLink() {
    const [text, at] = [this.#text, this.#at];
    if (/[a-z\d]/i.test(text[at - 1] ?? " ")) return false;
    const url = this.#match(URL_TEXT);
    if (url) {
      const shown = url[0].slice(0, addressEnd(url[0]));
      this.#put({ type: "link", href: /^www/i.test(shown) ? `http://${shown}` : shown, text: shown, autolink: true }, shown.length);
      return true;
    }
    if (this.#mailAt < at) this.#mailAt = (text.indexOf("@", at) + 1 || Infinity) - 1;
    const mail = this.#mailAt - at < LONGEST_MAIL_START && this.#match(EMAIL)?.[0];
    if (mail) this.#put({ type: "link", href: mail.replace(/^(?!mailto:)/i, "mailto:"), text: mail, autolink: true }, mail.length);
    return !!mail;
  }

  /** @param {boolean} isImage */
  #openBracket(isImage) {
    const text = isImage ? "![" : "[";
    this.#brackets.push({ index: this.#out.length, at: this.#at + text.length, isImage });
    this.#isLabel = true;
    this.#put(plain(text), text.length);
  }

  /** Read the end of a link or an image, if this is one. */
  #closeBracket() {
    const bracket = this.#brackets.pop();
    const isDead = this.#brackets.length < this.#dead;
    this.#dead = Math.min(this.#dead, this.#brackets.length);
    const target = bracket && (bracket.isImage || !isDead) ? this.#target(bracket.at) : null;
    this.#isLabel = false;
    const inside = bracket && target && withEmphasis(this.#out.slice(bracket.index + 1));
    if (!bracket || !target || !inside) return this.#put(plain("]"), 1);
    this.#out.length = bracket.index;
    if (depthOf(inside) >= DEEPEST_SPAN) {
      this.#out.push(plain(bracket.isImage ? "![" : "["), ...inside);
      return this.#put(plain("]"), 1);
    }
    const text = this.#text.slice(bracket.at, this.#at);
    const { href, title, end } = target;
    this.#put({ type: bracket.isImage ? "image" : "link", href, title, text, tokens: inside, depth: depthOf(inside) + 1 }, end - this.#at);
    if (!bracket.isImage) this.#dead = this.#brackets.length;
  }

  /**
   * @param {number} from where the text in brackets begins
   * @returns {{ href: string, title?: string, end: number } | null}
   */
  #target(from) {
    const [text, at] = [this.#text, this.#at + 1];
    const inline = text[at] === "(" ? inlineTarget(text, at) : null;
    if (inline) return inline;
    const label = matchAt(LABEL, text, at);
    const tag = label?.[1].trim() ? label[1] : this.#isLabel && this.#at - from < 1000 ? text.slice(from, this.#at) : "";
    const link = tag && this.#links.get(keyOf(tag));
    return link ? { ...link, end: at + (label?.[0].length ?? 0) } : null;
  }
}

/** @param {string} text */
function codeText(text) {
  const line = text.replace(/\n/g, " ");
  return line.length > 1 && line.startsWith(" ") && line.endsWith(" ") && /[^ ]/.test(line) ? line.slice(1, -1) : line;
}

/**
 * Find the end of a bare address: its last punctuation does not belong to it.
 * @param {string} url
 */
function addressEnd(url) {
  let end = url.length;
  let unopened = count(url, ")") - count(url, "(");
  for (;;) {
    const [tail] = /(?:[?!.,:;*_'"~)]|&[a-z\d]{1,31};)$/i.exec(url.slice(Math.max(end - 34, 0), end)) ?? [];
    if (!tail || (tail === ")" && unopened-- <= 0)) return end;
    end -= tail.length;
  }
}

/** @param {string} text @param {string} character */
const count = (text, character) => text.split(character).length - 1;

// --- Where links lead

/** @param {string} text @param {number} at its opening bracket */
function inlineTarget(text, at) {
  const begin = blanksEnd(text, at + 1);
  const { href, end, title } = targetAt(text, begin) ?? { href: "", end: begin };
  const last = blanksEnd(text, title?.end ?? end);
  return text[last] === ")" ? { href, title: title?.text, end: last + 1 } : null;
}

/**
 * Read the definition of a link.
 * @param {string} text a paragraph @param {number} at where a line begins
 */
export function definitionAt(text, at) {
  const label = matchAt(LABEL, text, at);
  if (!label?.[1].trim() || text[at + label[0].length] !== ":") return null;
  const found = targetAt(text, blanksEnd(text, at + label[0].length + 1));
  const titleEnd = found?.title && lineEnd(text, found.title.end);
  const end = titleEnd || (found && lineEnd(text, found.end));
  return found && end ? { tag: keyOf(label[1]), href: found.href, title: titleEnd ? found.title?.text : undefined, end } : null;
}

/** Read a destination, and its title if it has one. @param {string} text @param {number} at */
function targetAt(text, at) {
  const destination = destinationAt(text, at);
  if (!destination) return null;
  const gap = blanksEnd(text, destination.end);
  const title = gap > destination.end ? matchAt(TITLE, text, gap) : null;
  return { ...destination, title: title && { text: unescaped(title[0].slice(1, -1)), end: gap + title[0].length } };
}

/** @param {string} text @param {number} at */
const blanksEnd = (text, at) => at + /** @type {RegExpExecArray} */ (matchAt(BLANKS, text, at))[0].length;

/** Find the next line, if only blanks are before it. @param {string} text @param {number} at */
function lineEnd(text, at) {
  const found = matchAt(/[ \t]*(?:\n|$)/y, text, at);
  return found && at + found[0].length;
}

/** @param {string} text @param {number} at */
function destinationAt(text, at) {
  if (text[at] === "<") {
    const found = matchAt(/<((?:\\.|[^\n<>\\])*)>/y, text, at);
    return found && { href: unescaped(found[1]), end: at + found[0].length };
  }
  let end = at;
  for (let depth = 0; end < text.length && text[end] > " " && text[end] !== "\x7f"; end++) {
    if (text[end] === "\\" && text[end + 1] > " ") end++;
    else if (text[end] === "(" && ++depth > 32) return null;
    else if (text[end] === ")" && --depth < 0) break;
  }
  return end > at ? { href: unescaped(text.slice(at, end)), end } : null;
}

/** @param {string} text */
export function unescaped(text) {
  return text.replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** @param {string} label */
function keyOf(label) {
  return label.trim().toLowerCase().toUpperCase().replace(/\s+/g, " ");
}
