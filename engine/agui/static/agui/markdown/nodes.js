// @ts-check
/** Turn Markdown into descriptions of elements. Nothing here touches the page. */
import { completed } from "./tail.js";
import { lex } from "./lexer.js";
import { lazy } from "../dom/lazy.js";
import { html } from "./html-reader.js";
import { SIGNS, shapes } from "./shapes-reader.js";
import { withoutEnd } from "./text.js";

/** @typedef {import("../types.d.ts").MarkdownNode} Node */
/** @typedef {import("../types.d.ts").MarkdownElement} Element */
/** @typedef {import("./lexer.js").Links} Links */
/** @typedef {import("./lexer.js").Token} Token */
/** @typedef {import("../types.d.ts").Cell} Cell of a table */
/** @typedef {import("../types.d.ts").MarkdownLink} Link */
/**
 * @typedef {{ nodes: Node[], done: { length: number, blocks: number }, links: Links,
 *   lacks: (() => Promise<unknown[]>) | null, isRich: boolean }} Found `lacks`: load this, and read
 *   the text again if any of it could be loaded; `isRich`: rich-text.js has something to add
 */

/** What a table never breaks: numbers, amounts, dates and times. */
const FIGURE = /^[\d\s.,:;/+\-–%€$£TZ]{1,30}$/;
const PROTOCOLS = ["http:", "https:", "mailto:", "tel:"];
/** Characters by their names. A text with a rare name loads the others. */
let characters = new Map(
  Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" }),
);
/** @type {typeof import("./shapes.js") | null} */
let shapeReader = null;
/** Whether all names are loaded, and whether the current text has a name that is not loaded. */
let hasNames = false;
let lacksNames = false;
/** Tables with so many rows get tools: the same number as in rich-text.js. */
const LARGE = 10;
/** Whether rich-text.js has something to add to the current text, and whether that still grows. */
let isRich = false;
let isGrowing = false;
/** The word on the buttons that copy code. */
let copyWord = "";

/** Load the names of all characters. Until then, a text shows rare names as they are written. */
export async function loadNames() {
  const module = await lazy(() => import("./entities.js"));
  hasNames = !!module;
  characters = new Map([...characters, ...(module?.CHARACTERS ?? [])]);
  return hasNames;
}

/** Load the reader of raw HTML. Without it, a text shows tags as they are written. */
export async function loadHtml() {
  html.reader = await lazy(() => import("./html.js"));
  return html.reader;
}

/** Load the reader of what few texts have. Without it, a text shows the signs of that. */
export async function loadShapes() {
  shapeReader = await lazy(() => import("./shapes.js"));
  return shapeReader;
}

/**
 * Read a text. `done` says how much of a growing text can't change any more, and how many nodes
 * that is.
 * @param {string} text
 * @param {boolean | "cut"} growing whether more will come, or would have come: half-written
 *   Markdown is then completed
 * @param {Links} links the links that are defined so far
 * @param {{ copy: string }} strings the words of its buttons @returns {Found}
 */
export function read(text, growing, links, { copy }) {
  lacksNames = isRich = html.isMissing = false;
  isGrowing = growing === true;
  const isShaped = SIGNS.test(text);
  shapes.reader = isShaped ? shapeReader : null;
  copyWord = copy;
  const found = nodesAndRest(text, growing, links);
  /** @type {(() => Promise<unknown>)[]} */
  const loads = [];
  if (html.isMissing) loads.push(loadHtml);
  if (lacksNames) loads.push(loadNames);
  if (isShaped && !shapeReader) loads.push(loadShapes);
  const lacks = loads[0] ? () => Promise.all(loads.map((load) => load())) : null;
  return { ...found, lacks, isRich };
}

/**
 * Complete half-written Markdown. Of a text that was cut off, nothing is left out but marks.
 * @param {string} text
 */
function completedFor(text) {
  const whole = completed(text);
  return isGrowing || whole.startsWith(withoutEnd(text, " \n*_`~#-")) ? whole : text;
}

/**
 * @param {string} text @param {boolean | "cut"} growing @param {Links} links
 * @returns {Pick<Found, "nodes" | "done" | "links">}
 */
