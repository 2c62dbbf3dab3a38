// @ts-check
/** An object in a list of a form: numbered, named, and folded if there are many. */
import { h, icon, setText } from "../dom/elements.js";
import { itemName } from "../tools/item-name.js";
import { words } from "../words/strings.js";

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
 * @param {HTMLElement} view @param {import("./schema.js").Field} field whose initial value is the
 *   object
 * @param {{ lang: string }} strings @param {boolean} isFolded
 */
export function foldedRow(view, { fields, initial }, { lang }, isFolded) {
  const secrets = fields.filter(({ attributes }) => attributes.type === "password");
  const name = itemName(initial, (key) => secrets.some((field) => field.name === key));
  const number = h("span", { class: "muted" });
  const text = name?.isKey ? `${words(name.key)} ${name.text}` : name?.text;
  const title = h("span", { dir: "auto" }, text);
  const summary = h("summary", {}, icon("chevron"), number, title);
  const element = h("details", { class: "folded-row", open: !isFolded }, summary, view);
  // The browser can't show what is wrong in a field that is folded.
  element.addEventListener("invalid", () => (element.open = true), { capture: true });
  const formatter = new Intl.NumberFormat(lang);
  /** @param {number} index from zero */
  const renumber = (index) => setText(number, `${formatter.format(index + 1)}.`);
  return { element, renumber };
}
