// @ts-check
/**
 * What few texts have: formulas, notes as GitHub has them, and Chinese, Japanese or Korean words
 * beside marks and addresses. Loaded with the first text that has a sign of them
 * (markdown-shapes-reader.js).
 */
import { ADDRESS } from "./cjk-address.js";
import { matchAt } from "./text.js";

/** @typedef {import("./lexer.js").Block} Block */
/** @typedef {import("./nodes.js").Node} Node */
/** @typedef {import("./spans.js").Span} Span */

/** Chinese, Japanese and Korean letters and punctuation, by their blocks, with variation marks. */
const CJK =
  "[\\u1100-\\u11ff\\u20a9\\u2329\\u232a\\u2e80-\\ua4cf\\ua960-\\ua97f\\uac00-\\ud7ff" +
  "\\uf900-\\ufaff\\ufe10-\\ufe19\\ufe30-\\ufe6f\\uff01-\\uffee\\u{16fe0}-\\u{1b2ff}" +
  "\\u{1d300}-\\u{1d37f}\\u{1f200}\\u{1f202}-\\u{1f265}\\u{20000}-\\u{3fffd}]\\p{M}*";
/** Other punctuation that may be between such a letter and a mark: quotes, dashes, dots. */
const BETWEEN = "[\\p{P}\\p{S}]*";
const CJK_BEFORE = new RegExp(`${CJK}${BETWEEN}$`, "u");
const CJK_AFTER = new RegExp(`^${BETWEEN}${CJK}`, "u");
/** How many characters around a mark are looked at. */
const NEAR = 12;
export const BARE_URL = new RegExp(`(?:(?:https?|ftp):\\/\\/|www\\.)${ADDRESS}`, "iuy");

const NOTE = /^\[\^([\p{L}\p{N}_-]{1,30})\]:[ \t]+(?=\S)/u;
/** The mark of a note. It is one only if the text has the note. */
const NOTE_MARK = /\[\^([\p{L}\p{N}_-]{1,30})\]/uy;

/**
 * A formula between two dollars, one dollar, or escaped brackets. By Pandoc's rule, amounts such as
 * $5 are none.
 */
const MATH =
  /\$\$(?:\$?(?:\\[^]|[^\\$]))+\$\$|\$(?!\s)(?:\\[^]|[^\\$])+(?<!\s)\$(?!\d)|\\[([][^]+?\\[)\]]/y;
/** Escaped brackets without a formula: with nothing or the number of a note in them. */
const BARE = /\\[([](?:\\[\\)\]]|\d+\\\])/y;
/** The beginning of a formula in an environment of its own. */
const ALIGNED = "align(?:at|ed|edat)?|eqnarray|gather(?:ed)?|split";
const GRID = "array|[dr]?cases|(?:[bBpvV]|small)?matrix";
const BEGIN = new RegExp(`\\\\begin\\{((equation|multline)|${ALIGNED}|${GRID})\\*?\\}`, "y");
/**
 * What may become a formula: after a dollar, few characters, or more with a sign of TeX. So an
 * amount waits only for a moment.
 */
