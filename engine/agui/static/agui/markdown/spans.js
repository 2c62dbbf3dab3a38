// @ts-check
/**
 * Read emphasis, code, links and the like as tokens, in time that is linear in the text's length.
 */
import { addressAt } from "./addresses.js";
import { DEEPEST_SPAN, depthOf, markOf, plain, withEmphasis } from "./emphasis.js";
import { readerOfHtml } from "./html-reader.js";
import { targetAt } from "./links.js";
import { shapes } from "./shapes-reader.js";
import { matchAt } from "./text.js";

/** @typedef {import("./lexer.js").Token} Token */
/** @typedef {import("./lexer.js").Links} Links */
/** @typedef {Token & { length: number }} Span a token with its length in the text */
/**
 * @typedef {{ index: number, at: number, isImage: boolean }} Bracket an open one: its place among
 *   the tokens, and where the text behind it begins
 */

/** The end of a line, blanks, an escape, or marks. */
const SIGN = /[ \t]*\n[ \t]*|[ \t]+|\\(?:\n[ \t]*|[!-/:-@[-`{-~])|`+|\*+|_+|~+/y;
const WORD = /[a-z\d]+|[^a-z\d]/iy;
const LONGEST_LABEL = 999;

/** @param {string} text @param {Links} links @returns {Token[]} */
export function spans(text, links) {
  return new SpanReader(text, links).read();
}

class SpanReader {
  #text;
  #links;
  #at = 0;
  /** @type {Token[]} tokens, and marks that may become emphasis or links */
  #out = [];
  /** @type {Bracket[]} */
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

  /** @param {Token} token @param {number} [length] in the source */
  #put(token, length = (token.text ?? "").length) {
    this.#out.push(token);
    this.#at += length;
  }

  /** What matches the pattern here, or "". @param {RegExp} pattern */
  #match(pattern) {
    return matchAt(pattern, this.#text, this.#at)?.[0] ?? "";
  }

  #readOne() {
    const [text, at] = [this.#text, this.#at];
    const sign = this.#match(SIGN);
    const shape = shapes.reader?.spanAt(text, at, this.#links, this.#missing);
    if (shape) this.#put(shape, shape.length);
    else if (sign) this.#readSign(sign);
    else if (text[at] === "[" || text.startsWith("![", at)) this.#openBracket(text[at] === "!");
    else if (text[at] === "]") this.#closeBracket();
    else this.#readWord();
  }

  /** @param {string} sign */
  #readSign(sign) {
    const { length } = sign;
    if (sign.includes("\n")) this.#put({ type: "br" }, length);
    else if (sign[0] === "\\") this.#put({ type: "escape", text: sign[1] }, length);
    else if (sign[0] === "`") this.#readCode(sign);
    else if (" \t".includes(sign[0])) this.#put(plain(sign));
    else {
      const [text, at] = [this.#text, this.#at];
      const isInWord = shapes.reader?.isBesideCjk(sign, text, at);
      this.#put(markOf(sign, text[at - 1], text[at + length], isInWord));
    }
  }

  /** @param {string} ticks */
  #readCode(ticks) {
    const from = this.#at + ticks.length;
    const same = new RegExp(`(?<!\`)${ticks}(?!\`)`, "g");
    const end = this.#missing.has(ticks) ? null : matchAt(same, this.#text, from);
    if (!end) {
      this.#missing.add(ticks);
      return this.#put(plain(ticks));
    }
    const text = codeText(this.#text.slice(from, end.index));
    this.#put({ type: "codespan", text }, same.lastIndex - this.#at);
  }

  /** Read an address, a tag, a word, or a character without a meaning. */
  #readWord() {
    const [text, at] = [this.#text, this.#at];
    const reader = readerOfHtml(text, at);
    const link = reader ? reader.bracketedAt(text, at) : addressAt(text, at);
    if (link) return this.#put(link, link.length);
    const length = reader?.htmlLength(text, at, this.#missing);
    if (length) return this.#put({ type: "html", text: text.slice(at, at + length) }, length);
    this.#put(plain(this.#match(WORD)));
  }

  /** @param {boolean} isImage */
  #openBracket(isImage) {
    const text = isImage ? "![" : "[";
    this.#brackets.push({ index: this.#out.length, at: this.#at + text.length, isImage });
    this.#isLabel = true;
    this.#put(plain(text));
  }

  /** Read the end of a link or an image, if this is one. */
  #closeBracket() {
    const bracket = this.#brackets.pop();
    const isDead = this.#brackets.length < this.#dead;
    this.#dead = Math.min(this.#dead, this.#brackets.length);
    const isLink = bracket && (bracket.isImage || !isDead) && this.#readLink(bracket);
    this.#isLabel = false;
    if (!isLink) this.#put(plain("]"));
  }

  /** @param {Bracket} bracket */
  #readLink({ index, at, isImage }) {
    const text = this.#text.slice(at, this.#at);
    const label = this.#isLabel && text.length <= LONGEST_LABEL ? text : "";
    const target = targetAt(this.#text, this.#at + 1, label, this.#links);
    if (!target) return false;
    const [opening, ...inner] = this.#out.splice(index);
    const tokens = withEmphasis(inner);
    const depth = depthOf(tokens) + 1;
    if (depth > DEEPEST_SPAN) {
      this.#out.push(opening, ...tokens);
      return false;
    }
    const { href, title, end } = target;
    const type = isImage ? "image" : "link";
    this.#put({ type, href, title, text, tokens, depth }, end - this.#at);
    if (!isImage) this.#dead = this.#brackets.length;
    return true;
  }
}

/** @param {string} text */
function codeText(text) {
  const line = text.replace(/\n/g, " ");
  return /[^ ]/.test(line) ? line.replace(/^ (.*) $/s, "$1") : line;
}
