// @ts-check
/** All that shows messages: their text as Markdown, and the toolbars below them. Loaded at once. */
import { read } from "../markdown/nodes.js";
import { patch } from "../markdown/patch.js";
import { MessageActions } from "./actions.js";
import { offerWays } from "./answer-ways.js";

/** @typedef {import("../markdown/nodes.js").Node} Node */

/** @type {typeof read} */
function readBelow(...given) {
  const found = read(...given);
  return { ...found, nodes: found.nodes.map(belowTheMessage) };
}

/**
 * Give headings their level in the conversation: that of their message is an h2.
 * @param {Node} node @returns {Node}
 */
function belowTheMessage(node) {
  if (typeof node === "string") return node;
  const [name, attributes, children] = node;
  const level = /^h([1-6])$/.exec(name)?.[1];
  if (level) return [name, { ...attributes, "aria-level": `${Math.max(3, +level + 1)}` }, children];
  if (!/^(div|blockquote|[ou]l|li)$/.test(name)) return node;
  return [name, attributes, children.map(belowTheMessage)];
}

export const READING = { read: readBelow, patch, MessageActions, offerWays };