function nodesAndRest(text, growing, links) {
  const source = text.replace(/\r\n?/g, "\n");
  const nothing = { length: 0, blocks: 0 };
  try {
    const known = new Map(links);
    const tokens = lex(growing ? completedFor(source) : source, known);
    const length = (isGrowing && tokens.at(-1)?.at) || 0;
    const last = tokens.findIndex(({ at }) => at === length);
    const head = build(tokens.slice(0, last));
    // The lexer reads a line end of two characters as one, so positions differ: then nothing is
    // `done`.
    if (!length || head.open || source !== text) {
      return { nodes: build(tokens).nodes, done: nothing, links };
    }
    for (const [tag, { at = 0 }] of known) {
      // The address may not be complete.
      if (at >= length && !links.has(tag)) known.delete(tag);
    }
    const nodes = [...head.nodes, ...build(tokens.slice(last)).nodes];
    return { nodes, done: { length, blocks: head.nodes.length }, links: known };
  } catch (error) {
    // The text may be nested too deeply.
    console.warn("agui-chat: a text could not be read as Markdown.", error);
    return { nodes: [["div", { class: "block plain" }, [source]]], done: nothing, links };
  }
}

/**
 * Make the nodes of a text's blocks. `open` means that an element of raw HTML waits for its end.
 * @param {Token[]} tokens
 */
function build(tokens) {
  /** @type {Node[]} */
  const nodes = [];
  /** @type {Element[]} */
  const stack = [];
  for (const token of tokens) {
    if (!stack.length) {
      stack.push((nodes[nodes.length] = ["div", { class: "block", dir: "auto" }, []]));
    }
    take(token, stack, false);
    if (stack.length === 1) stack.pop();
  }
  return { nodes, open: stack.length > 0 };
}

/** @param {Token[]} [tokens] @param {boolean} [inLink] @returns {Node[]} */
function children(tokens, inLink = false) {
  /** @type {Element[]} */
  const stack = [["", {}, []]];
  for (const token of tokens ?? []) take(token, stack, inLink);
  return stack[0][2];
}

/**
 * Add the node of a token to the innermost open element.
 * @param {Token} token @param {Element[]} stack @param {boolean} inLink
 */
function take(token, stack, inLink) {
  const add = (/** @type {Node} */ node) => {
    const into = stack[stack.length - 1][2];
    if (typeof node === "string" && typeof into.at(-1) === "string") into.push(into.pop() + node);
    else if (node) into.push(node);
  };
  if (token.type !== "html") return nodesOf(token, inLink).forEach(add);
  html.reader?.addHtml(token.text, stack, add, decoded);
}

/** @param {Exclude<Token, { type: "html" }>} token @param {boolean} inLink @returns {Node[]} */
function nodesOf(token, inLink) {
  const { type, text, tokens } = token;
  const inner = () => children(tokens, inLink);
  switch (type) {
    case "paragraph": return token.end && isGrowing ? [] : [["p", {}, inner()]]; // half a formula
    case "heading": return [[`h${token.depth}`, {}, inner()]];
    case "blockquote": case "strong": case "em": case "del": return [[type, {}, inner()]];
    case "hr": case "br": return [[type, {}, []]];
    case "checkbox": return [token.checked ? "☑ " : "☐ "];
    case "math":
      isRich = true;
      return [["code", { class: token.isBlock ? "math block-math" : "math" }, [text]]];
    case "codespan": return [["code", {}, [text]]];
    case "code": return [codeBox(token)];
    case "list": return [listOf(token)];
    case "table": return [tableOf(token)];
    case "link": case "image": return linkOf(token, linkText(token), inLink);
    case "text": return tokens ? inner() : [decoded(text)];
    case "escape": return [text];
    default: return shapes.reader?.shapeNodes(token, inner()) ?? [];
  }
}

