// @ts-check
/** A table as a file that spreadsheets read. */
import { saveFile } from "../dom/save.js";

/** What a spreadsheet would take for a formula, and run, also after blanks; a number is none. */
const FORMULA = /^(?:[\t\r\n]|[\s\p{C}]*[=+\-@])/u;
const NUMBER = /^[+-]?\d+(?:[.,]\d+)*\s?%?$/;

/** Mark what a spreadsheet would run as a text. @param {string} text */
export function withoutFormulas(text) {
  // Some spreadsheets read full-width characters, such as ＝, as the usual ones.
  const isFormula = FORMULA.test(text.normalize("NFKC")) && !NUMBER.test(text.trim());
  return isFormula ? `'${text}` : text;
}

/** @param {unknown} value */
function fieldOf(value) {
  const isObject = value !== null && typeof value === "object";
  const safe = withoutFormulas(isObject ? JSON.stringify(value) : String(value ?? ""));
  return /[",;\n\r\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** @param {unknown[][]} rows the first has the heads */
export function csvOf(rows) {
  return rows.map((row) => row.map(fieldOf).join(",") + "\r\n").join("");
}

/** Rows as spreadsheets paste them. @param {string[][]} rows */
export function tsvOf(rows) {
  return rows.map((row) => row.map((text) => text.replace(/\s+/g, " ")).join("\t")).join("\n");
}

/** Let the user save a table. @param {unknown[][]} rows @param {string} title */
export function saveCsv(rows, title) {
  // The mark at the beginning tells Excel that this is UTF-8.
  saveFile(["\ufeff", csvOf(rows)], "text/csv;charset=utf-8", title, "csv");
}
