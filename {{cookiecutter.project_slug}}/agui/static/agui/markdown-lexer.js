// @ts-check
/**
 * Markdown as models write it: CommonMark with GitHub's tables, task lists, strikethrough and bare
 * links. It keeps each line break. The result is a list of tokens, each with `at`, the place in the
 * text where it begins.
 *
 * The lexer reads a text once, line by line, with a stack of open blocks, so its time is linear in
 * the length of the text. https://spec.commonmark.org/0.31.2/#appendix-a-parsing-strategy
 */
import { alignOf, cellsOf, finishBlock, headingText, isText, blockText, withoutEnd } from "./markdown-blocks.js";
import { definitionAt, readInline, readerOfHtml } from "./markdown-spans.js";

/** @typedef {{ type: string, at?: number, text?: any, tokens?: Token[], [key: string]: any }} Token */
/** @typedef {Map<string, { href: string, title?: string, at?: number }>} Links the address of each link, and where the text defines it */
/** @typedef {any} Block a token that may still grow */

const RULE = /^(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const FENCE = /^(?:(`{3,})([^`]*)|(~{3,})([^]*))$/;
const MARKER = /^(?:[*+-]|(\d{1,9})[.)])(?=[ \t]|$)/;
const DELIMITERS = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;
/** The deepest blocks within blocks. Deeper quotes and lists are text. */
const DEEPEST_BLOCK = 60;
const MAX_COLUMNS = 100;
/** The most cells that the lexer adds to short rows, in all. */
const MAX_ADDED_CELLS = 10_000;

/** @param {string} text @param {Links} links receives its definitions @returns {Token[]} */
export function lex(text, links) {
  const { tokens } = new BlockReader(links).read(text);
  readInline(tokens, links);
  return tokens;
}

class BlockReader {
  #links;
  /** @type {Block[]} the whole text, then its open blocks, each inside the one before */
  #open = [{ type: "root", tokens: [] }];
  /** Where this line and the line before it begin in the text. */
  #start = 0;
  #lastStart = 0;
  #line = "";
  /** The unread part of the line: its characters from `#at`. The first may be a tab with `#pad` columns left. */
  #at = 0;
  #pad = 0;
  #column = 0;
  /** The blank columns before the rest of the unread part, and where that begins. */
  #indent = 0;
  #next = 0;
  /** From this depth on, the line before was blank. */
  #blankFrom = Infinity;
  #addedCells = 0;

  /** @param {Links} links */
  constructor(links) {
    this.#links = links;
  }

  /** @param {string} text @returns {Block} */
  read(text) {
    const [root] = this.#open;
    const lines = text.split("\n");
    if (!lines.at(-1)) lines.pop();
    for (const line of lines) {
      this.#readLine(line);
      this.#lastStart = this.#start;
      this.#start += line.length + 1;
    }
    this.#close(0);
    return root;
  }

