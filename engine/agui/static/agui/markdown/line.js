// @ts-check
/** A line of Markdown, which is read from the left. Its blanks are measured in columns. */

/**
 * Count the columns of a character. A tab reaches to the next multiple of four.
 * @param {string} character @param {number} column where it begins
 */
const widthOf = (character, column) => (character === "\t" ? 4 - (column % 4) : 1);

export class Line {
  #text;
  /** How many characters are read, and how many columns. */
  #at = 0;
  #column = 0;
  /** The unread columns of a tab that is read in part. */
  #pad = 0;
  /** The blank columns that come next. */
  indent = 0;
  /** What follows these blanks. It is empty if the rest of the line is blank. */
  content = "";

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
    this.#look();
  }

  /** The unread part of the line, with its blanks. */
  get rest() {
    return " ".repeat(this.#pad) + this.#text.slice(this.#at);
  }

  /** @param {number} columns */
  skip(columns) {
    for (const end = this.#column + columns; this.#column < end; this.#column++) {
      if (!this.#pad) this.#pad = widthOf(this.#text[this.#at++], this.#column);
      this.#pad--;
    }
    this.#look();
  }

  /** Read past the mark of a quote, if it comes next. */
  skipQuoteMark() {
    const isQuote = this.indent < 4 && this.content[0] === ">";
    if (isQuote) {
      this.skip(this.indent + 1);
      this.skip(Math.min(this.indent, 1));
    }
    return isQuote;
  }

  #look() {
    const text = this.#text;
    let at = this.#at;
    let column = this.#column + this.#pad;
    for (; text[at] === " " || text[at] === "\t"; at++) column += widthOf(text[at], column);
    this.indent = column - this.#column;
    this.content = text.slice(at);
  }
}
