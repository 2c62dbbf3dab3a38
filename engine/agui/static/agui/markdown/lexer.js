// @ts-check
/**
 * Markdown as models write it: CommonMark with GitHub's tables, task lists, strikethrough and bare
 * links. It keeps each line break. The result is a list of tokens, each with `at`, the place in the
 * text where it begins.
 *
 * The lexer reads a text once, line by line, with a stack of open blocks, so its time is linear in
 * the length of the text. https://spec.commonmark.org/0.31.2/#appendix-a-parsing-strategy
 */
import { spans } from "./spans.js";
import { definitionAt } from "./links.js";
import { shapes } from "./shapes-reader.js";
import { TableReader } from "./table.js";
import { Line } from "./line.js";
import { itemAt } from "./list.js";
import { leafAt } from "./leaves.js";
import { blockText, continueBlock, finishBlock, isText } from "./blocks.js";

/**
 * @typedef {import("../types.d.ts").Token} Token
 * @typedef {import("../types.d.ts").Block} Block a token that may still grow
 * @typedef {{ href: string, title?: string, at?: number }} Link `at`: where the text defines it
 * @typedef {Map<string, Link>} Links by their labels
 */

/** The deepest blocks within blocks. Deeper quotes and lists are text. */
const DEEPEST_BLOCK = 60;
const UNDERLINE = /^(?:=+|-+)[ \t]*$/;

/** @param {string} text @param {Links} links receives its definitions @returns {Token[]} */
export function lex(text, links) {
  const { tokens = [] } = new BlockReader(links).read(text);
  readInline(tokens, links);
  return tokens;
}

/**
 * Read the texts inside blocks. This comes after all blocks, because a later block may define a
 * link.
 * @param {Token[]} tokens @param {Links} links
 */
function readInline(tokens, links) {
  for (const token of tokens) {
    if (["paragraph", "heading", "text"].includes(token.type)) {
      const box = token.box ? [token.box] : [];
      token.tokens = [...box, ...spans(token.text ?? "", links)];
    } else if (token.tokens) readInline(token.tokens, links);
    for (const { tokens } of token.items ?? []) readInline(tokens, links);
    const cells = [token.header ?? [], token.rows ?? []].flat(2);
    for (const cell of cells) cell.tokens = spans(cell.text, links);
  }
}

class BlockReader {
  #links;
  #tables = new TableReader();
  /** @type {Block[]} the whole text, then its open blocks, each inside the one before */
  #open = [{ type: "root", tokens: [] }];
  /** Where this line and the line before it begin in the text. */
  #start = 0;
  #lastStart = 0;
  /** From this depth on, the line before was blank. */
  #blankFrom = Infinity;

  /** @param {Links} links */
  constructor(links) {
    this.#links = links;
  }