  /** @param {string} line */
  #readLine(line) {
    this.#line = line;
    this.#at = this.#pad = this.#column = 0;
    this.#look();
    let depth = this.#goOn();
    if (!depth) return;
    const last = this.#open[depth - 1];
    while (!["code", "html"].includes(this.#open[depth - 1].type) && !this.#open[depth - 1].end) {
      const begun = this.#begin(depth);
      if (!begun) break;
      this.#blankFrom = Infinity;
      if (begun === "leaf") return;
      depth = this.#open.length;
    }
    this.#look();
    const [container, tip, isBlank] = [this.#open[depth - 1], this.#open.at(-1), this.#isBlank];
    if (tip !== container && tip.type === "paragraph" && !isBlank) tip.lines.push(line.slice(this.#next)); // lazily
    else {
      this.#close(depth);
      this.#addText();
    }
    const separates = isBlank && container === last && !container.fence && container.type !== "html";
    this.#blankFrom = separates ? this.#open.findLastIndex(({ type }, index) => index < depth && type === "blockquote") : Infinity;
  }

  /** Find the open blocks that the line continues, and read past their markers. @returns {number} how many, or 0 if the whole line was read */
  #goOn() {
    let depth = 1;
    for (; depth < this.#open.length; depth++) {
      const block = this.#open[depth];
      this.#look();
      if (block.type === "blockquote") {
        if (this.#indent > 3 || this.#line[this.#next] !== ">") break;
        this.#skipQuoteMark();
      } else if (block.type === "item") {
        if (this.#isBlank ? !block.tokens.length : this.#indent < block.width) break;
        this.#skip(Math.min(this.#indent, this.#isBlank ? Infinity : block.width));
      } else if (block.fence) {
        const rest = this.#line.slice(this.#next);
        if (this.#indent < 4 && rest.startsWith(block.fence) && !withoutEnd(rest, ` \t${block.fence[0]}`)) {
          this.#close(depth);
          this.#blankFrom = Infinity;
          return 0;
        }
        this.#skip(Math.min(this.#indent, block.indent));
      } else if (block.type === "code") {
        if (this.#indent < 4 && !this.#isBlank) break;
        this.#skip(Math.min(this.#indent, 4));
      } else if (block.type !== "list" && this.#isBlank && !block.end) break;
    }
    return depth;
  }

  /** Begin a new block if its marker comes next. @param {number} depth how many open blocks continue @returns {"leaf" | "container" | null} */
  #begin(depth) {
    this.#look();
    const container = this.#open[depth - 1];
    const tip = this.#open.at(-1);
    if (this.#isBlank) return null;
    if (this.#indent > 3) {
      if (tip.type === "paragraph") return null;
      this.#skip(4);
      this.#add({ type: "code", lines: [this.#rest] }, depth);
      return "leaf";
    }
    const rest = this.#line.slice(this.#next);
    if (rest[0] === ">" && depth < DEEPEST_BLOCK) {
      this.#skipQuoteMark();
      this.#add({ type: "blockquote", tokens: [] }, depth);
      return "container";
    }
    const leaf = this.#leaf(rest, container, tip);
    if (leaf) {
      this.#add(leaf, depth);
      if (!leaf.lines && leaf.type !== "table") this.#open.pop();
      if (leaf.type === "html") this.#addText();
      return "leaf";
    }
    return depth < DEEPEST_BLOCK && this.#beginItem(rest, container, depth) ? "container" : null;
  }

  /** @param {string} rest of the line @param {Block} container @param {Block} tip @returns {Block | null} */
  #leaf(rest, container, tip) {
    const heading = /^#{1,6}(?=[ \t]|$)/.exec(rest);
    if (heading) return { type: "heading", depth: heading[0].length, text: headingText(rest.slice(heading[0].length)) };
    const fence = FENCE.exec(rest);
    if (fence) return { type: "code", fence: fence[1] ?? fence[3], indent: this.#indent, info: fence[2] ?? fence[4], lines: [] };
    const math = /^(?:(\$\$)|\\\[)[ \t]*$/.exec(rest);
    if (math) return { type: "paragraph", lines: [rest], end: math[1] ?? "\\]", most: 60 };
    const html = readerOfHtml(rest, 0)?.htmlBlock(rest, isText(tip));
    if (html) return html;
    if (container.type === "paragraph") {
      if (/^(?:=+|-+)[ \t]*$/.test(rest)) {
        this.#define(container);
        const text = blockText(container.lines);
        container.lines = text ? [] : container.lines;
        if (text) return { type: "heading", depth: rest[0] === "=" ? 1 : 2, text, at: container.at };
      }
      const table = DELIMITERS.test(rest) && /[|:]/.test(rest) && this.#table(container, rest);
      if (table) return table;
    }
    return RULE.test(rest) ? { type: "hr" } : null;
  }

  /** @param {string} rest @param {Block} container @param {number} depth */
  #beginItem(rest, container, depth) {
    const [marker, number] = MARKER.exec(rest) ?? [];
    if (!marker) return false;
    if (isText(container) && ((number && Number(number) !== 1) || !rest.slice(marker.length).trim())) return false;
    const indent = this.#indent;
    this.#skip(indent + marker.length);
    this.#look();
    const gap = this.#isBlank || this.#indent > 4 ? 1 : this.#indent;
    this.#skip(Math.min(gap, this.#indent));
    const kind = marker.at(-1);
    if (container.type !== "list" || container.kind !== kind) {
      this.#add({ type: "list", kind, ordered: !!number, start: Number(number), items: [] }, depth);
      depth = this.#open.length;
    }
    this.#add({ type: "item", width: indent + marker.length + gap, tokens: [] }, depth);
    return true;
  }

  /** @param {Block} paragraph its last line may be a header @param {string} delimiters @returns {Block | null} */
  #table(paragraph, delimiters) {
    const line = paragraph.lines.at(-1) ?? "";
    const cells = cellsOf(delimiters);
    const header = line.includes("|") ? cellsOf(line) : [];
    if (header.length !== cells.length || header.length > MAX_COLUMNS) return null;
    const aligns = cells.map(alignOf);
    paragraph.lines.pop();
    return { type: "table", aligns, header: this.#row(header, aligns), rows: [], at: this.#lastStart };
  }

  /** @param {string[]} cells @param {(string | null)[]} aligns */
  #row(cells, aligns) {
    this.#addedCells += Math.max(aligns.length - cells.length, 0);
    const shown = this.#addedCells > MAX_ADDED_CELLS ? aligns.slice(0, cells.length) : aligns;
    return shown.map((align, index) => ({ text: cells[index] ?? "", align }));
  }

  /** Add the rest of the line to the innermost open block. */
  #addText() {
    const tip = this.#open.at(-1);
    if (tip.type === "table") tip.rows.push(this.#row(cellsOf(this.#rest), tip.aligns));
    else if (tip.lines) {
      tip.lines.push(tip.type === "paragraph" ? this.#line.slice(this.#next) : this.#rest);
      if (tip.lines.length > tip.most || (tip.end && this.#rest.toLowerCase().includes(tip.end))) {
        tip.end = "";
        this.#close(this.#open.length - 1);
      }
    } else if (!this.#isBlank) this.#add({ type: "paragraph", lines: [this.#line.slice(this.#next)] }, this.#open.length);
  }

  /** @param {Block} block @param {number} depth how many open blocks may contain it */
  #add(block, depth) {
    this.#close(depth);
    while (block.type === "item" ? !this.#open.at(-1).items : !this.#open.at(-1).tokens) this.#close(this.#open.length - 1);
    const parent = this.#open.at(-1);
    const siblings = parent.items ?? parent.tokens;
    if (siblings.length && this.#blankFrom < this.#open.length) {
      if (parent.items) parent.loose = true;
      else if (parent.type === "item") this.#open.at(-2).loose = true;
    }
    block.at ??= this.#start;
    siblings.push(block);
    this.#open.push(block);
  }

  /** @param {number} depth how many blocks stay open */
  #close(depth) {
    while (this.#open.length > depth) {
      const block = this.#open.pop();
      if (block.type === "paragraph") {
        this.#define(block);
        block.text = blockText(block.lines);
        if (!block.text) this.#open.at(-1).tokens.pop();
      } else finishBlock(block);
    }
  }

  /** Remove the definitions of links from a paragraph, and read them. @param {Block} paragraph */
  #define(paragraph) {
    if (paragraph.lines[0]?.[0] !== "[") return;
    const text = paragraph.lines.join("\n");
    let at = 0;
    for (let found; (found = definitionAt(text, at)); at = found.end) {
      const { tag, href, title } = found;
      if (!this.#links.has(tag)) this.#links.set(tag, { href, title, at: (this.#open[1] ?? paragraph).at });
    }
    if (at) paragraph.lines = at < text.length ? text.slice(at).split("\n") : [];
  }

  #skipQuoteMark() {
    this.#skip(this.#indent + 1);
    this.#look();
    this.#skip(Math.min(this.#indent, 1));
  }

  /** Measure the blanks that come next. */
  #look() {
    let at = this.#at + (this.#pad ? 1 : 0);
    let column = this.#column + this.#pad;
    for (; this.#line[at] === " " || this.#line[at] === "\t"; at++) column += this.#line[at] === " " ? 1 : 4 - (column % 4);
    this.#next = at;
    this.#indent = column - this.#column;
  }

  /** @param {number} columns */
  #skip(columns) {
    for (const end = this.#column + columns; this.#column < end; this.#column++) {
      if (!this.#pad && this.#line[this.#at] === "\t") this.#pad = 4 - (this.#column % 4);
      else if (!this.#pad) {
        this.#at++;
        continue;
      }
      if (!--this.#pad) this.#at++;
    }
  }

  get #isBlank() {
    return this.#next >= this.#line.length;
  }

  get #rest() {
    return " ".repeat(this.#pad) + this.#line.slice(this.#pad ? this.#at + 1 : this.#at);
  }
}
