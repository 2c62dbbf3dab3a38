// @ts-check
/**
 * The sources of an answer: a list below it, and marks such as [1] in its text, which show a card
 * of their sources. Loaded with the first answer that has sources.
 */
import { h, icon } from "../agui/dom/elements.js";
import { lazy } from "../agui/dom/lazy.js";
import { adopt } from "../agui/dom/own-style.js";
import { counted, format } from "../agui/words/strings.js";
import { marksIn, readSources } from "./source-text.js";
import { NEW_TAB, SOURCE_WORDS } from "./source-words.js";

/** @typedef {import("./source-text.js").Source} Source */

const STYLE = `
.sources { font-size: .92rem; }
.sources > summary { border-radius: 4px; color: var(--_muted); width: fit-content; }
.sources > ol { display: grid; gap: .75rem; margin: .6rem 0 0; padding-inline-start: 1.75rem; }
.sources li { border-radius: 4px; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.sources li:focus { background: var(--_surface); }
.sources li::marker { color: var(--_muted); font-variant-numeric: tabular-nums; }
.sources a { color: var(--_accent); text-decoration-thickness: 1px; text-underline-offset: 3px; }
.sources .host { color: var(--_muted); margin-inline-start: .5rem; }
.sources blockquote { border-inline-start: 3px solid var(--_border); color: var(--_muted); }
.sources blockquote { margin: .3rem 0 0; padding-inline-start: .75rem; white-space: pre-line; }
.source-mark {
  background: var(--_surface); border: 0; border-radius: 1em; color: var(--_muted); font-size: .7em;
  font-variant-numeric: tabular-nums; line-height: 1;
  margin-inline: -.15em .1em; padding: .3em .2em;
  position: relative; user-select: text; vertical-align: .25em; white-space: nowrap;
}
.source-mark > span { display: inline-block; min-width: 1.1em; padding-inline: .3em; }
.source-mark > span + span { border-inline-start: 1px solid var(--_border); }
.source-mark i { font-size: 0; }
.source-mark:is(:hover, [aria-expanded="true"]) { background: var(--_accent); }
.source-mark:is(:hover, [aria-expanded="true"]) { color: var(--_background); }
.source-mark::after { content: ""; inset: -.5em -.1em; position: absolute; }
@media (pointer: coarse) { .source-mark::after { inset: -1em -.4em; } }
@media (forced-colors: active) { .source-mark { outline: 1px solid; } }
@media print {
  .prose button.source-mark { background: none; color: inherit; display: inline !important; }
  .prose button.source-mark { font-size: .75em; padding: 0; }
  .source-mark i { font-size: inherit; font-style: normal; }
  .source-mark > span { border: 0 !important; min-width: 0; padding: 0; }
  .sources .host { display: none; }
  .sources a { color: inherit; }
  .sources a::after {
    content: " (" attr(href) ")"; direction: ltr; font-size: .9em; overflow-wrap: anywhere;
    unicode-bidi: isolate;
  }
}
`;

/** @type {WeakMap<HTMLElement, AnswerSources>} */
const shown = new WeakMap();
/** The lists of sources on the page. @type {Set<HTMLDetailsElement>} */
const lists = new Set();

/**
 * @param {HTMLElement} answer @param {unknown} told the sources as the server sends them
 * @param {import("../agui/types.d.ts").MessageContext} context
 */
export function show(answer, told, { strings }) {
  openForPrint();
  const sources = shown.get(answer) ?? new AnswerSources(answer, { ...SOURCE_WORDS, ...strings });
  shown.set(answer, sources);
  sources.update(told);
}

class AnswerSources {
  #answer;
  #prose;
  #words;
  #told = "";
  /** @type {Map<number, Source>} */
  #sources = new Map();
  #list = h("details", { class: "sources", part: "sources", "aria-live": "off" });
  /** @type {HTMLElement | null} the mark that the user came from */
  #from = null;

