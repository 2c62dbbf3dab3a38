// @ts-check
/** Results as a person reads them: short at first, with a way to see all. */
import { h } from "./dom.js";
import { counted, words } from "./strings.js";
import { tableView } from "./table.js";

/** @typedef {import("./strings.js").Strings} Strings */

/** More characters are shown when asked for. */
const LONG = 3000;
const SHORT = 2000;
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

/** @param {any} one @returns {string} */
export function asText(one) {
  return typeof one === "string" ? one : JSON.stringify(one, null, 2);
}

/** A result: a list of rows as a table, fields as such, anything else as it is. @param {any} one @param {Strings} strings @returns {HTMLElement} */
export function resultView(one, strings) {
  const isTable = Array.isArray(one) && one.every((row) => isObject(row) && isFlat(row));
  const columns = isTable ? new Set(one.flatMap((row) => Object.keys(row))).size : 0;
  if (columns && columns <= MAX_COLUMNS) return rows(one, strings);
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

/** @param {Record<string, any>[]} data @param {Strings} strings */
function rows(data, strings) {
  const view = tableView({ strings });
  view.update({ rows: data });
  return h("div", { class: "rows" }, view.element);
}

/** @param {any} one @param {Strings} strings */
export function textBlock(one, strings) {
  const text = asText(one);
  const pre = h("pre", { class: "value", tabindex: "0" }, text.length > LONG ? `${text.slice(0, SHORT)}…` : text);
  if (text.length <= LONG) return pre;
  const onclick = () => {
    pre.textContent = text;
    pre.focus();
    more.remove();
  };
  const more = h("button", { type: "button", class: "button", onclick }, counted(strings, "showAll", text.length));
  return h("div", { class: "long" }, pre, more);
}

/** @param {any} one */
function isObject(one) {
  return one !== null && typeof one === "object" && !Array.isArray(one);
}

/** @param {Record<string, any>} one */
function isFlat(one) {
  return Object.values(one).every((value) => value === null || typeof value !== "object");
}
