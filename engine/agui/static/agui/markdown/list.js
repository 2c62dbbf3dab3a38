// @ts-check
/** Lists in Markdown: the markers of their items, and the boxes of tasks. */

/** @typedef {import("./lexer.js").Block} Block */
/** @typedef {import("./line.js").Line} Line */

const MARKER = /^(?:[*+-]|(\d{1,9})[.)])(?=[ \t]|$)/;
/** An item that may end a paragraph: it has text, and its number is 1. */
const INTERRUPTING = /^(?:[*+-]|0*1[.)])\s+\S/;
const BOX = /^\[([ xX])\][ \t]+(?=\S)/;

/**
 * Read past the marker of an item, if one comes next.
 * @param {Line} line @param {boolean} isInText whether the item would end a paragraph or a table
 */
export function itemAt(line, isInText) {
  const [marker, number] = MARKER.exec(line.content) ?? [];
  if (!marker || (isInText && !INTERRUPTING.test(line.content))) return null;
  const before = line.indent + marker.length;
  line.skip(before);
  const gap = !line.content || line.indent > 4 ? 1 : line.indent;
  line.skip(Math.min(gap, line.indent));
  return { kind: marker.at(-1), number, width: before + gap };
}

/** @param {Extract<Block, { type: "list" }>} list */
export function finishList({ items, loose }) {
  for (const item of items) {
    const [first] = item.tokens;
    const task = first?.type === "paragraph" && BOX.exec(first.text);
    for (const token of loose ? [] : item.tokens) {
      if (token.type === "paragraph") token.type = "text";
    }
    if (!task) continue;
    item.task = true;
    first.text = first.text.slice(task[0].length);
    /** @type {typeof first.box} */
    const box = { type: "checkbox", checked: task[1] !== " " };
    if (loose) first.box = box;
    else item.tokens.unshift(box);
  }
}
