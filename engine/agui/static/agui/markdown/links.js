// @ts-check
/** The targets of links in Markdown: destinations, titles, and the definitions of labels. */
import { matchAt, unescaped } from "./text.js";

/** @typedef {import("./lexer.js").Links} Links */

const LABEL = /\[((?:\\[^]|[^[\]\\]){0,999})\]/y;
const BLANKS = /[ \t]*(?:\n[ \t]*)?/y;
const LINE_END = /[ \t]*(?:\n|$)/y;
const TITLE = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\((?:\\[^]|[^()\\])*\)/y;
const BRACKETED = /<((?:\\.|[^\n<>\\])*)>/y;
/** The deepest parentheses in a destination. */
const DEEPEST_PARENTHESIS = 32;

/**
 * Find where a link leads, and where it ends.
 * @param {string} text @param {number} at what follows the link's text and its bracket
 * @param {string} shown the link's text, if that may be a label, too
 * @param {Links} links
 * @returns {{ href: string, title?: string, end: number } | null}
 */
export function targetAt(text, at, shown, links) {
  const inline = text[at] === "(" ? inlineTarget(text, at + 1) : null;
  if (inline) return inline;
  const label = matchAt(LABEL, text, at);
  const tag = label?.[1].trim() ? label[1] : shown;
  const link = tag && links.get(keyOf(tag));
  return link ? { ...link, end: at + (label?.[0].length ?? 0) } : null;
}

/** @param {string} text @param {number} at what follows an opening parenthesis */
function inlineTarget(text, at) {
  const begin = blanksEnd(text, at);
  const destination = destinationAt(text, begin);
  const title = destination && titleAt(text, destination.end);
  const end = blanksEnd(text, title?.end ?? destination?.end ?? begin);
  if (text[end] !== ")") return null;
  return { href: destination?.href ?? "", title: title?.text, end: end + 1 };
}

/**
 * Read the definition of a link.
 * @param {string} text a paragraph @param {number} at where a line begins
 */
export function definitionAt(text, at) {
  const label = matchAt(LABEL, text, at);
  const labelEnd = LABEL.lastIndex;
  if (!label?.[1].trim() || text[labelEnd] !== ":") return null;
  const destination = destinationAt(text, blanksEnd(text, labelEnd + 1));
  if (!destination) return null;
  const tag = keyOf(label[1]);
  const { href, end } = destination;
  const title = titleAt(text, end);
  if (title && matchAt(LINE_END, text, title.end)) {
    return { tag, href, title: title.text, end: LINE_END.lastIndex };
  }
  return matchAt(LINE_END, text, end) && { tag, href, end: LINE_END.lastIndex };
}

/** @param {string} text @param {number} at */
function destinationAt(text, at) {
  if (text[at] === "<") {
    const found = matchAt(BRACKETED, text, at);
    return found && { href: unescaped(found[1]), end: BRACKETED.lastIndex };
  }
  let end = at;
  for (let depth = 0; end < text.length && text[end] > " " && text[end] !== "\x7f"; end++) {
    if (text[end] === "\\" && text[end + 1] > " ") end++;
    else if (text[end] === "(" && ++depth > DEEPEST_PARENTHESIS) return null;
    else if (text[end] === ")" && --depth < 0) break;
  }
  return end > at ? { href: unescaped(text.slice(at, end)), end } : null;
}

/** Read the title after a destination. @param {string} text @param {number} at */
function titleAt(text, at) {
  const begin = blanksEnd(text, at);
  const found = begin > at ? matchAt(TITLE, text, begin) : null;
  return found && { text: unescaped(found[0].slice(1, -1)), end: TITLE.lastIndex };
}

/** @param {string} text @param {number} at */
function blanksEnd(text, at) {
  matchAt(BLANKS, text, at);
  return BLANKS.lastIndex;
}

/** @param {string} label */
function keyOf(label) {
  return label.trim().toLowerCase().toUpperCase().replace(/\s+/g, " ");
}
