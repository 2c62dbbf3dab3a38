// @ts-check
/** Markdown inside a block: emphasis, code, links and the like, as tokens. Each part is linear in the length of the text. */

/** @typedef {import("./markdown-lexer.js").Token} Token */
/** @typedef {import("./markdown-lexer.js").Links} Links */

const ATTRIBUTES = `(?:\\s+[a-zA-Z:_][\\w.:-]*(?:\\s*=\\s*(?:"[^"]*"|'[^']*'|[^\\s"'=<>\`]+))?)*\\s*`;
const AUTOLINK = /<(?:([a-z][a-z\d+.-]{1,31}:[^\s<>]*)|([\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(?:\.[a-z\d-]+)+))>/iy;
export const TAG = new RegExp(`</[a-z][\\w-]*\\s*>|<[a-z][\\w-]*${ATTRIBUTES}/?>`, "iy");
/** Raw HTML that begins like this goes on until that. */
const RAW = [["<!-->", ""], ["<!--->", ""], ["<!--", "-->"], ["<?", "?>"], ["<![CDATA[", "]]>"], ["<!", ">"]];

/** What begins raw HTML there that is no tag, and what ends it. @param {string} text @param {number} at */
export const rawAt = (text, at) => RAW.find(([begin]) => text.startsWith(begin, at) && (begin !== "<!" || /[a-z]/i.test(text[at + 2] ?? "")));
const URL_TEXT = /(?:(?:https?|ftp):\/\/|www\.)(?=[\p{L}\p{N}])[^\s<]*/iuy;
const EMAIL = /(?:mailto:)?[a-z\d.+_-]{1,64}@[a-z\d_-]+(?:\.[a-z\d_-]*[a-z\d])+(?![-_])/iy;
const LONGEST_MAIL_START = 72;
const LABEL = /\[((?:\\[^]|[^[\]\\]){0,999})\]/y;
const BLANKS = /[ \t]*(?:\n[ \t]*)?/y;
const TITLE = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\((?:\\[^]|[^()\\])*\)/y;
/** A line's end, blanks, an escape, or marks. */
const SIGN = /[ \t]*\n[ \t]*|[ \t]+|\\(?:\n[ \t]*|[!-/:-@[-`{-~])|`+|\*+|_+|~+/y;
const WORD = /[a-z\d]+|[^a-z\d]/iy;
const [BLANK, POINT] = [1, 2];
/** Emphasis within emphasis: what walks the tree calls itself. */
const DEEPEST_SPAN = 100;

/** @param {RegExp} pattern @param {string} text @param {number} at */
export function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** @param {string} text @param {Links} links @returns {Token[]} */
export function spans(text, links) {
  return new SpanReader(text, links).read();
}

class SpanReader {
  #text;
  #links;
  #at = 0;
  /** @type {any[]} tokens, and marks that may become emphasis or links */
  #out = [];
  /** @type {{ index: number, at: number, isImage: boolean }[]} brackets that are open: where in the tokens and in the text */
  #brackets = [];
  /** There can be no link from so many of the brackets: a link within would be in a link. */
  #dead = 0;
  /** Is there no bracket between the last open one and here? Else the text is no label. */
  #isLabel = false;
  /** What does not come again behind `#at`, so it is not looked for again. @type {Set<string>} */
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
    if (found?.includes("\n")) this.#put({ type: "br" }, found.length);
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
    const raw = rawAt(text, at);
    const end = raw && !this.#missing.has(raw[1]) ? text.indexOf(raw[1], at + raw[0].length) + 1 : 0;
    if (raw && !end) this.#missing.add(raw[1]);
    const length = raw && end ? end - 1 + raw[1].length - at : this.#match(TAG)?.[0].length;
    if (length) this.#put({ type: "html", text: text.slice(at, at + length) }, length);
    return !!length;
  }

  /** Read an address that stands in the text as it is. */
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

  /** Is there a link or an image that ends here? */
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

  /** @param {number} from where the text in brackets begins @returns {{ href: string, title?: string, end: number } | null} */
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
const plain = (text) => ({ type: "text", text });

/** @param {string} text */
function codeText(text) {
  const line = text.replace(/\n/g, " ");
  return line.length > 1 && line.startsWith(" ") && line.endsWith(" ") && /[^ ]/.test(line) ? line.slice(1, -1) : line;
}

/** Where does an address end, for which there is no end but a blank? Before its last punctuation. @param {string} url */
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

/** @param {string} character */
const kindOf = (character) => (/[a-z\d]/i.test(character) ? 0 : /\s/.test(character) ? BLANK : /[\p{P}\p{S}]/u.test(character) ? POINT : 0);

/** A run of stars, underscores or tildes: may it open or close emphasis? @param {string} text @param {string} before @param {string} after */
function markOf(text, before = " ", after = " ") {
  const mark = text[0];
  const { length } = text;
  const [kindBefore, kindAfter] = [kindOf(before), kindOf(after)];
  const left = kindAfter !== BLANK && (kindAfter !== POINT || kindBefore > 0);
  const right = kindBefore !== BLANK && (kindBefore !== POINT || kindAfter > 0);
  if (mark === "~") return { type: "text", text, mark: length < 3 && mark, opens: left, closes: right, length };
  const opens = left && (mark === "*" || !right || kindBefore === POINT);
  const closes = right && (mark === "*" || !left || kindAfter === POINT);
  return { type: "text", text, mark, opens, closes, length };
}

/** Turn marks that belong together into emphasis, and all others into text. @param {any[]} list @returns {Token[]} */
function withEmphasis(list) {
  /** @type {any[]} */
  const out = [];
  /** Where in `out` emphasis may begin. @type {number[]} */
  const openers = [];
  /** For each kind of mark that ends emphasis: no opener before this place in the list fits. @type {Record<string, number>} */
  const floors = {};
  let place = 0;
  for (const token of list) {
    place++;
    if (token.mark) {
      token.place = place;
      if (token.closes) close(token, out, openers, floors);
      if (!token.text) continue;
      if (token.opens) openers.push(out.length);
    }
    out.push(token);
  }
  return merged(out);
}

/** Pair a mark with those before it. @param {any} closer @param {any[]} out @param {number[]} openers @param {Record<string, number>} floors */
function close(closer, out, openers, floors) {
  const kind = closer.mark + closer.opens + (closer.length % 3);
  while (closer.text) {
    let index = openers.length - 1;
    while (index >= 0 && out[openers[index]].place >= (floors[kind] ?? 0) && !pairs(out[openers[index]], closer)) index--;
    if (index < 0 || out[openers[index]].place < (floors[kind] ?? 0)) {
      floors[kind] = closer.place;
      return;
    }
    const opener = out[openers[index]];
    const tokens = merged(out.slice(openers[index] + 1));
    const depth = depthOf(tokens) + 1;
    if (depth > DEEPEST_SPAN) return;
    const size = closer.mark === "~" ? closer.length : Math.min(2, opener.text.length, closer.text.length);
    opener.text = opener.text.slice(size);
    closer.text = closer.text.slice(size);
    out.length = openers[index] + (opener.text ? 1 : 0);
    openers.length = index + (opener.text ? 1 : 0);
    out.push({ type: closer.mark === "~" ? "del" : size === 2 ? "strong" : "em", tokens, depth });
  }
}

/** @param {any} opener @param {any} closer */
function pairs(opener, closer) {
  if (opener.mark !== closer.mark) return false;
  if (closer.mark === "~") return opener.length === closer.length;
  // As CommonMark has it, so that one run does not take what belongs to another.
  return !((opener.closes || closer.opens) && (opener.length + closer.length) % 3 === 0 && closer.length % 3);
}

/** @param {any[]} tokens */
const depthOf = (tokens) => tokens.reduce((deepest, { depth = 0 }) => Math.max(deepest, depth), 0);

/** @param {any[]} list @returns {Token[]} */
function merged(list) {
  /** @type {Token[]} */
  const tokens = [];
  for (const token of list) {
    const last = tokens.at(-1);
    if (token.type === "text" && last?.type === "text") last.text += token.text;
    else tokens.push(token.type === "text" ? plain(token.text) : token);
  }
  return tokens;
}

// --- Where links lead

/** @param {string} text @param {number} at the bracket that begins it */
function inlineTarget(text, at) {
  const begin = blanksEnd(text, at + 1);
  const { href, end, title } = targetAt(text, begin) ?? { href: "", end: begin };
  const last = blanksEnd(text, title?.end ?? end);
  return text[last] === ")" ? { href, title: title?.text, end: last + 1 } : null;
}

/** Read the definition of a link. @param {string} text a paragraph @param {number} at where a line begins */
export function definitionAt(text, at) {
  const label = matchAt(LABEL, text, at);
  if (!label?.[1].trim() || text[at + label[0].length] !== ":") return null;
  const found = targetAt(text, blanksEnd(text, at + label[0].length + 1));
  const titleEnd = found?.title && lineEnd(text, found.title.end);
  const end = titleEnd || (found && lineEnd(text, found.end));
  return found && end ? { tag: keyOf(label[1]), href: found.href, title: titleEnd ? found.title?.text : undefined, end } : null;
}

/** A destination, and perhaps a title behind it. @param {string} text @param {number} at */
function targetAt(text, at) {
  const destination = destinationAt(text, at);
  if (!destination) return null;
  const gap = blanksEnd(text, destination.end);
  const title = gap > destination.end ? matchAt(TITLE, text, gap) : null;
  return { ...destination, title: title && { text: unescaped(title[0].slice(1, -1)), end: gap + title[0].length } };
}

/** @param {string} text @param {number} at */
const blanksEnd = (text, at) => at + /** @type {RegExpExecArray} */ (matchAt(BLANKS, text, at))[0].length;

/** The position of the next line, if only blanks are before it. @param {string} text @param {number} at */
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
