// @ts-check
/** Make elements of descriptions, in the place of those that are there. */
import { h } from "../dom/elements.js";

/** @typedef {import("./nodes.js").Node} MarkdownNode */
/** @typedef {ChildNode & { localName?: string, dataset?: DOMStringMap }} Child */

/**
 * Give an element these children, and keep those that don't change, so that selections, scrolled
 * tables and opened details survive.
 * @param {Element} parent @param {MarkdownNode[]} nodes
 * @param {number} [from] how many children not to touch
 */
export function patch(parent, nodes, from = 0) {
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
