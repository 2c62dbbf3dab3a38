// @ts-check
/**
 * Complete the end of a text that is still growing: close what is open, and leave out what is not
 * clear yet. Otherwise half a link would show its brackets, and bold text its stars, until the rest
 * arrives.
 */
import { shapes } from "./shapes-reader.js";
import { matchAt } from "./text.js";

/**
 * @typedef {{ mark: string, start: number, end: number }} Fence the beginning of a block of code:
 *   where its line and its language begin
 */

/**
 * Last lines that have no meaning yet. They may become a list, a heading, a rule, a row or the
 * underline of a heading; the box of a task; or the definition of a link.
 */
const UNCLEAR = [
  /^(?:[-=*+_#>|~`: \t]+|\d{1,9}[.)]?)$/,
  /^(?:[-*+]|\d{1,9}[.)])[ \t]+\[.?\]?$/,
  /^\[[^\]\n]*\]:$/,
];
const FENCE_LINE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$/gm;
/**
 * The beginning of a paragraph, an item or a heading: no emphasis, code or link continues across
 * it.
 */
const BEGINNING = /\n[ \t]*(?=\n)|\n[ \t>]*(?:[-*+>]|\d{1,9}[.)]|#{1,6})[ \t]/g;
/** An incomplete link or image at the end. */
const HALF_LINK =
  /\[([^[\]\n]*)(?:\](?:\((?:[^()\s]|\([^()\s]*\)?)*(?:\s+(?:["'(][^"'\n]*["']?)?)?)?)?/y;
/** An incomplete character reference, tag or escape at the end. */
const HALF_WORD = /(?:&#?\w{0,8}|<\/?[a-z]{0,10}|\\|(?<=^|\s)!)$/i;
const MARK = /\\[^]|`+|\*+|_+|~~?|\$\$?/g;

/** @param {string} text */
export function completed(text) {
  const { open: fence, closed } = fences(text);
  if (fence) return withoutHalfFence(text, fence);
  return closed === text.length ? text : withTable(withClosed(withoutMarks(text), closed));
}

/**
 * Leave out a language that is not complete, or half of the closing fence.
 * @param {string} text @param {Fence} fence
 */
function withoutHalfFence(text, fence) {
  const end = text.lastIndexOf("\n");
  if (end < fence.start) return text.slice(0, fence.end);
  return /^[ \t>]*[`~]+$/.test(text.slice(end + 1)) ? text.slice(0, end) : text;
}

/** Leave out a last line that has no meaning yet. @param {string} text */
function withoutMarks(text) {
  const end = text.lastIndexOf("\n");
  const line = text.slice(end + 1);
  const marks = line.trim();
  const isUnclear = !marks || UNCLEAR.some((pattern) => pattern.test(marks));
  return line && isUnclear ? text.slice(0, Math.max(end, 0)) : text;
}

/** @param {string} text */
function withoutHalfLink(text) {
  for (let at = 0; (at = text.indexOf("[", at)) >= 0; at = HALF_LINK.lastIndex) {
    const found = matchAt(HALF_LINK, text, at);
    if (HALF_LINK.lastIndex === text.length) {
      const begin = text[at - 1] === "!" ? at - 1 : at;
      return text.slice(0, begin) + found?.[1];
    }
  }
  return text;
}

/** Find the open block of code, and the end of the last closed one. @param {string} text */
function fences(text) {
  /** @type {Fence | null} */
  let open = null;
  let closed = 0;
  for (const { 0: line, 1: mark, 2: info, index } of text.matchAll(FENCE_LINE)) {
    const end = index + line.length;
    if (open) {
      if (mark.startsWith(open.mark) && !info.trim()) [open, closed] = [null, end];
    } else if (mark[0] === "~" || !info.includes("`")) {
      open = { mark, start: index, end: end - info.length };
    }
  }
  return { open, closed };
}

/**
 * Close open marks in the last paragraph, item or cell.
 * @param {string} text @param {number} at the end of the last block of code
 */
function withClosed(text, at) {
  for (const { 0: mark, index } of text.matchAll(BEGINNING)) at = Math.max(at, index + mark.length);
  const lastLine = text.lastIndexOf("\n") + 1;
  if (/^[ \t]*\|/.test(text.slice(lastLine))) at = text.lastIndexOf("|") + 1;
  const before = text.slice(0, at);
  let tail = text.slice(at).replace(HALF_WORD, "");
  const { code, at: codeAt, open, rest } = marksOf(tail);
  if (code) {
    const inside = tail.slice(codeAt + code.length).replace(/`+$/, "");
    tail = tail.slice(0, codeAt) + (inside && code + inside + code);
  } else tail = withoutHalfLink(tail.slice(0, tail.length - rest));
  // What begins at the end has nothing inside yet.
  for (let last; (last = open.at(-1)) && tail.endsWith(last); open.pop()) {
    tail = tail.slice(0, -last.length);
  }
  if (open.length) tail = tail.trimEnd() + open.reverse().join("");
  return before + tail;
}

/**
 * Find the open marks of code and emphasis, and how many characters at the end have no meaning yet.
 * @param {string} tail
 */
function marksOf(tail) {
  /** @type {string[]} */
  const open = [];
  let code = "";
  let at = 0;
  let rest = 0;
  MARK.lastIndex = 0;
  for (let found; (found = MARK.exec(tail)); ) {
    const { 0: mark, index } = found;
    const [before, after] = [tail[index - 1] ?? " ", tail[index + mark.length]];
    if (mark[0] === "`") {
      if (!code) [code, at] = [mark, index];
      else if (mark === code) code = "";
      continue;
    }
    if (code) continue;
    if ("\\$".includes(mark[0])) {
      const end = shapes.reader?.formulaEnd(tail, index);
      if (end === tail.length) {
        rest = tail.length - index;
        break;
      }
      MARK.lastIndex = end || MARK.lastIndex;
      continue;
    }
    const left = /\S/.test(before) ? closeMarks(mark, open) : mark.length;
    if (!after) rest = left;
    else if (left && /\S/.test(after) && !/\w/.test(before)) {
      if (left > 1) open.push(mark[0].repeat(2));
      if (left !== 2) open.push(mark[0]);
    }
  }
  return { code, at, open, rest };
}

/**
 * Close open marks with a mark, the last ones first.
 * @param {string} mark @param {string[]} open @returns how many of the mark's characters are left
 */
function closeMarks(mark, open) {
  let left = mark.length;
  for (let last; (last = open.at(-1)) && last[0] === mark[0] && last.length <= left; open.pop()) {
    left -= last.length;
  }
  return left;
}

/**
 * Show a row with pipes as the first row of a table, before the line below it confirms that.
 * @param {string} text
 */
function withTable(text) {
  const end = text.trimEnd();
  const at = end.lastIndexOf("\n");
  const row = end.slice(at + 1).trim();
  const hasRowBefore = at > 0 && end[end.lastIndexOf("\n", at - 1) + 1] === "|";
  if (row.length < 2 || row[0] !== "|" || hasRowBefore) return text;
  const cells = row.replace(/\\./g, "").replace(/\|$/, "").split("|").length - 1;
  return `${end}\n|${"-|".repeat(cells)}`;
}
