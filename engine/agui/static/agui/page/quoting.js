// @ts-check
/** Quote a passage of an answer in the message that is being written. */
import { h } from "../dom/elements.js";
import { quote } from "../messages/thread-markdown.js";

/** @typedef {import("../types.d.ts").PageContext} Context */

/** More would fill the input with what is in the conversation already. */
const MAX_CHARS = 4000;
const GAP_PIXELS = 8;

/** @type {WeakMap<HTMLElement, HTMLElement>} the button of each chat */
const buttons = new WeakMap();

/** Show a button at the passage that is selected. @param {Context} context */
export function offerQuote(context) {
  const { log, panel, strings } = context;
  const range = selectedRange(log);
  if (!range) return;
  buttons.get(panel)?.remove();
  const text = String(getSelection());
  const use = () => {
    button.remove();
    insert(context, text);
  };
  // The selection must last until the click.
  const keep = (/** @type {Event} */ event) => event.preventDefault();
  const look = { type: "button", class: "button quote-selection", part: "quote" };
  const button = h("button", { ...look, onclick: use, onpointerdown: keep }, strings.quote);
  buttons.set(panel, button);
  panel.append(button);
  place(button, panel.getBoundingClientRect(), range.getBoundingClientRect());
  const abort = new AbortController();
  const end = () => {
    if (selectedRange(log)) return;
    button.remove();
    abort.abort();
  };
  document.addEventListener("selectionchange", end, { signal: abort.signal });
  log.addEventListener("scroll", () => button.remove(), { signal: abort.signal, once: true });
}

/**
 * Quote what is selected of an answer, or all of it.
 * @param {Context} context @param {{ text: string, messageId?: string }} about
 */
export function quoteAnswer(context, { text }) {
  insert(context, selectedRange(context.log) ? String(getSelection()) : text);
}

/** @param {Context} context @param {string} text */
function insert({ composer }, text) {
  const passage = text.trim();
  const cut = passage.length > MAX_CHARS ? `${passage.slice(0, MAX_CHARS).trimEnd()} …` : passage;
  if (!cut) return;
  const before = composer.text.trimEnd();
  composer.write(`${before}${before && "\n\n"}${quote(cut)}\n\n`);
  getSelection()?.removeAllRanges();
}

/** What is selected in an answer; null if that is nothing. @param {HTMLElement} log */
function selectedRange(log) {
  const root = /** @type {{ getSelection?: () => Selection | null }} */ (log.getRootNode());
  const selection = root.getSelection?.() ?? getSelection();
  if (!selection?.rangeCount || !String(selection).trim()) return null;
  const range = selection.getRangeAt(0);
  const node = range.commonAncestorContainer;
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest(".messages") && log.contains(element) ? range : null;
}

/** @param {HTMLElement} button @param {DOMRect} panel @param {DOMRect} at */
function place({ style, offsetHeight, offsetWidth }, panel, at) {
  const above = at.top - panel.top - offsetHeight - GAP_PIXELS;
  const middle = at.left - panel.left + (at.width - offsetWidth) / 2;
  style.top = `${Math.max(GAP_PIXELS, above)}px`;
  const most = panel.width - offsetWidth - GAP_PIXELS;
  style.left = `${Math.min(Math.max(GAP_PIXELS, middle), most)}px`;
}
