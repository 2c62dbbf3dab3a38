// @ts-check
/** Markdown to elements, one by one: no HTML is ever parsed. What reads it comes later; until then there is plain text. */
import { h } from "./dom.js";

/** @typedef {import("./markdown-nodes.js").Node} MarkdownNode */
/** @type {typeof import("./markdown-nodes.js").read | null} */
let read = null;
let loadNames = () => Promise.resolve();

/** Is text still shown as it is? */
export const isPlain = () => !read;

/** Load what reads Markdown, once for the page. Never throws: texts stay plain without it. */
export const loadMarkdown = () => import("./markdown-nodes.js").then((module) => ({ read, loadNames } = module)).catch(() => {});

/** Shows a text that grows: what is finished is not read again, and of the rest only what changed is touched. */
export class MarkdownView {
  element = h("div", { class: "prose", part: "prose", dir: "auto" });
  #text = "";
  #growing = false;
  #plain = true;
  #strings;
  /** How much of the text, and how many of the elements, can't change any more while the text grows. */
  #finished = { length: 0, blocks: 0 };
  /** Where links go that were defined so far. */
  #links = new Map();

  /** @param {{ copy: string, copied: string, copyFailed: string }} strings */
  constructor(strings) {
    this.#strings = strings;
    this.element.addEventListener("click", ({ target }) => target.closest(".copy") && this.#copy(target.closest(".copy")));
  }

  /** @param {string} text @param {boolean} [growing] is there more to come? What is half written is then shown as it will be */
  update(text, growing = false) {
    if (text === this.#text && growing === this.#growing && this.#plain === !read) return;
    if (!growing || !text.startsWith(this.#text)) this.#finished = { length: 0, blocks: 0 };
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
    const { nodes, done, links, lacksNames } = read(text.slice(length), growing, this.#links, this.#strings);
    patch(this.element, nodes, blocks);
    this.#finished = { length: length + done.length, blocks: blocks + done.blocks };
    this.#links = links;
    if (lacksNames) loadNames().then(() => this.#showAgain());
  }

  #showAgain() {
    this.#finished = { length: 0, blocks: 0 };
    this.#show();
  }

  /** @param {HTMLElement} button */
  async #copy(button) {
    const { copyBy } = await import("./copy.js");
    await copyBy(button, button.closest(".code")?.querySelector("code")?.textContent ?? "", this.#strings);
  }
}

/**
 * Make the children of an element what they shall be, keeping those that stay: so selections, scrolled tables and
 * opened details survive.
 * @param {Element} parent @param {MarkdownNode[]} nodes @param {number} [from] how many children to leave alone
 */
function patch(parent, nodes, from = 0) {
  /** @type {any} */
  let child = parent.childNodes[from];
  for (const node of nodes) {
    const fits = typeof node === "string" ? child?.nodeType === 3 : child?.localName === node[0];
    const made = fits ? child : typeof node === "string" ? document.createTextNode(node) : h(node[0], node[1]);
    if (!fits) child ? child.replaceWith(made) : parent.append(made);
    if (typeof node === "string") write(made, node);
    else {
      if (fits) dress(made, node[1]);
      if (!fits || node[0] !== "button") patch(made, node[2]); // a pressed button says so for a while
    }
    child = made.nextSibling;
  }
  while (child) {
    const next = child.nextSibling;
    child.remove();
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
  for (const name of element.getAttributeNames()) if (!(name in attributes) && name !== "open") element.removeAttribute(name);
  for (const name in attributes) if (element.getAttribute(name) !== attributes[name]) element.setAttribute(name, attributes[name]);
}
