// @ts-check
/** JSON that is still being written, read as far as it goes. */

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?/;
const LITERALS = { true: true, false: false, null: null };
const SPACE = /[\s,:]/;

/** The text has ended within a value that nobody can read yet. */
class Unfinished extends Error {}

/**
 * Parse JSON that may end anywhere: a text is there as far as it goes, and a number or a name only
 * when it is whole. Returns undefined if there is nothing to read.
 * @param {string} json @returns {unknown}
 */
export function parsePartial(json) {
  try {
    return JSON.parse(json);
  } catch {
    try {
      return new Reader(json).value();
    } catch {
      return undefined;
    }
  }
}

class Reader {
  #text;
  #at = 0;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  /** @returns {any} */
  value() {
    const start = this.#next();
    if (start === "{") return this.#object();
    if (start === "[") return this.#list();
    return start === '"' ? this.#string() : this.#word();
  }

  /** The next character that is no space, comma or colon. */
  #next() {
    while (SPACE.test(this.#text[this.#at] ?? "")) this.#at += 1;
    if (this.#at >= this.#text.length) throw new Unfinished();
    return this.#text[this.#at];
  }

  #object() {
    /** @type {[string, unknown][]} */
    const entries = [];
    this.#read("}", () => {
      const name = this.#string({ isName: true });
      entries.push([name, this.value()]);
    });
    return Object.fromEntries(entries);
  }

  #list() {
    /** @type {unknown[]} */
    const items = [];
    this.#read("]", () => items.push(this.value()));
    return items;
  }

  /**
   * Read to the end of an object or a list, or as far as it goes.
   * @param {string} end @param {() => void} read
   */
  #read(end, read) {
    this.#at += 1;
    try {
      while (this.#next() !== end) read();
      this.#at += 1;
    } catch (error) {
      if (!(error instanceof Unfinished)) throw error;
      this.#at = this.#text.length;
    }
  }

  /** @param {{ isName?: boolean }} [options] @returns {string} */
  #string({ isName = false } = {}) {
    if (this.#next() !== '"') throw new SyntaxError("This is no JSON.");
    const start = this.#at;
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      if (this.#text[this.#at] === "\\") this.#at += 1;
      else if (this.#text[this.#at] === '"') {
        this.#at += 1;
        return JSON.parse(this.#text.slice(start, this.#at));
      }
    }
    if (isName) throw new Unfinished();
    // Without half an escape at the end, and without half a pair of surrogates.
    const whole = /^"(?:[^\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(this.#text.slice(start))?.[0] ?? '"';
    return JSON.parse(`${whole}"`).replace(/[\ud800-\udbff]$/, "");
  }

  /** A number, true, false or null. */
  #word() {
    const rest = this.#text.slice(this.#at);
    const [word] = /^[^\s,\]}:"[{]*/.exec(rest) ?? [""];
    if (word.length === rest.length) throw new Unfinished();
    this.#at += word.length;
    if (Object.hasOwn(LITERALS, word)) return LITERALS[/** @type {"null"} */ (word)];
    if (NUMBER.exec(word)?.[0] !== word) throw new SyntaxError("This is no JSON.");
    return Number(word);
  }
}
