// @ts-check
/** Open blocks of Markdown: which lines continue them, and how they become tokens. */
import { finishList } from "./list.js";
import { unescaped, withoutEnd } from "./text.js";

/** @typedef {import("./lexer.js").Block} Block */
/** @typedef {import("./line.js").Line} Line */

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
    case "note":
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
  if (type === "paragraph") block.text = blockText(lines);
  else if (type === "html") block.text = lines.join("\n").trimEnd();
  else if (type === "code") finishCode(block);
  else if (type === "list") finishList(block);
}

/** @param {Extract<Block, { type: "code" }>} code */
function finishCode(code) {
  const { fence, info, lines } = code;
  if (fence) code.lang = unescaped(info.trim());
  else {
    while (!lines[lines.length - 1].trim()) lines.pop();
  }
  code.text = lines.join("\n");
}

/** @param {string[]} lines */
export const blockText = (lines) => withoutEnd(lines.join("\n"), " \t\n");