  /**
   * @param {HTMLElement} answer
   * @param {import("../agui/words/strings.js").Strings & typeof SOURCE_WORDS} words
   */
  constructor(answer, words) {
    this.#answer = answer;
    this.#prose = answer.querySelector(".prose") ?? answer;
    this.#words = words;
    this.#list.addEventListener("keydown", (event) => this.#goBack(event));
    // A text that is drawn anew, because its parser has come, has no marks.
    const observer = new MutationObserver(() => this.#addMarks());
    observer.observe(this.#prose, { childList: true, subtree: true });
  }

  /** @param {unknown} told */
  update(told) {
    const key = JSON.stringify(told);
    if (key === this.#told) return;
    this.#told = key;
    const sources = readSources(told);
    this.#sources = new Map(sources.map((source) => [source.number, source]));
    const count = counted(this.#words, "sources", sources.length);
    const items = h("ol", { dir: "auto" }, ...sources.map(itemOf));
    this.#list.replaceChildren(h("summary", {}, icon("chevron"), count), items);
    if (!sources.length) return this.#list.remove();
    this.#answer.append(this.#list);
    for (const list of lists) if (!list.isConnected) lists.delete(list);
    lists.add(this.#list);
    adopt(this.#list, STYLE);
    this.#addMarks();
  }

  #addMarks() {
    const walker = document.createTreeWalker(this.#prose, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
    for (const text of texts) {
      if (!text.parentElement?.closest("a, button, code, pre, .plain")) this.#markIn(text);
    }
  }

  /** @param {Text} text */
  #markIn(text) {
    // From the end, so that positions stay true.
    for (const { sources, start, end } of marksIn(text.data, this.#sources).reverse()) {
      const rest = text.splitText(start);
      rest.deleteData(0, end - start);
      rest.before(this.#mark(sources));
    }
  }

  /** @param {Source[]} sources */
  #mark(sources) {
    const [{ number, title }] = sources;
    const { sourceMark, sourceMarks, lang } = this.#words;
    const titles = new Intl.ListFormat(lang).format(sources.map((source) => source.title));
    // What is seen, so that who speaks to the browser can say it.
    const shown = sources.map((source) => `[${source.number}]`).join("");
    const label =
      sources.length > 1
        ? format(sourceMarks, { numbers: shown, titles })
        : format(sourceMark, { number, title });
    const look = {
      type: "button", class: "source-mark", "aria-label": label, "aria-haspopup": "dialog",
      "aria-expanded": "false", "aria-controls": "source-card",
    };
    const numbers = sources.map((source) =>
      h("span", {}, h("i", {}, "["), String(source.number), h("i", {}, "]")),
    );
    const mark = h("button", look, ...numbers);
    const toList = (/** @type {number} */ wanted) => this.#goTo(wanted, mark);
    const cited = { mark, sources, toList };
    mark.addEventListener("pointerenter", async ({ pointerType }) => {
      if (pointerType === "mouse") (await this.#card(mark))?.look(cited);
    });
    mark.addEventListener("focus", async () => {
      if (mark.matches(":focus-visible")) (await this.#card(mark))?.look(cited);
    });
    mark.addEventListener("click", async () => {
      const card = await this.#card(mark);
      if (card) card.pin(cited);
      else toList(number);
    });
    return mark;
  }

  /** @param {HTMLElement} mark */
  async #card(mark) {
    const module = await lazy(() => import("./source-card.js"));
    const panel = mark.closest(".panel");
    return module && panel && module.cardOf(panel, this.#words);
  }

  /** @param {number} number @param {HTMLElement} mark */
  #goTo(number, mark) {
    this.#from = mark;
    this.#list.open = true;
    /** @type {HTMLElement | null} */
    const item = this.#list.querySelector(`li[value="${number}"]`);
    item?.focus();
  }

  /** @param {KeyboardEvent} event */
  #goBack(event) {
    if (event.key !== "Escape" || !this.#from?.isConnected) return;
    event.stopPropagation();
    this.#from.focus();
    this.#from = null;
  }
}

let opensForPrint = false;

/** Open the lists while the page is printed. */
function openForPrint() {
  if (opensForPrint) return;
  opensForPrint = true;
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...lists].filter((list) => list.isConnected && !list.open);
    for (const list of opened) list.open = true;
  });
  addEventListener("afterprint", () => {
    for (const list of opened) list.open = false;
  });
}

/** @param {Source} source */
function itemOf({ number, title, url, quote }) {
  return h(
    "li",
    { value: number, tabindex: "-1" },
    url ? h("a", { href: url.href, ...NEW_TAB }, title) : title,
    url && url.host !== location.host && h("small", { class: "host", dir: "ltr" }, url.host),
    quote && h("blockquote", { dir: "auto" }, quote),
  );
}
