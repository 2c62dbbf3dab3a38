// @ts-check
/** Show where messages have what the user looks for. */
import { h, setAttribute } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";
import { placesOf } from "./matching.js";

/** Text of a message that is no text of its own: buttons, files, and what only a voice says. */
const NOT_TEXT = "button, [data-own], .files, .visually-hidden, annotation";
const FOUND = "agui-found";
const CURRENT = "agui-found-current";
const STYLE = `
mark {
  background: color-mix(in srgb, var(--_accent) 22%, transparent); border-radius: 3px;
  color: inherit; font-weight: 600;
}
.excerpt {
  -webkit-box-orient: vertical; -webkit-line-clamp: 2; color: var(--_muted); display: -webkit-box;
  font-size: .82rem; grid-column: 1 / -1; overflow: hidden; overflow-wrap: anywhere;
  text-align: -webkit-match-parent; text-align: match-parent;
}
.excerpt mark { color: var(--_text); }
@media (hover: hover) {
  .threads li:has(.excerpt) > .thread-actions {
    background: var(--_surface); border-radius: var(--_small); inset-block-start: .2rem;
    inset-inline-end: 0; position: absolute;
  }
}
::highlight(${FOUND}) {
  background-color: light-dark(#ffe9a8, #6b5a1c); color: light-dark(#1f1e1b, #fff);
}
::highlight(${CURRENT}) { background-color: light-dark(#ff9f43, #ffb454); color: #1f1200; }
.message.flash { animation: flash 2.4s ease-out; border-radius: var(--_small); }
@keyframes flash {
  0%, 40% {
    background: color-mix(in srgb, var(--_accent) 14%, transparent);
    box-shadow: 0 0 0 .5rem color-mix(in srgb, var(--_accent) 14%, transparent);
  }
}
@media (prefers-reduced-motion: reduce) {
  .message.flash { outline: 2px solid var(--_accent); outline-offset: .5rem; }
}
@media (forced-colors: active) {
  mark { background: Mark; color: MarkText; }
  ::highlight(${FOUND}) { background-color: Mark; color: MarkText; }
  ::highlight(${CURRENT}) {
    background-color: Highlight; color: HighlightText; text-decoration: underline 2px;
  }
  .message.flash { outline: 2px solid Highlight; }
}
`;
const FLASH_MS = 2400;
/** The least space between a place and the edge, in pixels. */
const EDGE = 72;

/** @param {Element} element in whose document or shadow the marks are */
export const dressMarks = (element) => adopt(element, STYLE);

/**
 * The text as nodes, with its terms marked.
 * @param {string} text @param {string[]} all the terms; beside longer ones, one letter is no help
 */
export function marked(text, all) {
  const longer = all.filter((term) => !/^\w$/.test(term));
  const terms = longer.length ? longer : all;
  const nodes = [];
  let last = 0;
  for (const [start, end] of placesOf(text, terms)) {
    nodes.push(text.slice(last, start), h("mark", {}, text.slice(start, end)));
    last = end;
  }
  return [...nodes, text.slice(last)];
}

/** A line of a message that was found. @param {string} text @param {string[]} terms */
export const excerptOf = (text, terms) =>
  h("span", { class: "excerpt", dir: "auto" }, ...marked(text, terms));

/**
 * The places of the terms in a message that is drawn.
 * @param {Element} message @param {string[]} terms @returns {Range[]}
 */
export function rangesIn(message, terms) {
  const body = message.querySelector(":scope > :is(.prose, .bubble)");
  if (!body) return [];
  /** @type {Text[]} */
  const nodes = [];
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT, ({ parentElement }) =>
    parentElement?.closest(NOT_TEXT) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  const text = nodes.map(({ data }) => data).join("");
  let index = 0;
  let before = 0;
  /** @param {number} place @param {boolean} isEnd @returns {[Text, number]} */
  const find = (place, isEnd) => {
    const past = isEnd ? place - 1 : place; // The end of a place is the end of its last letter.
    while (index < nodes.length - 1 && past >= before + nodes[index].length) {
      before += nodes[index++].length;
    }
    return [nodes[index], place - before];
  };
  return placesOf(text, terms).map(([start, end]) => {
    const range = new Range();
    range.setStart(...find(start, false));
    range.setEnd(...find(end, true));
    return range;
  });
}

/**
 * The highlights of each chat, by its log: the document has one set for all.
 * @type {Map<HTMLElement, { ranges: Range[], current: Range[] }>}
 */
const highlights = new Map();

/**
 * Highlight places, and one of them more than the others. A browser without highlights selects it.
 * @param {HTMLElement} log @param {Range[]} ranges @param {Range} [current]
 */
export function highlight(log, ranges, current) {
  if (!globalThis.Highlight) {
    if (current) select(current);
    return;
  }
  highlights.set(log, { ranges, current: current ? [current] : [] });
  paint();
}

function paint() {
  for (const log of highlights.keys()) if (!log.isConnected) highlights.delete(log);
  if (!highlights.size) {
    for (const name of [FOUND, CURRENT]) CSS.highlights.delete(name);
    return;
  }
  const all = [...highlights.values()];
  CSS.highlights.set(FOUND, new Highlight(...all.flatMap(({ ranges }) => ranges)));
  const first = new Highlight(...all.flatMap(({ current }) => current));
  first.priority = 1;
  CSS.highlights.set(CURRENT, first);
}

/** @param {Range} range */
function select({ startContainer, startOffset, endContainer, endOffset }) {
  getSelection()?.setBaseAndExtent(startContainer, startOffset, endContainer, endOffset);
}

/** Remove the highlights of a chat. @param {HTMLElement} log */
export function clearHighlights(log) {
  if (highlights.delete(log)) paint();
}

/**
 * Scroll so that a place is in the middle, if it is not visible.
 * @param {HTMLElement} log @param {Range | Element} place
 */
export function bringIntoView(log, place) {
  const { top, bottom, height } = place.getBoundingClientRect();
  const view = log.getBoundingClientRect();
  const bar = log.parentElement?.querySelector(".find")?.getBoundingClientRect();
  const above = Math.max(EDGE, bar ? bar.bottom - view.top : 0);
  const room = Math.max(above, (view.height - height) / 2);
  const isVisible = top >= view.top + above && bottom <= view.bottom - EDGE;
  if (!isVisible) log.scrollTop += top - view.top - room;
}

/** Highlight a message for a moment. @param {Element} message */
export function flash(message) {
  message.classList.remove("flash");
  void (/** @type {HTMLElement} */ (message).offsetWidth); // so that the animation starts again
  message.classList.add("flash");
  setTimeout(() => message.classList.remove("flash"), FLASH_MS);
}

/**
 * Draw a message that is far up, without telling old messages to a screen reader.
 * @param {import("../types.d.ts").PageContext} context @param {string} id
 */
export function revealQuietly({ log, viewOf, reveal }, id) {
  if (viewOf(id)) return reveal(id);
  setAttribute(log, "aria-live", "off");
  requestAnimationFrame(() => setAttribute(log, "aria-live", "polite"));
  return reveal(id);
}

/** Wait until the page has drawn what has changed. */
export const drawn = () =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))));
