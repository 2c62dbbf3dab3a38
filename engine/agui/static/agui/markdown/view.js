// @ts-check
/**
 * Show Markdown as elements, made one by one: nothing parses HTML. The text is plain until the
 * parser is loaded.
 */
import { h } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";

/** @type {typeof import("./nodes.js").read | null} */
let read = null;
/** @type {typeof import("./patch.js").patch} */
let patch;

/** Whether texts are still plain. */
export const isPlain = () => !read;

/**
 * Load the Markdown parser, once for the page, with what else the page needs then. This never
 * throws: without the parser texts stay plain.
 * @template {{ read: typeof read, patch: typeof patch }} Reading
 * @param {() => Promise<{ READING: Reading }>} load @returns {Promise<Reading | void>}
 */
export const loadMarkdown = (load) =>
  load()
    .then(({ READING }) => ({ read, patch } = READING))
    .catch(() => {});

/**
 * Shows a growing text. It does not read the finished part again, and changes only nodes that
 * differ.
 */
export class MarkdownView {
  element = h("div", { class: "prose", part: "prose" });
  #text = "";
  /** @type {boolean | "cut"} */
  #growing = false;
  #plain = true;
  #strings;
  /** How much of the text, and how many of its elements, can't change any more. */
  #finished = { length: 0, blocks: 0 };
  /** The links that are defined so far. */
  /** @type {import("./nodes.js").Links} */
  #links = new Map();

  /** @param {import("../words/strings.js").Strings} strings */
  constructor(strings) {
    this.#strings = strings;
    this.element.addEventListener("click", ({ target }) => {
      const button = /** @type {Element} */ (target).closest(".copy");
      if (button) copy(/** @type {HTMLElement} */ (button), strings);
    });
  }

  /**
   * @param {string} text
   * @param {boolean | "cut"} [growing] whether more will come, or would have come
   */
  update(text, growing = false) {
    if (text === this.#text && growing === this.#growing && this.#plain === !read) return;
    if (growing !== true || !text.startsWith(this.#text)) this.#finished = { length: 0, blocks: 0 };
    if (this.#plain) this.element.replaceChildren();
    this.#text = text;
    this.#growing = growing;
    this.#plain = !read;
    this.element.classList.toggle("plain", this.#plain);
    this.#show();
  }

  #show() {
    const [text, growing] = [this.#text, this.#growing];
    if (!read) return (this.element.textContent = text);
    if (!this.#finished.length) this.#links = new Map();
    const { length, blocks } = this.#finished;
    const [rest, words] = [text.slice(length), this.#strings];
    const { nodes, done, links, lacks, isRich } = read(rest, growing, this.#links, words);
    patch(this.element, nodes, blocks);
    this.#finished = { length: length + done.length, blocks: blocks + done.blocks };
    this.#links = links;
    if (isRich) this.#enrich([...this.element.children].slice(blocks), growing === true);
    if (lacks) lacks().then((all) => all.some(Boolean) && this.#showAgain());
    this.element.dispatchEvent(new Event("drawn"));
  }

  /** @param {Element[]} blocks @param {boolean} growing */
  async #enrich(blocks, growing) {
    const module = await lazy(() => import("./rich-text.js"));
    module?.enrich(blocks, growing, this.#strings);
  }

  #showAgain() {
    this.#finished = { length: 0, blocks: 0 };
    this.#show();
  }
}

/** @type {typeof import("./copying.js").copyBlock} */
async function copy(...about) {
  (await import("./copying.js")).copyBlock(...about);
}
