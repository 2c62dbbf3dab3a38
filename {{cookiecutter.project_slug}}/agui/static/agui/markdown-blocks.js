// @ts-check
/** Turn the lines of Markdown's blocks into tokens. */
import { unescaped } from "./markdown-spans.js";

/** @typedef {import("./markdown-lexer.js").Block} Block */

/** @param {Block} block */
export const isText = ({ type }) => type === "paragraph" || type === "table";

/** Make the token of a finished block. Paragraphs are made elsewhere. @param {Block} block */
export function finishBlock(block) {
  if (block.fence) {
    block.text = block.lines.join("\n");
    block.lang = unescaped(block.info.trim());
  } else if (block.type === "code") {
    while (!block.lines.at(-1).trim()) block.lines.pop();
    block.text = block.lines.join("\n");
  } else if (block.type === "html") block.text = block.lines.join("\n").trimEnd();
  else if (block.type === "list") finishList(block);
}

/** @param {Block} list */
function finishList(list) {
  for (const item of list.items) {
    const [first] = item.tokens;
    const task = first?.type === "paragraph" && /^\[([ xX])\][ \t]+(?=\S)/.exec(first.text);
    for (const token of list.loose ? [] : item.tokens) {
      if (token.type === "paragraph") token.type = "text";
    }
    if (!task) continue;
    item.task = true;
    first.text = first.text.slice(task[0].length);
    const box = { type: "checkbox", checked: task[1] !== " " };
    if (list.loose) first.box = box;
    else item.tokens.unshift(box);
  }
}

/**
 * @param {string} text
 * @param {string} characters to cut off its end: a pattern would search again from each of them
 */
export function withoutEnd(text, characters) {
  let end = text.length;
  while (end && characters.includes(text[end - 1])) end--;
  return text.slice(0, end);
}

/** @param {string[]} lines */
export const blockText = (lines) => withoutEnd(lines.join("\n"), " \t\n");

/** @param {string} text what follows the # of a heading */
export function headingText(text) {
  const whole = withoutEnd(text, " \t");
  const inner = withoutEnd(whole, "#");
  const content = /[ \t]$/.test(inner) || !inner ? inner : whole;
  return withoutEnd(content, " \t").replace(/^[ \t]+/, "");
}

/** @param {string} line */
export function cellsOf(line) {
  const cells = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** @param {string} cell of the line of dashes */
export function alignOf(cell) {
  if (/^:.*:$/.test(cell)) return "center";
  return cell.endsWith(":") ? "right" : cell.startsWith(":") ? "left" : null;
}
