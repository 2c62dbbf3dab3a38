// @ts-check
/**
 * Show Markdown as elements, made one by one: nothing parses HTML. The text is plain until the
 * parser is loaded.
 */
import { h } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";

/** @typedef {import("./nodes.js").Node} MarkdownNode */
/** @type {typeof import("./nodes.js").read | null} */
let read = null;

/** Whether texts are still plain. */
export const isPlain = () => !read;

/**
 * Load the Markdown parser, once for the page, with what else the page needs then. This never
 * throws: without the parser texts stay plain.
 * @param {() => Promise<{ READING: { read: typeof read } }>} load
 */
export const loadMarkdown = (load) =>
  load()
    .then(({ READING }) => ({ read } = READING))
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
      if (button) this.#copy(/** @type {HTMLElement} */ (button));
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

  /** @param {HTMLElement} button */
  async #copy(button) {
    const { copyBy } = await import("../dom/copy.js");
    const code = button.closest(".code")?.querySelector("code");
    await copyBy(button, code?.textContent ?? "", this.#strings);
  }
}

/** @typedef {ChildNode & { localName?: string, dataset?: DOMStringMap }} Child */

/**
 * Give an element these children, and keep those that don't change, so that selections, scrolled
 * tables and opened details survive.
 * @param {Element} parent @param {MarkdownNode[]} nodes
 * @param {number} [from] how many children not to touch
 */
function patch(parent, nodes, from = 0) {
  /** @type {Child | null} */
  let child = parent.childNodes[from];
  for (const node of nodes) {
    const isText = typeof node === "string";
    /** @type {boolean} */
    const fits = isText ? child?.nodeType === 3 : child?.localName === node[0];
    const make = () => (isText ? document.createTextNode(node) : h(node[0], node[1]));
    const made = /** @type {Child} */ (fits ? child : make());
    if (!fits) child ? child.replaceWith(made) : parent.append(made);
    if (isText) write(/** @type {Text} */ (made), node);
    else {
      const element = /** @type {Element} */ (made);
      if (fits) dress(element, node[1]);
      // A pressed button shows its outcome for a while; code and formulas stay as they are drawn.
      const isSame = () =>
        (element.querySelector("annotation") ?? element).textContent === node[2][0];
      const stays = node[0] === "button" || (node[0] === "code" && isSame());
      if (!fits || !stays) patch(element, node[2]);
    }
    child = made.nextSibling;
  }
  while (child) {
    const next = child.nextSibling;
    if (!child.dataset?.own) child.remove(); // what rich-text.js has added stays
    child = next;
  }
}

/** @param {Text} node @param {string} text */
function write(node, text) {
  const { data } = node;
  if (data === text) return;
  if (text.startsWith(data)) node.appendData(text.slice(data.length));
  else node.data = text;
}

/** @param {Element} element @param {Record<string, string>} attributes */
function dress(element, attributes) {
  for (const name of element.getAttributeNames()) {
    const stays = name in attributes || name === "open" || name.startsWith("data-");
    if (!stays) element.removeAttribute(name);
  }
  for (const name in attributes) {
    const value = attributes[name];
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}
