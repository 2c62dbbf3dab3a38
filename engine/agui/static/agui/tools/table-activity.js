// @ts-check
/** The activity `table`: rows that a tool shows, with a title. */
import { h, setText } from "../dom/elements.js";
import { heading } from "../words/strings.js";

/** @typedef {import("./table.js").Column} Column */

const MAX_COLUMNS = 60;
/** How many rows tell which columns there are. */
const FIRST = 100;
/** The name of a field, which is shown as words. */
const KEY = /^[a-z][a-z\d_-]*$/;

/** In English; the tables of other languages have these, too. */
export const ACTIVITY_WORDS = { noRows: "No rows" };

/**
 * @param {{ strings: import("../words/strings.js").Strings }} context
 * @param {typeof import("./table.js").DataTable} DataTable
 */
export function tableView(context, DataTable) {
  const title = h("p", { class: "activity-title" });
  const table = new DataTable(context.strings);
  const empty = h("p", { class: "muted" }, { ...ACTIVITY_WORDS, ...context.strings }.noRows);
  const element = h("div", { class: "activity-body" }, title, table.element, empty);
  /** @param {Record<string, unknown>} content */
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

/** @param {unknown} columns @param {unknown[]} rows @returns {Column[]} */
function readColumns(columns, rows) {
  const given = Array.isArray(columns) && columns.length > 0 && columns;
  const read = given || keysOf(rows.slice(0, FIRST));
  if ((rows.length && !read.length) || read.length > MAX_COLUMNS) {
    throw new TypeError("This is no table.");
  }
  return read.map((column, index) => {
    const { key, label, title } = column && typeof column === "object" ? column : { key: column };
    const name = String(key ?? label ?? title ?? index);
    const isKey = !Array.isArray(rows[0]) && KEY.test(name);
    const words = label ?? title ?? (isKey ? heading(name) : name);
    return { key: Array.isArray(rows[0]) ? index : name, label: String(words) };
  });
}

/** @param {unknown[]} rows @returns {string[]} */
function keysOf(rows) {
  const objects = rows.filter((row) => row !== null && typeof row === "object");
  return [...new Set(objects.flatMap((row) => Object.keys(/** @type {object} */ (row))))];
}
