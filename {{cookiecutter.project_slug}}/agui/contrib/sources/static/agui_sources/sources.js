// @ts-check
/**
 * The sources of an answer: a list below it, and marks such as [1] in its text, which lead to the
 * list. Loaded with the first answer that has sources.
 */
import { h, icon } from "../agui/dom/elements.js";
import { adopt } from "../agui/dom/own-style.js";
import { counted, format } from "../agui/words/strings.js";

/** In English; the tables of other languages have these, too. */
export const SOURCE_WORDS = {
  /** @type {Record<string, string>} */
  sources: { one: "{count} source", other: "{count} sources" },
  sourceMark: "Source {number}: {title}",
};

/**
 * @typedef {{ number: number, title?: unknown, url?: unknown, quote?: unknown }} Told a source, as
 *   the server sends it
 */
/** @typedef {{ number: number, title: string, url: URL | null, quote: string }} Source */

const MARK = /\[(\d{1,3})\]/g;
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
.source-mark { background: none; border: 0; border-radius: 4px; color: var(--_accent); }
.source-mark { font-size: .75em; line-height: 1; padding: .1em; vertical-align: super; }
.source-mark { user-select: text; }
.source-mark:hover { text-decoration: underline; }
@media (pointer: coarse) { .source-mark { padding: .5em; } }
`;

/** @type {WeakMap<HTMLElement, AnswerSources>} */
const shown = new WeakMap();

/**
 * @param {HTMLElement} answer @param {unknown} told the sources as the server sends them
 * @param {import("../agui/types.d.ts").MessageContext} context
 */
export function show(answer, told, { strings }) {
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
    const items = h("ol", {}, ...sources.map(itemOf));
    this.#list.replaceChildren(h("summary", {}, icon("chevron"), count), items);
    if (!sources.length) return this.#list.remove();
    this.#answer.append(this.#list);
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
    for (const { 0: written, 1: digits, index } of [...text.data.matchAll(MARK)].reverse()) {
      const source = this.#sources.get(Number(digits));
      if (!source) continue;
      const rest = text.splitText(index);
      rest.deleteData(0, written.length);
      rest.before(this.#mark(source, written));
    }
  }

  /** @param {Source} source @param {string} written */
  #mark({ number, title }, written) {
    const label = format(this.#words.sourceMark, { number, title });
    const look = { type: "button", class: "source-mark", "aria-label": label };
    const mark = h("button", look, written);
    mark.addEventListener("click", () => this.#goTo(number, mark));
    return mark;
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

/** @param {unknown} told @returns {Source[]} */
function readSources(told) {
  /** @type {unknown[]} */
  const all = Array.isArray(told) ? told : [];
  return all
    .filter(isNumbered)
    .map(({ number, title, url, quote }) => {
      const address = addressOf(url);
      return {
        number,
        title: String(title || address?.host || ""),
        url: address,
        quote: String(quote ?? ""),
      };
    });
}

/** @param {unknown} told @returns {told is Told} */
const isNumbered = (told) => Number.isInteger(Object(told).number);

/** The address that a source may link to. @param {unknown} url */
function addressOf(url) {
  if (typeof url !== "string" || !url) return null;
  try {
    const address = new URL(url, document.baseURI);
    return ["http:", "https:"].includes(address.protocol) ? address : null;
  } catch {
    return null;
  }
}

/** @param {Source} source */
function itemOf({ number, title, url, quote }) {
  const link = { target: "_blank", rel: "noopener noreferrer" };
  return h(
    "li",
    { value: number, tabindex: "-1" },
    url ? h("a", { href: url.href, ...link }, title) : title,
    url && url.host !== location.host && h("small", { class: "host", dir: "ltr" }, url.host),
    quote && h("blockquote", { dir: "auto" }, quote),
  );
}
