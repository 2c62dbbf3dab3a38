// @ts-check
/** What a text is as Markdown, as descriptions of the elements to make. Nothing here touches the page. */
import { lex } from "./markdown-lexer.js";
import { completed } from "./markdown-tail.js";

/** @typedef {string | [tag: string, attributes: Record<string, any>, children: any[]]} Node */
/** @typedef {import("./markdown-lexer.js").Links} Links */
/** @typedef {{ nodes: Node[], done: { length: number, blocks: number }, links: Links, lacksNames: boolean }} Found `lacksNames`: read it again after `loadNames()` */

/** Raw HTML in Markdown: bare tags that only format are elements, all others readable text. */
const BARE_TAG = /^<(\/?)(br|b|i|u|s|em|strong|del|mark|kbd|sub|sup|details|summary)\s*\/?>$/i;
/** Tags in tags: whatever walks the tree does so by calling itself. */
const DEEPEST = 100;
/** What a table never breaks: numbers, amounts, dates and times. */
const FIGURE = /^[\d\s.,:;/+\-–%€$£TZ]{1,30}$/;
const PROTOCOLS = ["http:", "https:", "mailto:", "tel:"];
/** @type {Map<string, string>} characters that have a name; the rare ones are loaded when a text has one */
let characters = new Map([["amp", "&"], ["lt", "<"], ["gt", ">"], ["quot", '"'], ["apos", "'"], ["nbsp", "\u00a0"]]);
/** Are all names loaded, and did the text that is being read have one that is not? */
let [hasNames, lacksNames] = [false, false];

/** Load the names of all characters. Without them, a text shows them as they are written. */
export async function loadNames() {
  const { CHARACTERS } = await import("./entities.js").catch(() => ({ CHARACTERS: [] }));
  hasNames = true;
  characters = new Map([...characters, ...CHARACTERS]);
}

/**
 * Read a text. `done` is how much of it can't change any more while it grows, and how many nodes that is.
 * @param {string} text @param {boolean} growing @param {Links} links those defined so far
 * @param {{ copy: string }} strings @returns {Found}
 */
export function read(text, growing, links, strings) {
  lacksNames = false;
  return { ...nodesAndRest(text, growing, links, strings), lacksNames };
}

/** @param {string} text @param {boolean} growing @param {Links} links @param {{ copy: string }} strings */
function nodesAndRest(text, growing, links, strings) {
  const source = text.replace(/\r\n?/g, "\n");
  try {
    const known = new Map(links);
    const tokens = lex(growing ? completed(source) : source, known);
    const length = (growing && tokens.at(-1)?.at) || 0;
    const last = tokens.findIndex(({ at }) => at === length);
    const head = build(tokens.slice(0, last), strings);
    // A line may end in two characters, which are read as one: then nothing is put aside.
    if (!length || head.open || source !== text) return { nodes: build(tokens, strings).nodes, done: { length: 0, blocks: 0 }, links };
    for (const [tag, { at = 0 }] of known) if (at >= length && !links.has(tag)) known.delete(tag); // its address may not be complete
    return { nodes: [...head.nodes, ...build(tokens.slice(last), strings).nodes], done: { length, blocks: head.nodes.length }, links: known };
  } catch (error) {
    console.warn("agui-chat: a text could not be read as Markdown.", error); // nested too deeply, for one
    return { nodes: [["div", { class: "block plain" }, [source]]], done: { length: 0, blocks: 0 }, links };
  }
}

/** The blocks of a text; `open` when an element of raw HTML waits for its end. @param {any[]} tokens @param {{ copy: string }} strings */
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

/** @param {any[]} tokens @param {{ copy: string }} strings @param {boolean} [inLink] @returns {any[]} */
function children(tokens, strings, inLink = false) {
  /** @type {any} */
  const stack = [["", {}, []]];
  for (const token of tokens ?? []) take(token, stack, strings, inLink);
  return stack[0][2];
}

