// @ts-check
/** What a run could do nothing with: files that the model can't read, images that are not kept. */
import { h } from "../agui/dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const LEFT_OUT_WORDS = {
  filesLeftOut: "The assistant can't read a file of this conversation and goes on without it.",
  imagesNotKept: "Not every image of this answer was kept: there are too many, or one is too big.",
};

/**
 * @param {HTMLElement} answer
 * @param {string} key of its metadata
 * @param {import("../agui/words/strings.js").Strings} strings
 */
export function tellLeftOut(answer, key, strings) {
  if (answer.querySelector(`:scope > .${key}`)) return;
  const { filesLeftOut, imagesNotKept } = { ...LEFT_OUT_WORDS, ...strings };
  const text = key === "images_not_kept" ? imagesNotKept : filesLeftOut;
  answer.append(h("p", { class: `notice turn-note ${key}` }, text));
}
