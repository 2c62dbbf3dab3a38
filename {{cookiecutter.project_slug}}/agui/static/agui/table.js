// @ts-check
/** A table of values: scrolls by itself, is sorted by its heads, and changes in its place. */
import { h, setAttribute, setText } from "./dom.js";
import { format, heading } from "./strings.js";

const MAX_COLUMNS = 60;
/** Of the rows; more are shown when asked for. */
const FIRST = 100;

/** In English; the tables of other languages have these, too. */
export const TABLE_WORDS = { noRows: "No rows" };

/** @typedef {{ key: string | number, label: string }} Column */

/** The activity `table`. @param {{ strings: import("./strings.js").Strings }} context */
export function tableView(context) {
  const title = h("p", { class: "activity-title" });
  const table = new DataTable(context.strings);
  const empty = h("p", { class: "muted" }, { ...TABLE_WORDS, ...context.strings }.noRows);
  const element = h("div", { class: "activity-body" }, title, table.element, empty);
  /** @param {any} content */
  const update = ({ title: text, columns, rows }) => {
    if (!Array.isArray(rows)) throw new TypeError("This is no table.");
    const label = typeof text === "string" ? text : "";
    const read = readColumns(columns, rows);
    table.update({ label, columns: read, rows });
    table.element.hidden = !read.length;
    empty.hidden = rows.length > 0;
    title.hidden = !label;
    setText(title, label);
  };
  return { element, update };
}

/** @param {any} columns @param {any[]} rows @returns {Column[]} */
function readColumns(columns, rows) {
  const keys = () => [...new Set(rows.slice(0, FIRST).flatMap((row) => (row && typeof row === "object" ? Object.keys(row) : [])))];
  const found = Array.isArray(columns) && columns.length ? columns : keys();
  if ((rows.length && !found.length) || found.length > MAX_COLUMNS) throw new TypeError("This is no table.");
  return found.map((column, index) => {
    const { key, label, title } = column && typeof column === "object" ? column : { key: column };
    const name = String(key ?? label ?? title ?? index);
    return { key: Array.isArray(rows[0]) ? index : name, label: String(label ?? title ?? (found === columns ? name : heading(name))) };
  });
}

export class DataTable {
  #strings;
  #head = h("tr");
  #body = h("tbody");
  #table = h("table", {}, h("thead", {}, this.#head), this.#body);
  #region = h("div", { class: "table", role: "region", tabindex: "0" }, this.#table);
  #more = h("button", { type: "button", class: "button", onclick: () => this.#showAll() });
  #limit = FIRST;
  /** @type {Column[]} */ #columns = [];
  /** @type {any[]} */ #rows = [];
  /** @type {number | null} */ #sorted = null;
  #descends = false;
  #rowHeads;
  element = h("div", { class: "data-table" }, this.#region, this.#more);

  /** @param {import("./strings.js").Strings} strings @param {{ rowHeads?: boolean }} [options] whether the first cell of a row names it */
  constructor(strings, { rowHeads = false } = {}) {
    this.#strings = strings;
    this.#rowHeads = rowHeads;
  }

  /** @param {{ label: string, columns: Column[], rows: any[] }} data rows are lists or objects */
  update({ label, columns, rows }) {
    const same = columns.length === this.#columns.length && columns.every((one, index) => one.label === this.#columns[index].label);
    this.#columns = columns;
    this.#rows = rows;
    setAttribute(this.#region, "aria-label", label || this.#strings.table);
    if (!same) {
      this.#sorted = null;
      this.#head.replaceChildren(...columns.map((one, index) => this.#th(one.label, index)));
      this.#body.replaceChildren();
    }
    this.#draw();
  }

  /** @param {string} label @param {number} index */
  #th(label, index) {
    const sort = () => {
      this.#descends = this.#sorted === index && !this.#descends;
      this.#sorted = index;
      this.#draw();
    };
    return h("th", { scope: "col" }, h("button", { type: "button", class: "sort", onclick: sort }, label));
  }

  #showAll() {
    this.#limit = Infinity;
    this.#draw();
    this.#region.focus();
  }

  #draw() {
    const cells = this.#rows.map((row) => this.#columns.map(({ key }) => cellOf(row, key)));
    const numeric = this.#columns.map((_, index) => isNumeric(cells.map((row) => row[index])));
    if (this.#sorted !== null) cells.sort(comparer(this.#sorted, numeric[this.#sorted], this.#descends));
    const shown = cells.slice(0, this.#limit);
    while (this.#body.rows.length > shown.length) this.#body.lastElementChild.remove();
    shown.forEach((row, number) => this.#drawRow(this.#body.rows[number] ?? this.#addRow(), row, numeric));
    [...this.#head.children].forEach((th, index) => {
      setAttribute(th, "aria-sort", this.#sorted === index ? (this.#descends ? "descending" : "ascending") : null);
      th.classList.toggle("number", numeric[index]);
    });
    this.#more.hidden = shown.length === cells.length;
    setText(this.#more, format(this.#strings.allRows, { count: cells.length }));
  }

  #addRow() {
    const cell = (_, index) => (this.#rowHeads && !index ? h("th", { scope: "row" }) : h("td"));
    const row = h("tr", {}, ...this.#columns.map(cell));
    this.#body.append(row);
    return row;
  }

  /** @param {any} tr @param {any[]} row @param {boolean[]} numeric */
  #drawRow(tr, row, numeric) {
    row.forEach((value, index) => {
      const cell = tr.cells[index];
      setText(cell, this.#text(value));
      cell.classList.toggle("number", numeric[index]);
    });
  }

  /** @param {any} value */
  #text(value) {
    if (value === null) return "";
    if (typeof value === "boolean") return value ? this.#strings.yes : this.#strings.no;
    return typeof value === "object" ? JSON.stringify(value).slice(0, 300) : String(value);
  }
}

/** @param {any} row @param {string | number} key */
function cellOf(row, key) {
  if (row === null || typeof row !== "object") return key === 0 ? (row ?? null) : null;
  return Object.hasOwn(row, key) ? (row[key] ?? null) : null;
}

/** @param {any[]} values */
function isNumeric(values) {
  return values.some((one) => one !== null) && values.every((one) => one === null || typeof one === "number");
}

/** What is missing comes last. @param {number} index @param {boolean} numeric @param {boolean} descends */
function comparer(index, numeric, descends) {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  const sign = descends ? -1 : 1;
  return (one, other) => {
    const [a, b] = [one[index], other[index]];
    if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
    return sign * (numeric ? a - b : compare(String(a), String(b)));
  };
}
