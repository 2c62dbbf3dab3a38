// @ts-check
/**
 * A table of values. It scrolls, users sort it by its headings, and new data changes it in place.
 */
import { h, setAttribute, setText } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";
import { adopt } from "../dom/own-style.js";
import { TABLE_STYLE } from "../markdown/table-style.js";
import { SAVE_WORDS } from "../words/save-words.js";
import { format } from "../words/strings.js";
import { localTime, zoneOf } from "../words/times.js";

/** How many rows are shown at first. */
const FIRST = 100;
/** A Decimal comes as a text. */
const DECIMAL = /^-?\d+\.\d+$/;
/** A table of so many rows can be saved. */
const SAVED = 5;

/** In English; the tables of other languages have these, too. */
export const TABLE_WORDS = {
  table: "Table",
  allRows: "Show all {count} rows",
};

/** @typedef {{ key: string | number, label: string }} Column */

export class DataTable {
  #strings;
  #head = h("tr");
  #body = h("tbody");
  #table = h("table", {}, h("thead", {}, this.#head), this.#body);
  #region = h("div", { class: "table", role: "region", tabindex: "0" }, this.#table);
  #more = h("button", { type: "button", class: "button", onclick: () => this.#showAll() });
  #save = h("button", { type: "button", class: "button", onclick: () => this.#download() });
  #limit = FIRST;
  /** @type {Column[]} */ #columns = [];
  /** @type {unknown[]} */ #rows = [];
  /** @type {number | null} */ #sorted = null;
  #descends = false;
  #rowHeads;
  element = h("div", { class: "data-table" }, this.#region, this.#more, this.#save);

  /**
   * @param {import("../words/strings.js").Strings} strings
   * @param {{ rowHeads?: boolean }} [options] whether the first cell of a row names it
   */
  constructor(strings, { rowHeads = false } = {}) {
    this.#strings = { ...TABLE_WORDS, ...strings };
    this.#rowHeads = rowHeads;
    setText(this.#save, { ...SAVE_WORDS, ...strings }.saveCsv);
  }

  async #download() {
    const module = await lazy(() => import("../markdown/csv.js"));
    const rows = this.#rows.map((row) => this.#columns.map(({ key }) => cellOf(row, key)));
    const heads = this.#columns.map(({ label }) => label);
    module?.saveCsv([heads, ...rows], this.#region.ariaLabel ?? "");
  }

  /** @param {{ label: string, columns: Column[], rows: any[] }} data rows are lists or objects */
  update({ label, columns, rows }) {
    const same =
      columns.length === this.#columns.length &&
      columns.every((one, index) => one.label === this.#columns[index].label);
    this.#columns = columns;
    this.#rows = rows;
    setAttribute(this.#region, "aria-label", label || this.#strings.table);
    if (!same) {
      this.#sorted = null;
      this.#head.replaceChildren(...columns.map((one, index) => this.#th(one.label, index)));
      this.#body.replaceChildren();
    }
    this.#draw();
    // The first time, the table is put into the page after this.
    queueMicrotask(() => adopt(this.element, TABLE_STYLE));
  }

  /** @param {string} label @param {number} index */
  #th(label, index) {
    const sort = () => {
      this.#descends = this.#sorted === index && !this.#descends;
      this.#sorted = index;
      this.#draw();
    };
    const button = h("button", { type: "button", class: "sort", onclick: sort }, label);
    return h("th", { scope: "col" }, button);
  }

  #showAll() {
    this.#limit = Infinity;
    this.#draw();
    this.#region.focus();
  }

  #draw() {
    const cells = this.#rows.map((row) => this.#columns.map(({ key }) => cellOf(row, key)));
    const numeric = this.#columns.map((_, index) => isNumeric(cells.map((row) => row[index])));
    const sorted = this.#sorted;
    if (sorted !== null) cells.sort(comparer(sorted, numeric[sorted], this.#descends));
    const shown = cells.slice(0, this.#limit);
    while (this.#body.rows.length > shown.length) this.#body.lastElementChild?.remove();
    shown.forEach((row, index) => {
      this.#drawRow(this.#body.rows[index] ?? this.#addRow(), row, numeric);
    });
    [...this.#head.children].forEach((th, index) => {
      const direction = this.#descends ? "descending" : "ascending";
      setAttribute(th, "aria-sort", sorted === index ? direction : null);
      th.classList.toggle("number", index > 0 && numeric[index]);
    });
    this.#save.hidden = cells.length < SAVED;
    this.#more.hidden = shown.length === cells.length;
    setText(this.#more, format(this.#strings.allRows, { count: cells.length }));
  }

  #addRow() {
    const cells = this.#columns.map((_, index) => {
      return this.#rowHeads && !index ? h("th", { scope: "row" }) : h("td");
    });
    const row = h("tr", {}, ...cells);
    this.#body.append(row);
    return row;
  }

  /** @param {HTMLTableRowElement} tr @param {unknown[]} row @param {boolean[]} numeric */
  #drawRow(tr, row, numeric) {
    row.forEach((value, index) => {
      const cell = tr.cells[index];
      setText(cell, this.#text(value));
      cell.classList.toggle("number", index > 0 && numeric[index]);
    });
  }

  /** @param {unknown} value */
  #text(value) {
    if (value === null) return "";
    if (typeof value === "boolean") return value ? this.#strings.yes : this.#strings.no;
    if (typeof value === "object") return JSON.stringify(value).slice(0, 300);
    const time = localTime(value, this.#strings.lang);
    return time ? `${time} ${zoneOf(value)}`.trim() : String(value);
  }
}

/** @param {unknown} row @param {string | number} key */
function cellOf(row, key) {
  if (row === null || typeof row !== "object") return key === 0 ? (row ?? null) : null;
  if (!Object.hasOwn(row, key)) return null;
  return /** @type {Record<string, unknown>} */ (row)[key] ?? null;
}

/** @param {unknown[]} values */
function isNumeric(values) {
  const there = values.filter((one) => one !== null);
  if (!there.length) return false;
  return there.every((one) => typeof one === "number" || DECIMAL.test(String(one)));
}

/**
 * Sort missing values last.
 * @param {number} index @param {boolean} numeric @param {boolean} descends
 */
function comparer(index, numeric, descends) {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  const sign = descends ? -1 : 1;
  /** @param {any[]} row @param {any[]} other */
  return (row, other) => {
    const [a, b] = [row[index], other[index]];
    if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
    return sign * (numeric ? a - b : compare(String(a), String(b)));
  };
}
