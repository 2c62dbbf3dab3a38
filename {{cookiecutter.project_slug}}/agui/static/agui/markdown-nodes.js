// @ts-check
/** Turn Markdown into descriptions of elements. Nothing here touches the page. */
import { lex } from "./markdown-lexer.js";
import { html } from "./markdown-html-reader.js";
import { completed } from "./markdown-tail.js";

/** @typedef {string | [tag: string, attributes: Record<string, any>, children: any[]]} Node */
/** @typedef {import("./markdown-lexer.js").Links} Links */
/**
 * @typedef {{ nodes: Node[], done: { length: number, blocks: number }, links: Links,
 *   lacks: (() => Promise<void>) | null, isRich: boolean }} Found `lacks`: load this, and read the
 *   text again; `isRich`: rich-text.js has something to add
 */

/** What a table never breaks: numbers, amounts, dates and times. */
const FIGURE = /^[\d\s.,:;/+\-–%€$£TZ]{1,30}$/;
const PROTOCOLS = ["http:", "https:", "mailto:", "tel:"];
/**
 * @type {Map<string, string>} characters by their names; a text with a rare name loads the others
 */
let characters = new Map([["amp", "&"], ["lt", "<"], ["gt", ">"], ["quot", '"'], ["apos", "'"], ["nbsp", "\u00a0"]]);
/** Whether all names are loaded, and whether the current text has a name that is not loaded. */
let [hasNames, lacksNames] = [false, false];
/** Tables with so many rows get tools: the same number as in rich-text.js. */
const LARGE = 10;
/** Whether rich-text.js has something to add to the current text, and whether that still grows. */
let [isRich, isGrowing] = [false, false];

/** Load the names of all characters. Until then, a text shows rare names as they are written. */
export async function loadNames() {
  const { CHARACTERS } = await import("./entities.js").catch(() => ({ CHARACTERS: [] }));
  hasNames = true;
  characters = new Map([...characters, ...CHARACTERS]);
}

/** Load the reader of raw HTML. Without it, a text shows tags as they are written. */
export async function loadHtml() {
  const none = { htmlBlock: () => null, htmlLength: () => 0, addHtml: () => {} };
  html.reader = await import("./markdown-html.js").catch(() => none);
}

/**
 * Read a text. `done` says how much of a growing text can't change any more, and how many nodes
 * that is.
 * @param {string} text @param {boolean} growing
 * @param {Links} links the links that are defined so far
 * @param {{ copy: string }} strings @returns {Found}
 */
export function read(text, growing, links, strings) {
  lacksNames = isRich = html.isMissing = false;
  isGrowing = growing;
  const found = nodesAndRest(text, growing, links, strings);
  const lacks = html.isMissing ? loadHtml : lacksNames ? loadNames : null;
  return { ...found, lacks, isRich };
}

/**
 * @param {string} text @param {boolean} growing @param {Links} links
 * @param {{ copy: string }} strings
 */
function nodesAndRest(text, growing, links, strings) {
  const source = text.replace(/\r\n?/g, "\n");
  try {
    const known = new Map(links);
    const tokens = lex(growing ? completed(source) : source, known);
    const length = (growing && tokens.at(-1)?.at) || 0;
    const last = tokens.findIndex(({ at }) => at === length);
    const head = build(tokens.slice(0, last), strings);
    // The lexer reads a line end of two characters as one, so positions differ: then nothing is
    // `done`.
    if (!length || head.open || source !== text) return { nodes: build(tokens, strings).nodes, done: { length: 0, blocks: 0 }, links };
    for (const [tag, { at = 0 }] of known) if (at >= length && !links.has(tag)) known.delete(tag); // The address may not be complete.
    return { nodes: [...head.nodes, ...build(tokens.slice(last), strings).nodes], done: { length, blocks: head.nodes.length }, links: known };
  } catch (error) {
    console.warn("agui-chat: a text could not be read as Markdown.", error); // The text may be nested too deeply.
    return { nodes: [["div", { class: "block plain" }, [source]]], done: { length: 0, blocks: 0 }, links };
  }
}

/**
 * Make the nodes of a text's blocks. `open` means that an element of raw HTML waits for its end.
 * @param {any[]} tokens @param {{ copy: string }} strings
 */
function build(tokens, strings) {
  /** @type {any[]} */
  const nodes = [];
  const stack = [];
  for (const token of tokens) {
    if (!stack.length) stack.push((nodes[nodes.length] = ["div", { class: "block" }, []]));
    take(token, stack, strings, false);
    if (stack.length === 1) stack.pop();
  }
  return { nodes, open: stack.length > 0 };
}

