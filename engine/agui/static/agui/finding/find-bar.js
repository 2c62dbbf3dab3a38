// @ts-check
/** Search inside the open conversation, also in messages that are not drawn. */
import { textOf } from "../conversation/messages.js";
import { h, iconButton, setText } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";
import { adopt } from "../dom/own-style.js";
import { bringIntoView, dressMarks, rangesIn, revealQuietly } from "../messages/marks.js";
import { clearHighlights, highlight } from "../messages/marks.js";
import { placesOf, textOfNodes } from "../messages/matching.js";
import { FOUND_WORDS } from "../words/find-words.js";
import { format } from "../words/strings.js";

/** In English; the tables of other languages have these, too. */
export const FIND_WORDS = {
  foundPlace: "{place} of {count}",
  nothingFound: "Nothing found",
  previousPlace: "Previous match",
  nextPlace: "Next match",
};

/** @typedef {import("../types.d.ts").PageContext} Context */
/** @typedef {import("../types.d.ts").Message} Message */
/** @typedef {{ id: string, index: number }} Found a match: its message, and which of its matches */

const STYLE = `
.find {
  align-items: center; background: var(--_background); border: 1px solid var(--_border);
  border-radius: var(--_radius); box-shadow: var(--_shadow); display: flex; gap: .1rem;
  inset-block-start: .25rem; inset-inline-end: 1rem; max-width: calc(100% - 2rem);
  padding: .25rem .3rem .25rem .35rem; position: absolute; width: 25rem; z-index: 3;
}
.log:has(+ .find) > .column { padding-block-start: 4rem; }
.find:focus-within { border-color: color-mix(in srgb, var(--_accent) 55%, var(--_border)); }
.find input {
  background: none; border: 0; flex: 1; min-width: 0; outline: 0; padding: .35rem .5rem;
}
.find input::-webkit-search-cancel-button { display: none; }
.find p {
  color: var(--_muted); flex: none; font-size: .85rem; font-variant-numeric: tabular-nums;
  padding-inline: .3rem; white-space: nowrap;
}
.find .icon-button { height: 2rem; width: 2rem; }
.find .icon-button[aria-disabled="true"] { opacity: .4; }
.find .icon { height: 1.05rem; width: 1.05rem; }
.find .icon-down { rotate: 180deg; }
.find .next .icon { rotate: none; }
@container (max-width: 480px) { .find { inset-inline: .5rem; max-width: none; width: auto; } }
@media (pointer: coarse) { .find .icon-button { height: 2.75rem; width: 2.5rem; } }
@media (forced-colors: active) { .find:focus-within { outline: 2px solid Highlight; } }
@media print { .find { display: none; } }
`;
const READERS = ["user", "assistant"];
const MAX_CHARS = 200;
/** While an answer grows, it is searched so often. */
const GROWING_MS = 150;

/** @type {WeakMap<HTMLElement, FindBar>} the bar of each chat */
const bars = new WeakMap();

/** @param {Context} context */
export function openFindBar(context) {
  const bar = bars.get(context.panel) ?? new FindBar(context);
  bars.set(context.panel, bar);
  bar.open();
}