/** @param {Extract<Token, { type: "code" }>} token @returns {Node} */
function codeBox({ lang, text }) {
  isRich = true;
  const [language] = /^[\p{L}\p{N}_+#.-]+/u.exec(decoded(lang ?? "")) ?? [""];
  /** @type {Node} */
  const head = ["div", { class: "code-head" }, [["span", {}, [language]], copyButton()]];
  /** @type {Node} */
  const code = ["code", language ? { class: `language-${language}` } : {}, [text]];
  // A wide block scrolls, so keyboard users must be able to focus it.
  return ["div", { class: "code", part: "code" }, [head, ["pre", { tabindex: "0" }, [code]]]];
}

/** @returns {Node} */
const copyButton = () => ["button", { type: "button", class: "copy" }, [copyWord]];

/** @param {Extract<Token, { type: "list" }>} token @returns {Node} */
function listOf({ ordered, start, items }) {
  const rows = items.map(/** @returns {Node} */ ({ task, tokens }) => {
    return ["li", task ? { class: "task" } : {}, children(tokens)];
  });
  return ordered ? ["ol", start === 1 ? {} : { start: String(start) }, rows] : ["ul", {}, rows];
}

/** @param {Extract<Token, { type: "table" }>} token @returns {Node} */
function tableOf({ header, rows }) {
  isRich ||= rows.length >= LARGE;
  /** @type {Node[]} */
  const parts = [["thead", {}, [rowOf("th", header)]]];
  const body = rows.map((cells) => rowOf("td", cells));
  if (body.length) parts.push(["tbody", {}, body]);
  return ["div", { class: "table", tabindex: "0" }, [["table", {}, parts], copyButton()]];
}

/** @param {string} tag of a cell @param {Cell[]} cells @returns {Node} */
function rowOf(tag, cells) {
  const shown = cells.map(/** @returns {Node} */ ({ tokens = [], align }) => {
    return [tag, cellAttributes(tokens, align), children(tokens)];
  });
  return ["tr", {}, shown];
}

/**
 * Choose the attributes of a table's cell. Numbers, dates and times never break.
 * @param {Token[]} tokens @param {Cell["align"]} align
 */
function cellAttributes(tokens, align) {
  const isFigure = tokens.length === 1 && FIGURE.test(tokens[0].text ?? "");
  return { ...(align && { align }), ...(isFigure && { class: "figure" }) };
}

/**
 * Make what a link shows. An image is never loaded: it is a link that shows its text.
 * @param {Link} token @returns {Node[]}
 */
function linkText({ type, autolink, text, tokens }) {
  if (autolink) return [text];
  const inner = children(tokens, true);
  return type === "image" ? [inner.map(textIn).join("")].filter(Boolean) : inner;
}

/** @param {Node} node @returns {string} */
function textIn(node) {
  if (typeof node === "string") return node;
  const [tag, , inner] = node;
  return tag === "br" ? " " : inner.map(textIn).join("");
}

/** @param {Link} token @param {Node[]} inner @param {boolean} inLink @returns {Node[]} */
function linkOf({ href, title, autolink }, inner, inLink) {
  const url = inLink ? null : safe(href, autolink);
  const shown = inner.length || !url ? inner : [url];
  if (!url) return shown;
  /** @type {Record<string, string>} */
  const titled = title ? { title: decoded(title) } : {};
  return [["a", { href: url, ...titled, target: "_blank", rel: "noopener noreferrer" }, shown]];
}

/**
 * Find the address of a link, if it is safe. The browser's own URL parser decides.
 * @param {string} href @param {boolean} [literal]
 */
function safe(href, literal) {
  try {
    const url = encodeURI(literal ? href : decoded(href)).replace(/%25/g, "%");
    return PROTOCOLS.includes(new URL(url, document.baseURI).protocol) ? url : null;
  } catch {
    return null;
  }
}

/** Replace character references. @param {string} text */
function decoded(text) {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name) {
      lacksNames ||= !hasNames && !characters.has(name);
      return characters.get(name) ?? whole;
    }
    const code = hex ? parseInt(hex, 16) : Number(decimal);
    const isSurrogate = code >= 0xd800 && code < 0xe000;
    const isCharacter = code > 0 && code <= 0x10ffff && !isSurrogate;
    return isCharacter ? String.fromCodePoint(code) : "\ufffd";
  });
}
