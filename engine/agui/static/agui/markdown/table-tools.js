// @ts-check
/** A table of an answer is sorted by its heads, and saved as a file. */
import { adopt } from "../dom/own-style.js";
import { saveCsv } from "./csv.js";
import { h, setAttribute } from "../dom/elements.js";
import { TABLE_STYLE } from "./table-style.js";

const STYLE = `
.table > .save { background: none; border: 0; color: var(--_muted); font-size: .8rem; }
.table > .save { inset-inline-start: 6rem; min-height: 2.25rem; padding: .25rem .5rem; }
.table > .save { position: sticky; }
.table > .save:hover { color: var(--_text); }
.prose th:has(> .sort) { padding: 0; }
`;
/** An amount as English texts and programs write it. */
const AMOUNT = /^[-+]?[$€£]?\s?(\d[\d,]*(?:\.\d+)?)\s?%?$/;

/**
 * Add to tables what their rows alone don't have.
 * @param {Element[]} boxes each with a table @param {{ saveCsv: string, table: string }} strings
 */
export function dressTables(boxes, strings) {
  adopt(boxes[0], TABLE_STYLE);
  adopt(boxes[0], STYLE);
  for (const box of boxes) {
    const table = box.querySelector("table");
    if (!table) continue;
    for (const th of table.tHead?.rows[0].cells ?? []) {
      if (!th.querySelector(".sort")) addSort(table, th);
    }
    if (!box.querySelector(".save")) box.append(saveButton(table, strings));
  }
}

/** @param {HTMLTableElement} table @param {{ saveCsv: string, table: string }} strings */
function saveButton(table, strings) {
  const texts = () => [...table.rows].map((row) => [...row.cells].map(textOf));
  const onclick = () => saveCsv(texts(), strings.table);
  const properties = { type: "button", class: "save", "data-own": "save", onclick };
  return h("button", properties, strings.saveCsv);
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
