// @ts-check
/** What a text shows as HTML, to be pasted into documents and mails: without the DOM. */

/** @typedef {import("../types.d.ts").MarkdownNode} Node */
/** @typedef {(href: string) => string} AddressOf */

const KEPT = ["start", "align", "title"];
const EMPTY = ["br", "hr"];
/** Word draws no border that it isn't told. */
const TABLE = ' border="1" cellpadding="4" style="border-collapse:collapse"';

/** @param {Node[]} nodes @param {AddressOf} [addressOf] @returns {string} */
export function toHtml(nodes, addressOf = wholeAddress) {
  return nodes.map((node) => htmlOf(node, addressOf)).join("");
}

/** The rows of a table, the first of which has the heads. @param {string[][]} rows */
export function tableToHtml([heads, ...rows]) {
  /** @param {string[]} cells @param {string} tag @returns {Node} */
  const row = (cells, tag) => ["tr", {}, cells.map((text) => [tag, {}, [text]])];
  return toHtml([["table", {}, [row(heads, "th"), ...rows.map((cells) => row(cells, "td"))]]]);
}

/** @param {Node} node @param {AddressOf} addressOf @returns {string} */
function htmlOf(node, addressOf) {
  if (typeof node === "string") return escaped(node);
  const [tag, attributes, children] = node;
  // The buttons of the page are not the text's.
  if (tag === "button" || attributes.class === "code-head") return "";
  const inside = toHtml(children, addressOf);
  if (tag === "div") return inside;
  const border = tag === "table" ? TABLE : "";
  const open = `<${tag}${border}${attributesOf(tag, attributes, addressOf)}>`;
  return EMPTY.includes(tag) ? open : `${open}${inside}</${tag}>`;
}

/** @param {string} tag @param {Record<string, string>} attributes @param {AddressOf} addressOf */
function attributesOf(tag, attributes, addressOf) {
  const kept = tag === "code" ? ["class"] : KEPT;
  const all = kept.map((name) => [name, attributes[name]]);
  if (attributes.href) all.unshift(["href", addressOf(attributes.href)]);
  return all.map(([name, value]) => (value ? ` ${name}="${escaped(value)}"` : "")).join("");
}

/** A document has another address than the page, and not its places. @param {string} href */
function wholeAddress(href) {
  return href.startsWith("#") ? "" : new URL(href, document.baseURI).href;
}

/** @param {string} text */
function escaped(text) {
  /** @type {Record<string, string>} */
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (sign) => names[sign]);
}
