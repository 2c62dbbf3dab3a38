// @ts-check
/** Long lists of tool calls fold into one line; calls that failed, run or wait stay visible. */
import { h, icon, setText } from "../dom/elements.js";
import { counted } from "../words/strings.js";

/** In English; the tables of other languages have these, too. */
export const GROUP_WORDS = {
  /** @type {Record<string, string>} */
  toolsUsed: { one: "{count} tool used", other: "{count} tools used" },
};

/** @type {WeakMap<Element, HTMLElement>} by the first card of each list */
const folds = new WeakMap();
/** @type {Set<Element>} */
const planned = new Set();

/** What of a message is on the page. */
const VISIBLE =
  ".tools > :is(.tool:not(.folded), .tools-fold), :scope > .prose:not([hidden])";

/**
 * Look at the lists anew, once, when the page has been drawn.
 * @param {HTMLElement} card @param {import("../words/strings.js").Strings} strings
 * @param {number} few so many that went well are shown each
 */
export function regroup(card, strings, few) {
  queueMicrotask(() => {
    const messages = card.closest(".messages");
    if (!messages || planned.has(messages)) return;
    planned.add(messages);
    queueMicrotask(() => {
      planned.delete(messages);
      for (const cards of listsOf(messages)) fold(cards, strings, few);
    });
  });
}

/**
 * Calls that follow each other without a word in between.
 * @param {Element} messages @returns {HTMLElement[][]}
 */
function listsOf(messages) {
  /** @type {HTMLElement[][]} */
  const lists = [];
  let open = false;
  for (const message of /** @type {Iterable<HTMLElement>} */ (messages.children)) {
    if (message.hidden) continue;
    /** @type {HTMLElement[]} */
    /** @type {NodeListOf<HTMLElement>} */
    const found = message.querySelectorAll(":scope > .tools > .tool");
    const cards = [...found];
    const speaks = message.querySelector(":scope > .prose:not([hidden])");
    if (open && !speaks && cards.length) lists[lists.length - 1].push(...cards);
    else if (cards.length) lists.push(cards);
    open = cards.length > 0;
  }
  return lists;
}

/**
 * @param {HTMLElement[]} cards @param {import("../words/strings.js").Strings} strings
 * @param {number} few
 */
function fold(cards, strings, few) {
  const [first] = cards;
  const quiet = cards.filter((card) => {
    const isUsed = card.querySelector("details[open]") || card.matches(":focus-within");
    return card.matches('[data-status="success"]:not(.faced)') && !isUsed;
  });
  let button = folds.get(first);
  if (quiet.length <= few && !button) return;
  if (!button) {
    const onclick = () => {
      button?.setAttribute("aria-expanded", String(button.ariaExpanded !== "true"));
      fold(cards, strings, few);
    };
    const look = { type: "button", class: "tools-fold", "aria-expanded": "false", onclick };
    button = h("button", look, icon("chevron"), h("span"));
    folds.set(first, /** @type {HTMLElement} */ (button));
    first.before(/** @type {HTMLElement} */ (button));
  }
  const isOpen = button?.ariaExpanded === "true";
  const open = ["streaming", "running", "waiting"];
  const ended = cards.filter((card) => !open.includes(card.dataset.status ?? ""));
  const text = counted({ ...GROUP_WORDS, ...strings }, "toolsUsed", ended.length);
  setText(/** @type {Element} */ (button?.lastChild), text);
  for (const card of cards) card.classList.toggle("folded", !isOpen && quiet.includes(card));
  for (const card of cards) {
    const message = card.closest(".message");
    message?.classList.toggle("folded", !message.querySelector(VISIBLE));
  }
}
