// @ts-check
/** An object in a list of a form: numbered, named, and folded if there are many. */
import { h, icon, setText } from "../dom/elements.js";
import { itemName } from "../tools/item-name.js";

/** So many objects of a list are open at first. */
const FEW_OPEN = 3;

/**
 * Whether a list begins with its objects folded.
 * @param {unknown[]} items
 */
export function beginsFolded(items) {
  return items.length > FEW_OPEN;
}

/**
 * @param {HTMLElement} fields @param {unknown} value the object, if it is not new
 * @param {{ lang: string }} strings @param {boolean} isFolded
 */
export function foldedRow(fields, value, { lang }, isFolded) {
  const number = h("span", { class: "muted" });
  const title = h("span", { dir: "auto" }, itemName(value)?.text);
  const summary = h("summary", {}, icon("chevron"), number, title);
  const element = h("details", { class: "folded-row", open: !isFolded }, summary, fields);
  // The browser can't show what is wrong in a field that is folded.
  element.addEventListener("invalid", () => (element.open = true), { capture: true });
  const formatter = new Intl.NumberFormat(lang);
  /** @param {number} index from zero */
  const renumber = (index) => setText(number, `${formatter.format(index + 1)}.`);
  return { element, renumber };
}
