// @ts-check
/** Say of a message of the user that a run has read it which was on already. */
import { h, icon } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";

/** In English; the tables of other languages have these, too. */
export const IN_RUN_WORDS = { readInRun: "Read while it worked" };

const STYLE = `
.in-run {
  align-items: center; color: var(--_muted); display: flex; font-size: .8rem; gap: .3rem;
  line-height: 1.3; margin-block-start: -.1rem;
}
.in-run .icon { height: .95rem; width: .95rem; }
.in-run .icon:dir(rtl) { scale: -1 1; }
`;
export const STEP = "M5 5v6a4 4 0 0 0 4 4h10M14.5 10.5 19 15l-4.5 4.5";

/**
 * @param {HTMLElement} message @param {unknown} value
 * @param {import("../agui/types.d.ts").MessageContext} context
 */
export function show(message, value, { strings }) {
  if (message.querySelector(".in-run")) return;
  const words = { ...IN_RUN_WORDS, ...strings };
  const mark = h("small", { class: "in-run" }, icon("step", STEP), words.readInRun);
  message.querySelector(".bubble")?.after(mark);
  adopt(message, STYLE);
}