  /** The innermost open block. */
  get #tip() {
    return this.#open[this.#open.length - 1];
  }

  /** @param {string} text @returns {Block} */
  read(text) {
    const [root] = this.#open;
    const lines = text.split("\n");
    if (!lines.at(-1)) lines.pop();
    for (const line of lines) {
      this.#readLine(new Line(line));
      this.#lastStart = this.#start;
      this.#start += line.length + 1;
    }
    this.#close(0);
    return root;
  }

  /** @param {Line} line */
  #readLine(line) {
    let depth = 1;
    while (depth < this.#open.length && continueBlock(this.#open[depth], line)) depth++;
    if (this.#open[depth]?.fence) {
      this.#close(depth); // This line is the closing fence.
      this.#blankFrom = Infinity;
      return;
    }
    const last = this.#open[depth - 1];
    while (!["code", "html"].includes(this.#open[depth - 1].type) && !this.#open[depth - 1].end) {
      const begun = this.#begin(line, depth);
      if (!begun) break;
      this.#blankFrom = Infinity;
      if (begun === "leaf") return;
      depth = this.#open.length;
    }
    const container = this.#open[depth - 1];
    const tip = this.#tip;
    const isBlank = !line.content;
    const isLazy = tip !== container && tip.type === "paragraph" && !isBlank;
    if (isLazy) tip.lines.push(line.content);
    else {
      this.#close(depth);
      this.#addText(line);
    }
    this.#blankFrom = Infinity;
    if (isBlank && container === last && !container.fence && container.type !== "html") {
      this.#blankFrom = this.#open.findLastIndex(({ type }) => type === "blockquote");
    }
  }

  /**
   * Begin a new block if its marker comes next.
   * @param {Line} line @param {number} depth how many open blocks go on
   * @returns {"leaf" | "container" | null}
   */
  #begin(line, depth) {
    const container = this.#open[depth - 1];
    const tip = this.#tip;
    if (!line.content) return null;
    if (line.indent > 3) {
      if (tip.type === "paragraph") return null;
      line.skip(4);
      this.#add({ type: "code", indent: 4, lines: [line.rest], text: "" }, depth);
      return "leaf";
    }
    if (depth < DEEPEST_BLOCK && line.skipQuoteMark()) {
      this.#add({ type: "blockquote", tokens: [] }, depth);
      return "container";
    }
    const shape = depth < DEEPEST_BLOCK && shapes.reader?.blockAt(line, this.#links, this.#start);
    if (shape) {
      this.#add(shape, depth);
      return shape.lines ? "leaf" : "container";
    }
    const leaf = this.#underlined(container, line) ?? leafAt(line, isText(tip));
    if (leaf) {
      this.#add(leaf, depth);
      if (!leaf.lines && leaf.type !== "table") this.#open.pop();
      if (leaf.type === "html") this.#addText(line);
      return "leaf";
    }
    return depth < DEEPEST_BLOCK && this.#beginItem(line, container, depth) ? "container" : null;
  }

  /**
   * Make a paragraph a heading, or its last line the header of a table, if the next line says so.
   * @param {Block} paragraph or another block @param {Line} line @returns {Block | null}
   */
  #underlined(paragraph, { content }) {
    if (paragraph.type !== "paragraph") return null;
    if (UNDERLINE.test(content)) {
      this.#define(paragraph);
      const text = blockText(paragraph.lines);
      if (text) {
        paragraph.lines = [];
        return { type: "heading", depth: content[0] === "=" ? 1 : 2, text, at: paragraph.at };
      }
    }
    return this.#tables.begin(paragraph.lines, content, this.#lastStart);
  }

  /** @param {Line} line @param {Block} container @param {number} depth */
  #beginItem(line, container, depth) {
    const found = itemAt(line, isText(container));
    if (!found) return false;
    const { kind, number, width } = found;
    if (container.kind !== kind) {
      this.#add({ type: "list", kind, ordered: !!number, start: Number(number), items: [] }, depth);
      depth = this.#open.length;
    }
    this.#add({ type: "item", width, tokens: [] }, depth);
    return true;
  }

  /** Add the rest of the line to the innermost open block. @param {Line} line */
  #addText({ content, rest }) {
    const tip = this.#tip;
    if (tip.type === "table") this.#tables.addRow(tip, content);
    else if (tip.lines) {
      tip.lines.push(tip.type === "paragraph" ? content : rest);
      const isOver = tip.end && content.toLowerCase().includes(tip.end);
      if (isOver || tip.lines.length > (tip.most ?? Infinity)) {
        tip.end = "";
        this.#close(this.#open.length - 1);
      }
    } else if (content) {
      this.#add({ type: "paragraph", lines: [content], text: "" }, this.#open.length);
    }
  }

  /** @param {Block} block @param {number} depth how many open blocks may contain it */
  #add(block, depth) {
    this.#close(depth);
    const place = block.type === "item" ? "items" : "tokens";
    while (!this.#tip[place]) this.#close(this.#open.length - 1);
    const parent = this.#tip;
    const siblings = /** @type {(Block | Token)[]} */ (parent[place]);
    if (siblings.length && this.#blankFrom < this.#open.length) {
      if (parent.items) parent.loose = true;
      else if (parent.type === "item") this.#open[this.#open.length - 2].loose = true;
    }
    block.at ??= this.#start;
    siblings.push(block);
    this.#open.push(block);
  }

  /** @param {number} depth how many blocks stay open */
  #close(depth) {
    while (this.#open.length > depth) {
      const block = /** @type {Block} */ (this.#open.pop());
      if (block.type === "paragraph") this.#define(block);
      finishBlock(block);
      if (block.type === "paragraph" && !block.text) this.#tip.tokens?.pop();
    }
  }

  /**
   * Remove the definitions of links from a paragraph, and read them.
   * @param {Block & { lines: string[] }} paragraph
   */
  #define(paragraph) {
    if (paragraph.lines[0]?.[0] !== "[") return;
    const text = paragraph.lines.join("\n");
    const block = this.#open[1] ?? paragraph;
    let at = 0;
    for (let found; (found = definitionAt(text, at)); at = found.end) {
      const { tag, href, title } = found;
      if (!this.#links.has(tag)) this.#links.set(tag, { href, title, at: block.at });
    }
    if (at) paragraph.lines = at < text.length ? text.slice(at).split("\n") : [];
  }
}
