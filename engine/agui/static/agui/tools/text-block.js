// @ts-check
/** A value as text: short at first, with a way to see all. */
import { h } from "../dom/elements.js";
import { counted } from "../words/strings.js";

/** In English; the tables of other languages have these, too. */
export const TEXT_WORDS = {
  showAll: "Show all {count} characters",
};

/** The user can ask for more characters. */
export const LONG = 3000;
const SHORT = 2000;

/** @param {unknown} value @returns {string} */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** @param {unknown} value @param {import("../words/strings.js").Strings} strings */
export function textBlock(value, strings) {
  const text = asText(value);
  const shown = text.length > LONG ? `${text.slice(0, SHORT)}…` : text;
  const pre = h("pre", { class: "value", tabindex: "0" }, shown);
  if (text.length <= LONG) return pre;
  const onclick = () => {
    pre.textContent = text;
    pre.focus();
    more.remove();
  };
  const label = counted({ ...TEXT_WORDS, ...strings }, "showAll", text.length);
  const more = h("button", { type: "button", class: "button", onclick }, label);
  return h("div", { class: "long" }, pre, more);
}
