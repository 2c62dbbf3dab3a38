// @ts-check
/** Results in a readable form: short at first, with a button to show everything. */
import { h } from "../dom/elements.js";
import { heading, words } from "../words/strings.js";
import { DataTable } from "./table.js";
import { LONG, textBlock } from "./text-block.js";

/** @typedef {import("../words/strings.js").Strings} Strings */

const MAX_FIELDS = 40;
const MAX_COLUMNS = 12;

/** @param {string} json */
export function parse(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/**
 * @param {unknown} content a result: text, which may be JSON, or a list of parts
 * @returns {unknown}
 */
export function readable(content) {
  if (typeof content !== "string") return content;
  const parsed = parse(content);
  return parsed !== null && typeof parsed === "object" ? parsed : content;
}

/**
 * Show a result: rows as a table, an object as fields, everything else as it is.
 * @param {unknown} one @param {Strings} strings @returns {HTMLElement}
 */
export function resultView(one, strings) {
  if (Array.isArray(one) && one.every(isFlat)) {
    const keys = [...new Set(one.flatMap((row) => Object.keys(row)))];
    if (keys.length && keys.length <= MAX_COLUMNS) return tableOf(one, keys, strings);
  }
  return (isFlat(one) && fieldList(one, strings)) || textBlock(one, strings);
}

/** @param {Record<string, unknown>} fields @param {Strings} strings */
function fieldList(fields, strings) {
  const entries = Object.entries(fields);
  if (!entries.length || entries.length > MAX_FIELDS) return null;
  const list = entries.flatMap(([name, one]) => {
    return [h("dt", {}, words(name)), h("dd", {}, plain(one) ?? textBlock(one, strings))];
  });
  return h("dl", { class: "arguments" }, ...list);
}

/** @param {unknown} one */
function plain(one) {
  if (one !== null && typeof one === "object") return null;
  return String(one).length <= LONG ? String(one) : null;
}

/** @param {Record<string, unknown>[]} rows @param {string[]} keys @param {Strings} strings */
function tableOf(rows, keys, strings) {
  const table = new DataTable(strings);
  table.update({ label: "", columns: keys.map((key) => ({ key, label: heading(key) })), rows });
  return table.element;
}

/**
 * Whether it is an object without other objects in it.
 * @param {unknown} one @returns {one is Record<string, unknown>}
 */
function isFlat(one) {
  if (one === null || typeof one !== "object" || Array.isArray(one)) return false;
  return Object.values(one).every((value) => value === null || typeof value !== "object");
}
