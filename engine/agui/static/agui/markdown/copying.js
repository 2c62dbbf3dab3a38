// @ts-check
/** What is copied of a text: as it is written, and as HTML for documents and mails. */
import { copyBy, copyText } from "../dom/copy.js";
import { tsvOf, withoutFormulas } from "./csv.js";
import { tableToHtml, toHtml } from "./to-html.js";

/**
 * Copy a block of code or a table, and show the outcome on its button for a moment.
 * @param {HTMLElement} button @param {import("../words/strings.js").Strings} strings
 */
export async function copyBlock(button, strings) {
  const table = button.parentElement?.querySelector("table");
  if (!table) {
    const code = button.closest(".code")?.querySelector("code");
    return copyBy(button, code?.textContent ?? "", strings);
  }
  const rows = [...table.rows].map((row) => [...row.cells].map(cellText));
  await copyBy(button, tsvOf(rows), strings, tableToHtml(rows));
}

/** @param {Element} cell */
const cellText = (cell) => withoutFormulas((cell.textContent ?? "").trim());

/**
 * Copy a whole text; false if the browser doesn't allow it.
 * @param {string} text @param {import("../types.d.ts").MarkdownNode[]} nodes of the text
 * @param {HTMLElement} button
 */
export const copyWhole = (text, nodes, button) => copyText(text, button, toHtml(nodes));
