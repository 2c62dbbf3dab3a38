// @ts-check
/** Results in a readable form: short at first, with a button to show everything. */
import { h } from "./dom.js";
import { heading, words } from "./strings.js";
import { DataTable } from "./table.js";
import { LONG, textBlock } from "./text-block.js";

/** @typedef {import("./strings.js").Strings} Strings */

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

/** @param {any} content a result: text, which may be JSON, or a list of parts */
export function readable(content) {
  if (typeof content !== "string") return content;
  const parsed = parse(content);
  return parsed !== null && typeof parsed === "object" ? parsed : content;
}

/**
 * Show a result: rows as a table, an object as fields, everything else as it is.
 * @param {any} one @param {Strings} strings @returns {HTMLElement}
 */
export function resultView(one, strings) {
  const isTable = Array.isArray(one) && one.every((row) => isObject(row) && isFlat(row));
  const keys = isTable ? [...new Set(one.flatMap((row) => Object.keys(row)))] : [];
  if (keys.length && keys.length <= MAX_COLUMNS) return tableOf(one, keys, strings);
  if (isObject(one) && isFlat(one) && Object.keys(one).length <= MAX_FIELDS) return fieldList(one, strings) ?? textBlock(one, strings);
  return textBlock(one, strings);
}

/** @param {Record<string, any>} fields @param {Strings} strings */
function fieldList(fields, strings) {
  const entries = Object.entries(fields);
  if (!entries.length) return null;
  if (entries.length > MAX_FIELDS) return textBlock(fields, strings);
  const list = entries.flatMap(([name, one]) => [h("dt", {}, words(name)), h("dd", {}, plain(one) ?? textBlock(one, strings))]);
  return h("dl", { class: "arguments" }, ...list);
}

/** @param {any} one */
function plain(one) {
  return (one === null || typeof one !== "object") && String(one).length <= LONG ? String(one) : null;
}

/** @param {Record<string, any>[]} rows @param {string[]} keys @param {Strings} strings */
function tableOf(rows, keys, strings) {
  const table = new DataTable(strings);
  table.update({ label: "", columns: keys.map((key) => ({ key, label: heading(key) })), rows });
  return table.element;
}

/** @param {any} one */
function isObject(one) {
  return one !== null && typeof one === "object" && !Array.isArray(one);
}

/** @param {Record<string, any>} one */
function isFlat(one) {
  return Object.values(one).every((value) => value === null || typeof value !== "object");
}
