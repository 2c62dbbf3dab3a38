// @ts-check
/** A table of an answer is copied; a long one is sorted by its heads, too, and saved as a file. */
import { adopt } from "../dom/own-style.js";
import { copyBy } from "../dom/copy.js";
import { saveCsv, tsvOf, withoutFormulas } from "./csv.js";
import { h, setAttribute } from "../dom/elements.js";
import { TABLE_STYLE } from "./table-style.js";
import { tableToHtml } from "./to-html.js";

const STYLE = `
.table-bar { color: var(--_muted); display: flex; font-size: .8rem; inset-inline-start: 0; }
.table-bar { padding-inline: .4rem; position: sticky; width: fit-content; }
.table-bar button { background: none; border: 0; min-height: 2.25rem; padding: .25rem .5rem; }
.table-bar button:hover { color: var(--_text); }
.prose th:has(> .sort) { padding: 0; }
`;
/** A table with fewer rows is seen at a glance. */
const LONG = 10;
/** An amount as English texts and programs write it. */
const AMOUNT = /^[-+]?[$€£]?\s?(\d[\d,]*(?:\.\d+)?)\s?%?$/;

/** @typedef {import("../words/strings.js").Strings & { saveCsv: string, table: string }} Words */

/**
 * Add to tables what their rows alone don't have.
 * @param {Element[]} boxes each with a table @param {Words} strings
 */
export function dressTables(boxes, strings) {
  adopt(boxes[0], TABLE_STYLE);
  adopt(boxes[0], STYLE);
  for (const box of boxes) {
    const table = box.querySelector("table");
    if (!table) continue;
    const isLong = (table.tBodies[0]?.rows.length ?? 0) >= LONG;
    for (const th of (isLong && table.tHead?.rows[0].cells) || []) {
      if (!th.querySelector(".sort")) addSort(table, th);
    }
    if (!box.querySelector(".table-bar")) box.append(barOf(table, strings, isLong));
  }
}

/** @param {HTMLTableElement} table @param {Words} strings @param {boolean} isLong */
function barOf(table, strings, isLong) {
  const texts = () => [...table.rows].map((row) => [...row.cells].map(textOf));
  const save = () => saveCsv(texts(), strings.table);
  const copy = (/** @type {MouseEvent} */ { currentTarget }) => {
    const rows = texts().map((row) => row.map(withoutFormulas));
    copyBy(/** @type {HTMLElement} */ (currentTarget), tsvOf(rows), strings, tableToHtml(rows));
  };
  const saving = isLong && h("button", { type: "button", onclick: save }, strings.saveCsv);
  const copying = h("button", { type: "button", onclick: copy }, strings.copy);
  return h("div", { class: "table-bar", "data-own": "bar" }, copying, saving);
}

/** @param {Element} cell */
const textOf = (cell) => (cell.textContent ?? "").trim();

/** @param {HTMLTableElement} table @param {HTMLTableCellElement} th */
function addSort(table, th) {
  const sort = () => {
    const descends = th.ariaSort === "ascending";
    for (const other of th.parentElement?.children ?? []) setAttribute(other, "aria-sort", null);
    setAttribute(th, "aria-sort", descends ? "descending" : "ascending");
    sortRows(table, th.cellIndex, descends);
  };
  const button = h("button", { type: "button", class: "sort", onclick: sort });
  button.append(...th.childNodes);
  th.append(button);
}

/** @param {HTMLTableElement} table @param {number} index of the column @param {boolean} descends */
function sortRows(table, index, descends) {
  const [body] = table.tBodies;
  const rows = [...body.rows].map((row) => {
    const cell = row.cells[index];
    return { row, text: cell ? textOf(cell) : "" };
  });
  const compare = comparer(rows.map(({ text }) => text));
  const sign = descends ? -1 : 1;
  // What is empty comes last, either way.
  rows.sort((a, b) => Number(!a.text) - Number(!b.text) || sign * compare(a.text, b.text));
  body.append(...rows.map(({ row }) => row));
}

/** How these texts are compared: as amounts, if they are. @param {string[]} texts */
export function comparer(texts) {
  const amounts = texts.every((text) => !text || AMOUNT.test(text));
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  if (!amounts) return compare;
  return (/** @type {string} */ a, /** @type {string} */ b) => amountOf(a) - amountOf(b);
}

/** @param {string} text */
function amountOf(text) {
  const number = Number(AMOUNT.exec(text)?.[1].replaceAll(",", ""));
  return text.startsWith("-") ? -number : number;
}
