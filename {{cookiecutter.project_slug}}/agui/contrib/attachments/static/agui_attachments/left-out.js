// @ts-check
/** Tell that the model could not read a file. */
import { h } from "../agui/dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const LEFT_OUT_WORDS = {
  filesLeftOut: "The assistant can't read a file of this conversation and goes on without it.",
};

/**
 * @param {HTMLElement} answer
 * @param {import("../agui/words/strings.js").Strings} strings
 */
export function tellLeftOut(answer, strings) {
  if (answer.querySelector(":scope > .left-out")) return;
  const { filesLeftOut } = { ...LEFT_OUT_WORDS, ...strings };
  answer.append(h("p", { class: "notice turn-note left-out" }, filesLeftOut));
}