const HALF_MATH = /\\[([]|\$\$?(?=[^$]*$)(?:[^]{0,24}$|[^\\^{]*[\\^{])/y;
const FORMULA = /^(?:\$\$|\\\[)[ \t]*$/;
/** The most lines of a block that may be a formula. */
const MAX_FORMULA_LINES = 60;

/**
 * Whether stars or tildes are beside Chinese, Japanese or Korean words. These have no spaces
 * between words, and full-width punctuation. CommonMark's rules would show `**重要。**今日は` as it
 * is written, so there such marks stand as they do between letters.
 * https://github.com/tats-u/markdown-cjk-friendly
 * @param {string} mark @param {string} text @param {number} at where the mark begins
 */
export function isBesideCjk(mark, text, at) {
  const end = at + mark.length;
  const before = text.slice(Math.max(at - NEAR, 0), at);
  const isBeside = () => CJK_BEFORE.test(before) || CJK_AFTER.test(text.slice(end, end + NEAR));
  return mark[0] !== "_" && isBeside();
}

/**
 * Begin a note or a formula that has lines of its own, if one begins here.
 * @param {import("./line.js").Line} line
 * @param {import("./lexer.js").Links} links receives the note @param {number} at
 * @returns {Block | null}
 */
export function blockAt(line, links, at) {
  const { content } = line;
  const [note, label] = NOTE.exec(content) ?? [];
  if (note && label) {
    line.skip(line.indent + note.length);
    links.set(keyOf(label), { href: "", at });
    return { type: "note", label, width: 4, tokens: [] };
  }
  const end = endOf(content);
  if (!end) return null;
  return { type: "paragraph", lines: [content], text: "", end, most: MAX_FORMULA_LINES };
}

/** What ends the formula that a line begins and does not end, or null. @param {string} content */
function endOf(content) {
  if (FORMULA.test(content)) return content[0] === "$" ? "$$" : "\\]";
  const begin = matchAt(BEGIN, content, 0)?.[0];
  const end = begin?.replace("begin", "end");
  return end && !content.includes(end) ? end : null;
}

/** A label has no brackets, so no link has this key. @param {string} label */
const keyOf = (label) => `[^${label.toLowerCase()}]`;

/**
 * The formula or the mark of a note that begins there, if one does.
 * @param {string} text @param {number} at @param {import("./lexer.js").Links} links
 * @param {Set<string>} missing receives what begins a formula that has no end
 * @returns {Span | null}
 */
export function spanAt(text, at, links, missing) {
  if (text[at] === "[") {
    const [mark, label = ""] = matchAt(NOTE_MARK, text, at) ?? [];
    const isMark = mark && links.has(keyOf(label));
    return isMark ? { type: "mark", label, length: mark.length } : null;
  }
  if (text.startsWith("\\b", at)) return environmentAt(text, at, missing);
  return "$\\".includes(text[at]) ? mathAt(text, at, missing) : null;
}

/** @param {string} text @param {number} at @param {Set<string>} missing @returns {Span | null} */
function mathAt(text, at, missing) {
  const pair = text.slice(at, at + 2);
  if (missing.has(pair) || matchAt(BARE, text, at)) return null;
  const [found] = matchAt(MATH, text, at) ?? [];
  if (!found && pair[0] === "\\") missing.add(pair);
  if (!found) return null;
  const isBlock = pair === "$$" || pair === "\\[";
  const size = isBlock || pair === "\\(" ? 2 : 1;
  return { type: "math", text: found.slice(size, -size).trim(), isBlock, length: found.length };
}

/** @param {string} text @param {number} at @param {Set<string>} missing @returns {Span | null} */
function environmentAt(text, at, missing) {
  const [begin, name = "", plain] = matchAt(BEGIN, text, at) ?? [];
  if (!begin || missing.has(begin)) return null;
  const from = at + begin.length;
  const close = begin.replace("begin", "end");
  const end = text.indexOf(close, from);
  if (end < 0) {
    missing.add(begin);
    return null;
  }
  const inside = text.slice(from, end);
  const tex = plain ? inside.trim() : `\\begin{${name}}${inside}\\end{${name}}`;
  return { type: "math", text: tex, isBlock: true, length: end + close.length - at };
}

/**
 * Where the formula that begins there ends in a growing text: 0 if none begins, the text's end if
 * it is not complete.
 * @param {string} text @param {number} at
 */
export function formulaEnd(text, at) {
  const begin = matchAt(BEGIN, text, at)?.[0];
  if (begin) {
    const close = begin.replace("begin", "end");
    const end = text.indexOf(close, at);
    return end < 0 ? text.length : end + close.length;
  }
  if (matchAt(MATH, text, at)) return MATH.lastIndex;
  return matchAt(HALF_MATH, text, at) ? text.length : 0;
}

/**
 * Make the nodes of a note, or of its mark.
 * @param {{ type: "note" | "mark", label: string }} token
 * @param {Node[]} inner its nodes @returns {Node[]}
 */
export function shapeNodes({ type, label }, inner) {
  /** @type {Node} */
  const mark = ["sup", {}, [label]];
  if (type === "mark") return [mark];
  const [first, ...rest] = inner;
  if (typeof first === "string" || first?.[0] !== "p") return [["p", {}, [mark]], ...inner];
  return [["p", {}, [mark, " ", ...first[2]]], ...rest];
}
