// @ts-check
/** Blocks that hold only text: headings, code, raw HTML and rules. */
import { readerOfHtml } from "./html-reader.js";
import { withoutEnd } from "./text.js";

/** @typedef {import("./lexer.js").Block} Block */
/** @typedef {import("./line.js").Line} Line */

const HEADING = /^(#{1,6})(?:[ \t]+([^]*))?$/;
const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/;
const RULE = /^(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/;

/**
 * Begin the block whose mark comes next, if one does.
 * @param {Line} line @param {boolean} isInText whether a paragraph or a table is open
 * @returns {Block | null}
 */
export function leafAt({ indent, content }, isInText) {
  const [, marks, text = ""] = HEADING.exec(content) ?? [];
  if (marks) return { type: "heading", depth: marks.length, text: headingText(text) };
  const [fence] = FENCE.exec(content) ?? [];
  if (fence) {
    return { type: "code", fence, indent, info: content.slice(fence.length), lines: [], text: "" };
  }
  const html = readerOfHtml(content, 0)?.htmlBlock(content, isInText);
  return html ?? (RULE.test(content) ? { type: "hr" } : null);
}

/** @param {string} text of a heading, perhaps with marks at its end */
function headingText(text) {
  const whole = withoutEnd(text, " \t");
  const inner = withoutEnd(whole, "#");
  const content = /[ \t]$/.test(inner) || !inner ? inner : whole;
  return withoutEnd(content, " \t");
}
