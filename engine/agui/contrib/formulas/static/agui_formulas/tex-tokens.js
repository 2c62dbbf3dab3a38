// @ts-check
/** The tokens of a formula in TeX: commands with their backslash, and single characters. */

const TOKEN = /\s*(\\[a-zA-Z]+|\\[^]|[^])?/uy;
const NUMBER = /\d+(?:\.\d+)?|\.\d+/y;
/** The height of a gap after a line. */
const GAP = /\[-?[\d.]+ *[a-z]{2}\]/y;

/** There is something that is not understood. @returns {never} */
export function refuse() {
  throw new SyntaxError("This formula is not understood.");
}

export class TexTokens {
  #text;
  #at = 0;
  /** What comes next: nothing at the end. */
  token = "";

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
    this.next();
  }

  /** Take the next token. */
  next() {
    const { token } = this;
    TOKEN.lastIndex = this.#at;
    this.token = TOKEN.exec(this.#text)?.[1] ?? "";
    this.#at = TOKEN.lastIndex;
    return token;
  }

  /** @param {string} token */
  expect(token) {
    if (this.next() !== token) refuse();
  }

  /** Take the next token if it is this one. @param {string} token */
  skip(token) {
    return this.token === token && !!this.next();
  }

  skipLineEnd() {
    if (this.skip("\\cr")) return true;
    if (!this.skip("\\\\")) return false;
    GAP.lastIndex = this.#at - 1;
    if (GAP.test(this.#text)) this.option();
    return true;
  }

  /** Take a number, if one comes next. */
  number() {
    NUMBER.lastIndex = this.#at - this.token.length;
    const [number = ""] = NUMBER.exec(this.#text) ?? [];
    if (number) this.#goTo(NUMBER.lastIndex);
    return number;
  }

  /** Take what is in braces as it is written. */
  raw() {
    if (this.token !== "{") refuse();
    const begin = this.#at;
    let end = begin;
    for (let open = 1; open; end++) {
      if (end >= this.#text.length) refuse();
      if (this.#text[end] === "\\") end++;
      else if (this.#text[end] === "{") open++;
      else if (this.#text[end] === "}") open--;
    }
    this.#goTo(end);
    return this.#text.slice(begin, end - 1);
  }

  /** Take what is in brackets, if they come next. */
  option() {
    if (this.token !== "[") return "";
    const begin = this.#at;
    const end = this.#text.indexOf("]", begin);
    if (end < 0) refuse();
    this.#goTo(end + 1);
    return this.#text.slice(begin, end);
  }

  /** @param {number} at */
  #goTo(at) {
    this.#at = at;
    this.next();
  }
}
