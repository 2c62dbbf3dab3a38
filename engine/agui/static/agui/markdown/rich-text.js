// @ts-check
/**
 * What an answer has beside its text: colours of code, formulas, tables that can be sorted. Loaded
 * with the first answer that has one of them; each comes with its own first use.
 */
import { lazy, moduleOf } from "../dom/lazy.js";
import { SAVE_WORDS } from "../words/save-words.js";

/** In English; the tables of other languages have these, too. */
export const RICH_WORDS = { wrapLines: "Wrap lines" };

/** A table with fewer rows is seen at a glance. */
const FEWEST_ROWS = 10;

/** @typedef {import("../words/strings.js").Strings} Strings */

/**
 * Add to blocks of Markdown what their text alone does not show.
 * @param {Element[]} blocks those that may have changed
 * @param {boolean} growing is the last of them still being written?
 * @param {Strings} strings
 */
export function enrich(blocks, growing, strings) {
  const words = { table: "", ...RICH_WORDS, ...SAVE_WORDS, ...strings };
  const maths = blocks.flatMap((block) => [...block.querySelectorAll(".math")]);
  const root = blocks[0]?.getRootNode();
  if (maths.length && root instanceof ShadowRoot) {
    const chat = /** @type {HTMLElement} */ (root.host);
    moduleOf(chat, "math").then((module) => module?.drawFormulas(maths));
  }
  const finished = growing ? blocks.slice(0, -1) : blocks;
  const codes = finished.flatMap((block) => [...block.querySelectorAll(".code")]);
  if (codes.length) {
    lazy(() => import("./code-block.js")).then((module) => module?.dressCode(codes, words));
  }
  if (growing) return;
  const tables = blocks.flatMap((block) => [...block.querySelectorAll(".table")]).filter(isLarge);
  if (tables.length) {
    lazy(() => import("./table-tools.js")).then((module) => module?.dressTables(tables, words));
  }
}

/** @param {Element} box */
const isLarge = (box) => (box.querySelector("tbody")?.rows.length ?? 0) >= FEWEST_ROWS;
