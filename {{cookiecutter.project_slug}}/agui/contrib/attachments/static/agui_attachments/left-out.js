// @ts-check
/** Below an answer: tell that the model could not read a file. */
import { h } from "../agui/dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const LEFT_OUT_WORDS = {
  filesLeftOut: "The assistant can't read a file of this conversation and goes on without it.",
};

/** @type {import("../agui/types.d.ts").MetadataModule["show"]} */
export function show(answer, _, { strings }) {
  tell(answer, "left-out", { ...LEFT_OUT_WORDS, ...strings }.filesLeftOut);
}

/** @param {HTMLElement} answer @param {string} name @param {string} text */
export function tell(answer, name, text) {
  if (answer.querySelector(`:scope > .${name}`)) return;
  answer.append(h("p", { class: `notice turn-note ${name}` }, text));
}