class FindBar {
  #context;
  #words;
  #input;
  #count = h("p", { role: "status" });
  #steps;
  /** @type {HTMLElement | null} */
  #opener = null;
  /** @type {Found[]} */
  #found = [];
  #at = -1;
  /** @type {readonly unknown[]} the messages in which it has searched */
  #messages = [];
  /** @type {WeakMap<Message, string>} what a reader sees of each */
  #texts = new WeakMap();
  /** @type {typeof import("../markdown/nodes.js").read | undefined} */
  #read;
  #timer = 0;
  #redrawn = new MutationObserver(() => this.#schedule());
  #end = new AbortController();
  element;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const words = (this.#words = { ...FOUND_WORDS, ...FIND_WORDS, ...context.strings });
    this.#input = h("input", {
      type: "search", maxlength: MAX_CHARS, enterkeyhint: "search", dir: "auto",
      "aria-label": words.findHere, placeholder: words.findHere, oninput: () => this.#search(),
    });
    this.#steps = [
      iconButton("down", words.previousPlace, () => this.#step(-1)),
      iconButton("down", words.nextPlace, () => this.#step(1), { class: "icon-button next" }),
    ];
    this.element = h(
      "div",
      {
        class: "find", part: "find", role: "search", "aria-label": words.findHere,
        onkeydown: (event) => this.#keydown(event),
      },
      this.#input, this.#count, ...this.#steps,
      iconButton("close", words.close, () => this.close()),
    );
  }

  get #terms() {
    const phrase = this.#input.value.trim();
    return phrase ? [phrase] : [];
  }

  async open() {
    const { log, host } = this.#context;
    const { session } = host;
    if (!this.element.isConnected) {
      const { activeElement } = /** @type {ShadowRoot} */ (log.getRootNode());
      this.#opener = /** @type {HTMLElement | null} */ (activeElement);
      log.after(this.element);
      dressMarks(log);
      adopt(log, STYLE);
      const { signal } = (this.#end = new AbortController());
      session.addEventListener("change", () => this.#schedule(), { signal });
      this.#redrawn.observe(log, { childList: true, characterData: true, subtree: true });
    }
    this.#input.focus();
    this.#input.select();
    this.#read ??= (await lazy(() => import("../messages/reading.js")))?.READING.read;
    this.#texts = new WeakMap();
    if (this.#terms.length) this.#search();
  }

  close() {
    this.#end.abort();
    this.#redrawn.disconnect();
    clearTimeout(this.#timer);
    this.#timer = 0;
    clearHighlights(this.#context.log);
    this.element.remove();
    const opener = this.#opener;
    if (opener?.isConnected) opener.focus({ preventScroll: true });
    else this.#context.host.focus();
  }

  // --- What is found

  /** Look anew, and begin at what the user sees. */
  #search() {
    this.#collect();
    this.#at = this.#found.length ? this.#firstVisible() : -1;
    this.#show();
  }

  #collect() {
    const terms = this.#terms;
    const { messages } = this.#context.host.session.conversation;
    this.#messages = messages;
    this.#found = messages.flatMap((message) => {
      if (!terms.length || !READERS.includes(message.role)) return [];
      const places = placesOf(this.#textOf(message), terms);
      return places.map((_, index) => ({ id: message.id, index }));
    });
  }

  /** @param {Message} message */
  #textOf(message) {
    const known = this.#texts.get(message);
    if (known !== undefined) return known;
    const text = textOf(message.content);
    const read = message.role === "assistant" && this.#read;
    const nodes = read && read(text, false, new Map(), this.#context.strings).nodes;
    const shown = nodes ? textOfNodes(nodes) : text;
    this.#texts.set(message, shown);
    return shown;
  }

  /** The first match below the top of what is visible, or else the last one. */
  #firstVisible() {
    const { log, viewOf } = this.#context;
    const { top } = log.getBoundingClientRect();
    /** @param {Found} found */
    const isBelow = ({ id }) => (viewOf(id)?.getBoundingClientRect().bottom ?? -1) > top;
    const at = this.#found.findIndex(isBelow);
    return at < 0 ? this.#found.length - 1 : at;
  }

  /** @param {number} by */
  #step(by) {
    const { length } = this.#found;
    if (!length) return;
    this.#at = (this.#at + by + length) % length;
    this.#show();
  }

  // --- What is shown

  /** Draw the current match if it isn't yet, and go there. */
  #show() {
    const current = this.#found[this.#at];
    if (current) revealQuietly(this.#context, current.id);
    const range = this.#paint();
    if (range) bringIntoView(this.#context.log, range);
    this.#tell();
  }

  /** Highlight all matches that are drawn; returns the current one. */
  #paint() {
    const { viewOf } = this.#context;
    const current = this.#found[this.#at];
    const terms = this.#terms;
    /** @type {Range | undefined} */
    let place;
    const ranges = [...new Set(this.#found.map(({ id }) => id))].flatMap((id) => {
      const view = viewOf(id);
      const inMessage = view ? rangesIn(view, terms) : [];
      // A formula is drawn with other letters.
      if (id === current?.id) place = inMessage[Math.min(current.index, inMessage.length - 1)];
      return inMessage;
    });
    highlight(this.#context.log, ranges, place);
    return place;
  }

  #tell() {
    const { length } = this.#found;
    const { foundPlace, nothingFound } = this.#words;
    const numbers = new Intl.NumberFormat(this.#words.lang);
    const [place, count] = [this.#at + 1, length].map((number) => numbers.format(number));
    const text = length ? format(foundPlace, { place, count }) : nothingFound;
    setText(this.#count, this.#terms.length ? text : "");
    for (const button of this.#steps) button.ariaDisabled = String(!length);
  }

  /** Messages have changed, or are drawn otherwise. Count them anew, and stay where the user is. */
  #schedule() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      const current = this.#found[this.#at];
      if (this.#messages !== this.#context.host.session.conversation.messages) {
        this.#collect();
        const at = this.#found.findIndex(
          ({ id, index }) => id === current?.id && index === current.index,
        );
        this.#at = at < 0 && this.#found.length ? this.#firstVisible() : at;
      }
      this.#paint();
      this.#tell();
    }, GROWING_MS);
  }

  // --- Keys

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const { key, shiftKey, target } = event;
    event.stopPropagation(); // so that a second Ctrl+F is the browser's
    if (key === "Escape") this.close();
    else if (key === "Enter" && target === this.#input) this.#step(shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  }
}