/** Add what a token is to the innermost open element. @param {any} token @param {any[]} stack @param {{ copy: string }} strings @param {boolean} inLink */
function take(token, stack, strings, inLink) {
  const add = (/** @type {any} */ node) => {
    const into = stack.at(-1)[2];
    if (typeof node === "string" && typeof into.at(-1) === "string") into.push(into.pop() + node);
    else if (node) into.push(node);
  };
  if (token.type !== "html") return nodesOf(token, strings, inLink).forEach(add);
  for (const piece of token.text.split(/(<[^>]*>?)/)) {
    const [, end, name] = BARE_TAG.exec(piece) ?? [];
    const tag = name?.toLowerCase();
    if (!tag) add(piece.startsWith("<") ? piece : decoded(piece));
    else if (tag === "br") add(["br", {}, []]);
    else if (!end) {
      const node = [tag, {}, []];
      add(node);
      if (stack.length < DEEPEST) stack.push(node);
    } else {
      const at = stack.findLastIndex(([one]) => one === tag);
      if (at > 0) stack.length = at;
    }
  }
}

/** @param {any} token @param {{ copy: string }} strings @param {boolean} inLink @returns {any[]} */
function nodesOf(token, strings, inLink) {
  const { type, text, tokens } = token;
  const inner = () => children(tokens, strings, inLink);
  switch (type) {
    case "paragraph": return [["p", {}, inner()]];
    case "heading": return [[`h${token.depth}`, {}, inner()]];
    case "blockquote": case "strong": case "em": case "del": return [[type, {}, inner()]];
    case "hr": case "br": return [[type, {}, []]];
    case "checkbox": return [token.checked ? "☑ " : "☐ "];
    case "codespan": return [["code", {}, [text]]];
    case "code": return [codeBox(token, strings)];
    case "list": return [listOf(token, strings)];
    case "table": return [["div", { class: "table", tabindex: "0" }, [["table", {}, tableParts(token, strings)]]]];
    case "link": return linkOf(token, token.autolink ? [text] : children(tokens, strings, true), inLink);
    case "image": return linkOf(token, [textIn(children(tokens, strings, true))].filter(Boolean), inLink); // never loaded
    case "text": return tokens ? inner() : [decoded(text)];
    case "escape": return [text];
    default: return [];
  }
}

/** @param {any} token @param {{ copy: string }} strings */
function codeBox({ lang, text }, { copy }) {
  const [language] = /^[\p{L}\p{N}_+#.-]+/u.exec(decoded(lang ?? "")) ?? [""];
  const head = ["div", { class: "code-head" }, [["span", {}, [language]], ["button", { type: "button", class: "copy" }, [copy]]]];
  const code = ["code", language ? { class: `language-${language}` } : {}, [text]];
  // A wide block scrolls, so the keyboard must reach it.
  return ["div", { class: "code", part: "code" }, [head, ["pre", { tabindex: "0" }, [code]]]];
}

/** @param {any} token @param {{ copy: string }} strings */
function listOf({ ordered, start, items }, strings) {
  const rows = items.map(({ task, tokens }) => ["li", task ? { class: "task" } : {}, children(tokens, strings)]);
  return ordered ? ["ol", start === 1 ? {} : { start: String(start) }, rows] : ["ul", {}, rows];
}

/** @param {any} token @param {{ copy: string }} strings */
function tableParts({ header, rows }, strings) {
  const row = (/** @type {any[]} */ cells, /** @type {string} */ tag) =>
    ["tr", {}, cells.map(({ tokens, align }) => [tag, cellAttributes(tokens, align), children(tokens, strings)])];
  const head = ["thead", {}, [row(header, "th")]];
  return rows.length ? [head, ["tbody", {}, rows.map((/** @type {any[]} */ cells) => row(cells, "td"))]] : [head];
}

/** A number, a date or a time never breaks. @param {any[]} tokens @param {string | null} align */
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

/** Where a link may lead: judged by the parser that will follow it. @param {string} href @param {boolean} literal */
function safe(href, literal) {
  try {
    const url = encodeURI(literal ? href : decoded(href)).replace(/%25/g, "%");
    return PROTOCOLS.includes(new URL(url, document.baseURI).protocol) ? url : null;
  } catch {
    return null;
  }
}

/** Read character references. @param {string} text */
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