/**
 * @param {any[]} tokens @param {{ copy: string }} strings @param {boolean} [inLink]
 * @returns {any[]}
 */
function children(tokens, strings, inLink = false) {
  /** @type {any} */
  const stack = [["", {}, []]];
  for (const token of tokens ?? []) take(token, stack, strings, inLink);
  return stack[0][2];
}

/**
 * Add the node of a token to the innermost open element.
 * @param {any} token @param {any[]} stack @param {{ copy: string }} strings @param {boolean} inLink
 */
function take(token, stack, strings, inLink) {
  const add = (/** @type {any} */ node) => {
    const into = stack.at(-1)[2];
    if (typeof node === "string" && typeof into.at(-1) === "string") into.push(into.pop() + node);
    else if (node) into.push(node);
  };
  if (token.type !== "html") return nodesOf(token, strings, inLink).forEach(add);
  html.reader?.addHtml(token.text, stack, add, decoded);
}

/** @param {any} token @param {{ copy: string }} strings @param {boolean} inLink @returns {any[]} */
function nodesOf(token, strings, inLink) {
  const { type, text, tokens } = token;
  const inner = () => children(tokens, strings, inLink);
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
    case "code": return [codeBox(token, strings)];
    case "list": return [listOf(token, strings)];
    case "table": return [["div", { class: "table", tabindex: "0" }, [["table", {}, tableParts(token, strings)]]]];
    case "link": return linkOf(token, token.autolink ? [text] : children(tokens, strings, true), inLink);
    case "image": return linkOf(token, [textIn(children(tokens, strings, true))].filter(Boolean), inLink); // The image is never loaded.
    case "text": return tokens ? inner() : [decoded(text)];
    case "escape": return [text];
    default: return [];
  }
}

/** @param {any} token @param {{ copy: string }} strings */
function codeBox({ lang, text }, { copy }) {
  isRich = true;
  const [language] = /^[\p{L}\p{N}_+#.-]+/u.exec(decoded(lang ?? "")) ?? [""];
  const head = ["div", { class: "code-head" }, [["span", {}, [language]], ["button", { type: "button", class: "copy" }, [copy]]]];
  const code = ["code", language ? { class: `language-${language}` } : {}, [text]];
  // A wide block scrolls, so keyboard users must be able to focus it.
  return ["div", { class: "code", part: "code" }, [head, ["pre", { tabindex: "0" }, [code]]]];
}

/** @param {any} token @param {{ copy: string }} strings */
function listOf({ ordered, start, items }, strings) {
  const rows = items.map((/** @type {any} */ { task, tokens }) => {
    return ["li", task ? { class: "task" } : {}, children(tokens, strings)];
  });
  return ordered ? ["ol", start === 1 ? {} : { start: String(start) }, rows] : ["ul", {}, rows];
}

/** @param {any} token @param {{ copy: string }} strings */
function tableParts({ header, rows }, strings) {
  isRich ||= rows.length >= LARGE;
  const row = (/** @type {any[]} */ cells, /** @type {string} */ tag) =>
    ["tr", {}, cells.map(({ tokens, align }) => [tag, cellAttributes(tokens, align), children(tokens, strings)])];
  const head = ["thead", {}, [row(header, "th")]];
  return rows.length ? [head, ["tbody", {}, rows.map((/** @type {any[]} */ cells) => row(cells, "td"))]] : [head];
}

/**
 * Choose the attributes of a table's cell. Numbers, dates and times never break.
 * @param {any[]} tokens @param {string | null} align
 */
function cellAttributes(tokens, align) {
  const isFigure = tokens.length === 1 && FIGURE.test(tokens[0].text ?? "");
  return { ...(align && { align }), ...(isFigure && { class: "figure" }) };
}

/** @param {any[]} nodes @returns {string} */
const textIn = (nodes) => nodes.map((node) => (typeof node === "string" ? node : node[0] === "br" ? " " : textIn(node[2]))).join("");

/** @param {any} token @param {any[]} inner @param {boolean} inLink @returns {any[]} */
function linkOf({ href, title, autolink }, inner, inLink) {
  const url = inLink ? null : safe(href, autolink);
  const shown = inner.length || !url ? inner : [url];
  if (!url) return shown;
  return [["a", { href: url, ...(title && { title: decoded(title) }), target: "_blank", rel: "noopener noreferrer" }, shown]];
}

/**
 * Find the address of a link, if it is safe. The browser's own URL parser decides.
 * @param {string} href @param {boolean} literal
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
    return code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? "\ufffd" : String.fromCodePoint(code);
  });
}
