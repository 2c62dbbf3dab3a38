// @ts-check
/** Long lists of tool calls fold into one line; what failed, runs or waits stays to be seen. */
import { h, icon, setText } from "./dom.js";
import { counted } from "./strings.js";

/** @type {WeakMap<Element, HTMLElement>} by the first card of each list */
const folds = new WeakMap();
/** @type {Set<Element>} */
const planned = new Set();

/**
 * Look at the lists anew, once, when the page has been drawn.
 * @param {HTMLElement} card @param {import("./strings.js").Strings} strings @param {number} few so many that went well are shown each
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

/** Calls that follow each other without a word in between. @param {Element} messages @returns {HTMLElement[][]} */
function listsOf(messages) {
  /** @type {HTMLElement[][]} */
  const lists = [];
  let open = false;
  for (const message of /** @type {Iterable<HTMLElement>} */ (messages.children)) {
    if (message.hidden) continue;
    /** @type {HTMLElement[]} */
    const cards = [...message.querySelectorAll(":scope > .tools > .tool")].map((one) => /** @type {HTMLElement} */ (one));
    const speaks = message.querySelector(":scope > .prose:not([hidden])");
    if (open && !speaks && cards.length) lists[lists.length - 1].push(...cards);
    else if (cards.length) lists.push(cards);
    open = cards.length > 0;
  }
  return lists;
}

/** @param {HTMLElement[]} cards @param {import("./strings.js").Strings} strings @param {number} few */
function fold(cards, strings, few) {
  const [first] = cards;
  const quiet = cards.filter((card) => card.dataset.status === "success" && !card.querySelector("details[open]") && !card.matches(":focus-within"));
  let button = folds.get(first);
  if (quiet.length <= few && !button) return;
  if (!button) {
    const onclick = () => {
      button?.setAttribute("aria-expanded", String(button.ariaExpanded !== "true"));
      fold(cards, strings, few);
    };
    button = h("button", { type: "button", class: "tools-fold", "aria-expanded": "false", onclick }, icon("chevron"), h("span"));
    folds.set(first, /** @type {HTMLElement} */ (button));
    first.before(/** @type {HTMLElement} */ (button));
  }
  const isOpen = button?.ariaExpanded === "true";
  const ended = cards.filter((card) => !["streaming", "running", "waiting"].includes(card.dataset.status ?? ""));
  setText(/** @type {Element} */ (button?.lastChild), counted(strings, "toolsUsed", ended.length));
  for (const card of cards) card.classList.toggle("folded", !isOpen && quiet.includes(card));
  for (const card of cards) {
    const message = card.closest(".message");
    message?.classList.toggle("folded", !message.querySelector(".tools > :is(.tool:not(.folded), .tools-fold), :scope > .prose:not([hidden])"));
  }
}
