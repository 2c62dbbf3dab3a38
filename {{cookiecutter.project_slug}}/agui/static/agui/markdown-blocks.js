// @ts-check
/** Open blocks of Markdown: which lines continue them, and how they become tokens. */
import { finishList } from "./markdown-list.js";
import { unescaped, withoutEnd } from "./markdown-text.js";

/** @typedef {import("./markdown-lexer.js").Block} Block */
/** @typedef {import("./markdown-line.js").Line} Line */

/** The beginning of a note below the text, as GitHub has them. */
export const FOOTNOTE = /^\[\^([\w-]{1,30})\]:[ \t]+(?=\S)/;

/** @param {Block} block */
export const isText = ({ type }) => type === "paragraph" || type === "table";

/**
 * Read past the marker or the indent that continues an open block.
 * @param {Block} block @param {Line} line @returns {boolean} whether the line continues it
 */
export function continueBlock(block, line) {
  const { indent, content } = line;
  switch (block.type) {
    case "list":
      return true;
    case "blockquote":
      return line.skipQuoteMark();
    case "item":
      if (content ? indent < block.width : !block.tokens.length) return false;
      line.skip(content ? block.width : indent);
      return true;
    case "code":
      if (block.fence ? endsCode(line, block.fence) : content && indent < 4) return false;
      line.skip(Math.min(indent, block.indent));
      return true;
    default:
      return !!(content || block.end);
  }
}

/**
 * Whether the line ends the code that this fence began.
 * @param {Line} line @param {string} fence
 */
function endsCode({ indent, content }, fence) {
  return indent < 4 && content.startsWith(fence) && !withoutEnd(content, ` \t${fence[0]}`);
}

/** Make the token of a finished block. @param {Block} block */
export function finishBlock(block) {
  const { type, lines } = block;
  if (type === "paragraph" && FOOTNOTE.test(lines[0] ?? "")) asFootnotes(block);
  else if (type === "paragraph") block.text = blockText(lines);
  else if (type === "html") block.text = lines.join("\n").trimEnd();
  else if (type === "code") finishCode(block);
  else if (type === "list") finishList(block);
}

/** Make a paragraph of notes a list of them. @param {Block} block */
function asFootnotes(block) {
  block.type = "footnotes";
  block.items = [];
  block.text = "notes";
  for (const line of block.lines) {
    const [begin, label] = FOOTNOTE.exec(line) ?? [];
    const text = line.slice(begin?.length ?? 0);
    const last = block.items.at(-1)?.tokens[0];
    if (label) block.items.push({ label, tokens: [{ type: "text", text }] });
    else last.text += `\n${line}`;
  }
}

/** @param {Block} code */
function finishCode(code) {
  const { fence, info, lines } = code;
  if (fence) code.lang = unescaped(info.trim());
  else {
    while (!lines.at(-1).trim()) lines.pop();
  }
  code.text = lines.join("\n");
}

/** @param {string[]} lines */
export const blockText = (lines) => withoutEnd(lines.join("\n"), " \t\n");
