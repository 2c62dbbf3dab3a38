// @ts-check
/** Tables in Markdown: their rows, and the line of dashes that makes a line their header. */

/** @typedef {Extract<import("./lexer.js").Block, { type: "table" }>} Table */

const DELIMITERS = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;
const MAX_COLUMNS = 100;
/** The most cells that are added to short rows, in all tables of a text. */
const MAX_ADDED_CELLS = 10_000;

/** Reads the tables of one text. */
export class TableReader {
  #addedCells = 0;

  /**
   * Take the last line as the header of a table, if the next line has the delimiters for it.
   * @param {string[]} lines @param {string} next
   * @param {number} at where the last line begins @returns {Table | null}
   */
  begin(lines, next, at) {
    if (!DELIMITERS.test(next) || !/[|:]/.test(next)) return null;
    const last = lines.at(-1);
    const header = last?.includes("|") ? cellsOf(last) : [];
    const aligns = cellsOf(next).map(alignOf);
    if (header.length !== aligns.length || header.length > MAX_COLUMNS) return null;
    lines.pop();
    return { type: "table", aligns, header: this.#row(header, aligns), rows: [], at };
  }

  /** @param {Table} table @param {string} line */
  addRow(table, line) {
    table.rows.push(this.#row(cellsOf(line), table.aligns));
  }

  /** @param {string[]} cells @param {Table["aligns"]} aligns */
  #row(cells, aligns) {
    this.#addedCells += Math.max(aligns.length - cells.length, 0);
    const shown = this.#addedCells > MAX_ADDED_CELLS ? aligns.slice(0, cells.length) : aligns;
    return shown.map((align, index) => ({ text: cells[index] ?? "", align }));
  }
}

/** @param {string} line */
function cellsOf(line) {
  const cells = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** @param {string} cell of the line of dashes */
function alignOf(cell) {
  if (/^:.*:$/.test(cell)) return "center";
  if (cell.endsWith(":")) return "right";
  return cell.startsWith(":") ? "left" : null;
}
