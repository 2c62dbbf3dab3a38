// @ts-check
/**
 * Markdown as models write it: CommonMark with the tables, task lists, strikethrough and bare links of GitHub, and with
 * each line break kept. Reads only: a list of tokens, each with the `raw` text that it was.
 */

/** @typedef {{ type: string, raw?: string, text?: any, tokens?: Token[], [key: string]: any }} Token */
/** @typedef {Map<string, { href: string, title?: string }>} Links */

const BLANK = /(?:[ \t]*(?:\n|$))+/y;
const INDENTED = /(?:(?: {4}| {0,3}\t)[^\n]*[^\s][^\n]*(?:\n|$)(?:[ \t]*\n(?=(?:[ \t]*\n)*(?: {4}| {0,3}\t)))*)+/y;
const FENCED = /( {0,3})(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})([^\n]*)(?:\n|$)([\s\S]*?)(?:(?<=\n) {0,3}\2[`~]*[ \t]*(?:\n|$)|$)/y;
const HEADING = / {0,3}(#{1,6})(?:[ \t]+([^\n]*?))??(?:[ \t]+#+)?[ \t]*(?:\n|$)/y;
const RULE = / {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n|$)/y;
const ITEM = /( {0,3})([*+-]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*(?=\n|$))/y;
const DEFINITION = / {0,3}\[((?:\\.|[^[\]\\])+)\]:[ \t]*\n?[ \t]*(<[^<>\n]*>|[^<\s]\S*)(?:[ \t]*(?:[ \t]|\n)[ \t]*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?[ \t]*(?:\n|$)/y;
const TABLE = / {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*(?:\n|$)/y;
const UNDERLINE = / {0,3}(=+|-+)[ \t]*(?:\n|$)/y;
/** Until an empty line. */
const REST = "(?:\\n(?![ \\t]*(?:\\n|$))[^\\n]*)*(?:\\n|$)";
const HTML = new RegExp(
  " {0,3}(?:<(script|pre|style|textarea)(?=[\\s>])[\\s\\S]*?(?:</\\1>[^\\n]*(?:\\n|$)|$)|<!--(?:-?>|[\\s\\S]*?(?:-->|$))[^\\n]*(?:\\n|$)" +
    "|<\\?[\\s\\S]*?(?:\\?>\\n*|$)|<![A-Za-z][\\s\\S]*?(?:>\\n*|$)|<!\\[CDATA\\[[\\s\\S]*?(?:\\]\\]>\\n*|$)" +
    `|</?(?:address|article|aside|base|blockquote|body|center|details|dialog|div|dl|dt|dd|fieldset|figure|footer|form|frame|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|meta|nav|ol|option|p|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)(?=[ \\t]|\\n|/?>)[^\\n]*${REST})`,
  "iy",
);
const ATTRIBUTES = `(?:\\s+[a-zA-Z:_][\\w.:-]*(?:\\s*=\\s*(?:"[^"]*"|'[^']*'|[^\\s"'=<>\`]+))?)*\\s*`;
const LONE_TAG = new RegExp(` {0,3}(?:<(?!script|pre|style|textarea)[a-z][\\w-]*${ATTRIBUTES}/?>|</(?!script|pre|style|textarea)[a-z][\\w-]*\\s*>)[ \\t]*(?=\\n|$)${REST}`, "iy");
/** Each short row is filled up to them. */
const MAX_COLUMNS = 100;
/** Of quotes and items, before what is in them. */
const MARKERS = /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])(?=[ \t])))*[ \t]*/;
/** What ends a paragraph without an empty line. */
const INTERRUPTS = [RULE, / {0,3}#{1,6}(?:[ \t]|\n|$)/y, / {0,3}>/y, / {0,3}(?:`{3,}(?=[^`\n]*(?:\n|$))|~{3,})/y, / {0,3}(?:[*+-]|1[.)])[ \t]+\S/y, HTML];

/** @param {RegExp} pattern @param {string} text @param {number} at */
function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** @param {string} text @param {Links} links what is defined here is added to them @returns {Token[]} */
export function lex(text, links) {
  const tokens = blocks(text, links, true);
  inline(tokens, links);
  return tokens;
}

/** @param {string} text @param {Links} links @param {boolean} top is it no part of a list item? @returns {Token[]} */
function blocks(text, links, top) {
  /** @type {Token[]} */
  const tokens = [];
  let at = 0;
  while (at < text.length) {
    const token = blockAt(text, at, links, top);
    token.raw = text.slice(at, token.end);
    at = token.end;
    tokens.push(token);
  }
  return tokens;
}

/** @param {string} text @param {number} at @param {Links} links @param {boolean} top @returns {any} with the `end` of the block */
function blockAt(text, at, links, top) {
  const next = (/** @type {RegExp} */ pattern) => matchAt(pattern, text, at);
  let found = next(BLANK);
  if (found) return { type: "space", end: at + found[0].length };
  if ((found = next(INDENTED))) {
    return { type: "code", text: found[0].replace(/^(?: {4}| {0,3}\t)/gm, "").replace(/\n+$/, ""), end: at + found[0].length };
  }
  if ((found = next(FENCED))) {
    const [whole, indent, , info, code] = found;
    const text = indent ? code.replace(new RegExp(`^ {1,${indent.length}}`, "gm"), "") : code;
    return { type: "code", lang: unescaped(info.trim()), text: text.replace(/\n$/, ""), end: at + whole.length };
  }
  if ((found = next(HEADING))) return { type: "heading", depth: found[1].length, text: found[2] ?? "", end: at + found[0].length };
  if ((found = next(RULE))) return { type: "hr", end: at + found[0].length };
  if (/ {0,3}>/y.test(text.slice(at, at + 4))) return quoteAt(text, at, links);
  if (next(ITEM)) return listAt(text, at, links);
  if ((found = next(HTML) ?? next(LONE_TAG))) return { type: "html", text: found[0].trimEnd(), end: at + found[0].length };
  if ((found = next(DEFINITION))) {
    const tag = keyOf(found[1]);
    const link = { href: unescaped(found[2].replace(/^<(.*)>$/, "$1")), title: found[3] && unescaped(found[3].slice(1, -1)) };
    if (!links.has(tag)) links.set(tag, link);
    return { type: "def", tag, end: at + found[0].length };
  }
  return tableAt(text, at) ?? paragraphAt(text, at, top);
}

/** @param {string} text @param {number} at */
function lineEnd(text, at) {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

/** @param {string} text @param {number} at */
function interrupts(text, at) {
  return matchAt(BLANK, text, at) || INTERRUPTS.some((pattern) => matchAt(pattern, text, at)) || tableAt(text, at);
}

/** @param {string} text @param {number} at @param {boolean} top */
function paragraphAt(text, at, top) {
  let end = lineEnd(text, at);
  for (;;) {
    const underline = end < text.length && matchAt(UNDERLINE, text, end);
    if (underline) {
      return { type: "heading", depth: underline[1][0] === "=" ? 1 : 2, text: trimmed(text.slice(at, end)), end: end + underline[0].length };
    }
    if (end >= text.length || interrupts(text, end)) break;
    end = lineEnd(text, end);
  }
  return { type: top ? "paragraph" : "text", text: trimmed(text.slice(at, end)), end };
}

/** @param {string} text */
function trimmed(text) {
  let end = text.length;
  while (end && " \t\n".includes(text[end - 1])) end--; // a pattern would look again from each blank
  return text.slice(0, end).replace(/^[ \t]+/, "").replace(/\n[ \t]+/g, "\n");
}

/** @param {string} text @param {number} at @param {Links} links */
function quoteAt(text, at, links) {
  const lazy = new Lazy();
  let end = at;
  let inside = "";
  while (end < text.length) {
    const next = lineEnd(text, end);
    const line = text.slice(end, next);
    const quoted = /^ {0,3}> ?/.exec(line);
    // A paragraph may go on without its ">".
    if (!quoted && (interrupts(text, end) || matchAt(ITEM, text, end) || !lazy.goesOn)) break;
    const rest = line.slice(quoted?.[0].length ?? 0);
    if (quoted) lazy.read(rest);
    inside += quoted ? rest : rest.trimStart();
    end = next;
  }
  return { type: "blockquote", tokens: blocks(inside, links, true), end };
}

/**
 * Could a line go on with the last paragraph of what is read line by line, however deep that is? Knows it from the last
 * line alone, and whether a fence is open: to read all that came before it again would take for ever.
 */
class Lazy {
  #fence = "";
  #goesOn = false;

  /** @param {string} line */
  read(line) {
    const text = line.replace(MARKERS, "");
    const fence = /^(?:`{3,}|~{3,})/.exec(text)?.[0] ?? "";
    if (this.#fence) this.#fence = fence.startsWith(this.#fence) ? "" : this.#fence;
    else this.#fence = fence;
    this.#goesOn = !this.#fence && !fence && text.trim() !== "" && !/^ {4}/.test(line) && ![RULE, / {0,3}#{1,6}(?:[ \t]|\n|$)/y].some((one) => matchAt(one, text, 0));
  }

  get goesOn() {
    return this.#goesOn;
  }
}

/** @param {string} text @param {number} at @param {Links} links */
function listAt(text, at, links) {
  const [, , first] = /** @type {RegExpExecArray} */ (matchAt(ITEM, text, at));
  const kind = first.at(-1);
  const items = [];
  let loose = false;
  let end = at;
  for (;;) {
    const found = end < text.length && matchAt(ITEM, text, end);
    if (!found || found[2].at(-1) !== kind || (items.length && matchAt(RULE, text, end))) break;
    const item = itemAt(text, end, found, links);
    if (items.length && items.at(-1).blank) loose = true;
    items.push(item);
    end = item.end;
    if (item.blank) {
      const after = /** @type {RegExpExecArray} */ (matchAt(BLANK, text, end));
      const more = matchAt(ITEM, text, end + after[0].length);
      if (!more || more[2].at(-1) !== kind || matchAt(RULE, text, end + after[0].length)) break;
      end += after[0].length;
    }
  }
  loose ||= items.some(({ tokens }) => tokens.some(({ type, raw }, index) => type === "space" && index > 0 && index < tokens.length - 1 && /\n/.test(raw ?? "")));
  for (const { tokens, task, checked } of items) {
    for (const token of tokens) if (loose && token.type === "text") token.type = "paragraph";
    if (!task) continue;
    const box = { type: "checkbox", checked };
    if (loose && tokens[0]?.type === "paragraph") tokens[0].box = box;
    else tokens.unshift(box);
  }
  return { type: "list", ordered: kind === "." || kind === ")", start: parseInt(first), items, end };
}

/** @param {string} text @param {number} at @param {RegExpExecArray} found @param {Links} links */
function itemAt(text, at, [marker, before, bullet, gap = ""], links) {
  const columns = gap.replace(/\t/g, "    ").length;
  const indent = before.length + bullet.length + (columns > 4 || !gap ? 1 : columns);
  let end = lineEnd(text, at);
  let inside = (columns > 4 ? gap.slice(1) : "") + text.slice(at + marker.length, end);
  let blank = !inside.trim();
  let blankEnd = end;
  const lazy = new Lazy();
  lazy.read(inside);
  while (end < text.length) {
    const next = lineEnd(text, end);
    const line = text.slice(end, next);
    const width = /^[ \t]*/.exec(line.replace(/\t/g, "    "))?.[0].length ?? 0;
    if (!line.trim()) {
      if (!inside.trim()) break;
      blank = true;
      inside += "\n";
      end = next;
      continue;
    }
    if (width >= indent) {
      const rest = line.replace(/\t/g, "    ").slice(indent);
      inside += rest;
      lazy.read(rest);
    }
    else if (blank || matchAt(ITEM, text, end) || /^ {0,3}(?:```|~~~)/.test(line) || INTERRUPTS.some((pattern) => matchAt(pattern, text, end)) || !lazy.goesOn) break;
    else inside += line.trimStart();
    blank = false;
    end = blankEnd = next;
  }
  const task = /^\[([ xX])\][ \t]+(?=\S)/.exec(inside);
  const content = inside.replace(/\n+$/, "");
  const tokens = blocks(content, links, false);
  const isTask = task && tokens[0].type === "text";
  if (isTask) tokens[0].text = tokens[0].text.slice(task[0].length);
  return { task: isTask, checked: task?.[1] !== " ", tokens, blank: blank && blankEnd < end, end: blankEnd };
}

/** @param {string} text @param {number} at */
function tableAt(text, at) {
  let end = lineEnd(text, at);
  const line = text.slice(at, end);
  if (!line.includes("|") || line.startsWith("    ")) return null;
  const rule = matchAt(TABLE, text, end);
  if (!rule || !/[|:]/.test(rule[0])) return null;
  const aligns = cellsOf(rule[0]).map((cell) => (/^:.*:$/.test(cell) ? "center" : cell.endsWith(":") ? "right" : cell.startsWith(":") ? "left" : null));
  const header = cellsOf(line);
  if (header.length !== aligns.length || header.length > MAX_COLUMNS) return null;
  const row = (/** @type {string[]} */ cells) => aligns.map((align, index) => ({ text: cells[index] ?? "", align }));
  const rows = [];
  end += rule[0].length;
  while (end < text.length && !matchAt(BLANK, text, end) && !INTERRUPTS.some((pattern) => matchAt(pattern, text, end)) && !matchAt(/ {4}/y, text, end)) {
    const next = lineEnd(text, end);
    rows.push(row(cellsOf(text.slice(end, next))));
    end = next;
  }
  return { type: "table", header: row(header), rows, end };
}

/** @param {string} line */
function cellsOf(line) {
  const cells = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

// --- Inside blocks: after all of them, for a link may be defined below

/** @param {Token[]} tokens @param {Links} links */
function inline(tokens, links) {
  for (const token of tokens) {
    if (["paragraph", "heading", "text"].includes(token.type)) token.tokens = [...(token.box ? [token.box] : []), ...spans(token.text, links)];
    else if (token.tokens) inline(token.tokens, links);
    for (const { tokens } of token.items ?? []) inline(tokens, links);
    for (const cell of [...(token.header ?? []), ...(token.rows ?? []).flat()]) cell.tokens = spans(cell.text, links);
  }
}

const CODE = /(`+)(?!`)([\s\S]*?[^`])\1(?!`)/y;
const AUTOLINK = /<(?:([a-z][a-z\d+.-]{1,31}:[^\s<>]*)|([\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(?:\.[a-z\d-]+)+))>/iy;
const TAG = new RegExp(`<!--(?:-?>|[\\s\\S]*?-->)|<\\?[\\s\\S]*?\\?>|<![a-z]+\\s[\\s\\S]*?>|<!\\[CDATA\\[[\\s\\S]*?\\]\\]>|</[a-z][\\w:-]*\\s*>|<[a-z][\\w-]*${ATTRIBUTES}/?>`, "iy");
const URL_TEXT = /(?:(?:https?|ftp):\/\/|www\.)(?:[^\s<]+)/iy;
const EMAIL = /(?:mailto:)?[a-z\d.+_-]{1,64}@[a-z\d_-]+(?:\.[a-z\d_-]*[a-z\d])+(?![-_])/iy;
const TARGET = /\([ \t\n]*(<(?:\\.|[^\n<>\\])*>|(?:\\.|[^\s\\()]|\((?:\\.|[^\s\\()]|\((?:\\.|[^\s\\()])*\))*\))*)(?:\s+("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)/y;
const LABEL = /\[((?:\\.|[^[\]\\])*)\]/y;
const PUNCTUATION = /[\p{P}\p{S}]/u;

/** @param {string} text @param {Links} links @returns {Token[]} */
function spans(text, links) {
  /** @type {any[]} tokens, and marks that may become emphasis or links */
  const out = [];
  /** @type {number[]} */
  const openers = [];
  let at = 0;
  const put = (/** @type {any} */ token, /** @type {number} */ length) => {
    out.push(token);
    at += length;
  };
  while (at < text.length) {
    const character = text[at];
    const next = (/** @type {RegExp} */ pattern) => matchAt(pattern, text, at);
    let found;
    if (character === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) put({ type: "escape", text: text[at + 1] }, 2);
    else if (character === " " && (found = next(/ +(?![ \n])/y))) put(plain(found[0]), found[0].length);
    else if ((found = next(/(?: {2,}|\\)?\n[ \t]*| +\n[ \t]*/y))) put({ type: "br" }, found[0].length);
    else if (character === "`") {
      if ((found = next(CODE))) put({ type: "codespan", text: codeText(found[2]) }, found[0].length);
      else put(plain((found = /** @type {any} */ (next(/`+/y)))[0]), found[0].length);
    } else if (character === "<" && (found = next(AUTOLINK))) {
      const href = found[1] ?? `mailto:${found[2]}`;
      put({ type: "link", href, text: found[1] ?? found[2], autolink: true }, found[0].length);
    } else if (character === "<" && (found = next(TAG))) put({ type: "html", text: found[0] }, found[0].length);
    else if ((found = next(/\*+|_+|~+/y))) put(markOf(found[0], text[at - 1], text[at + found[0].length]), found[0].length);
    else if (character === "[" || text.startsWith("![", at)) {
      openers.push(out.length);
      put({ type: "text", text: character === "[" ? "[" : "![", at: text.indexOf("[", at) }, character === "[" ? 1 : 2);
    } else if (character === "]") at = closeBracket(out, openers, text, at, links);
    else if (!/[a-z\d]/i.test(text[at - 1] ?? " ") && (found = urlAt(text, at))) put(found.token, found.length);
    else put(plain((found = /** @type {any} */ (next(/[a-z\d]+|[^a-z\d]/iy)))[0]), found[0].length);
  }
  return settled(out, 0);
}

/** @param {string} text */
const plain = (text) => ({ type: "text", text });

/** @param {string} text */
function codeText(text) {
  const line = text.replace(/\n/g, " ");
  return /^ .*[^ ].* $/.test(line) ? line.slice(1, -1) : line;
}

/** @param {string} text @param {number} at */
function urlAt(text, at) {
  let found = matchAt(URL_TEXT, text, at);
  if (found) {
    let [url] = found;
    // Brackets are counted once: many at the end are cut off one by one.
    for (let depth = count(url, "(") - count(url, ")"); ; ) {
      const tail = /(?:[?!.,:;*_'"~(]|&[a-z\d]{1,31};)$/i.exec(url.slice(-34))?.[0];
      if (tail) {
        url = url.slice(0, -tail.length);
        if (tail === "(") depth--;
      } else if (depth < 0 && url.endsWith(")")) {
        url = url.slice(0, -1);
        depth++;
      } else if (depth > 0) {
        const last = url.lastIndexOf("(");
        depth -= 1 - count(url.slice(last), ")");
        url = url.slice(0, last);
      } else break;
    }
    const href = /^www/i.test(url) ? `http://${url}` : url;
    return { token: { type: "link", href, text: url, autolink: true }, length: url.length };
  }
  found = matchAt(EMAIL, text, at);
  return found && { token: { type: "link", href: found[0].replace(/^(?!mailto:)/i, "mailto:"), text: found[0], autolink: true }, length: found[0].length };
}

/** @param {string} text @param {string} character */
const count = (text, character) => text.split(character).length - 1;

/** A run of stars, underscores or tildes: may it open or close emphasis? @param {string} text @param {string} before @param {string} after */
function markOf(text, before = " ", after = " ") {
  const mark = text[0];
  const [spaceBefore, spaceAfter] = [/\s/.test(before), /\s/.test(after)];
  const [pointBefore, pointAfter] = [PUNCTUATION.test(before), PUNCTUATION.test(after)];
  const left = !spaceAfter && (!pointAfter || spaceBefore || pointBefore);
  const right = !spaceBefore && (!pointBefore || spaceAfter || pointAfter);
  if (mark === "~") return { type: "text", text, mark: text.length < 3 && mark, opens: left, closes: right, size: text.length };
  const opens = left && (mark === "*" || !right || pointBefore);
  const closes = right && (mark === "*" || !left || pointAfter);
  return { type: "text", text, mark, opens, closes, size: text.length };
}

/** Is there a link or an image that ends here? @param {any[]} out @param {number[]} openers where in it brackets are open @param {string} text @param {number} at @param {Links} links @returns {number} where to go on */
function closeBracket(out, openers, text, at, links) {
  const index = openers.pop() ?? -1;
  const opener = out[index];
  const found = opener && !opener.dead && targetAt(text, opener.at, at, links);
  if (!found) {
    out.push(plain("]"));
    return at + 1;
  }
  const tokens = settled(out.splice(index), 1);
  const isImage = opener.text === "![";
  out.push({ type: isImage ? "image" : "link", href: found.href, title: found.title, text: text.slice(opener.at + 1, at), tokens });
  // No link in a link.
  if (!isImage) for (const one of openers) if (out[one].text === "[") out[one].dead = true;
  return found.end;
}

/** @param {string} text @param {number} from @param {number} at @param {Links} links */
function targetAt(text, from, at, links) {
  const target = matchAt(TARGET, text, at + 1);
  if (target) {
    const href = unescaped((target[1] ?? "").replace(/^<(.*)>$/, "$1"));
    return { href, title: target[2] && unescaped(target[2].slice(1, -1)), end: at + 1 + target[0].length };
  }
  const label = matchAt(LABEL, text, at + 1);
  const key = keyOf(label?.[1] || text.slice(from + 1, at));
  const link = links.get(key);
  return link ? { ...link, end: at + 1 + (label?.[0].length ?? 0) } : null;
}

/** Turn marks that belong together into emphasis, and all others into text. @param {any[]} out @param {number} start @returns {Token[]} */
function settled(out, start) {
  const list = out.slice(start);
  /** Up to where there is nothing for a mark of that kind. @type {Record<string, number>} */
  const floor = {};
  for (let index = 0; index < list.length; index++) {
    const closer = list[index];
    if (!closer.mark || !closer.closes) continue;
    const kind = closer.mark + closer.opens + (closer.text.length % 3);
    let from = index - 1;
    while (from >= (floor[kind] ?? 0) && !pairs(list[from], closer)) from--;
    if (from < (floor[kind] ?? 0)) {
      floor[kind] = index;
      continue;
    }
    const opener = list[from];
    const size = closer.mark === "~" ? closer.size : Math.min(2, opener.size, closer.size);
    const tokens = merged(list.slice(from + 1, index));
    const span = { type: closer.mark === "~" ? "del" : size === 2 ? "strong" : "em", tokens };
    for (const one of [opener, closer]) {
      one.size -= size;
      one.text = one.text.slice(size);
    }
    const rest = [...(opener.size ? [opener] : []), span, ...(closer.size ? [closer] : [])];
    list.splice(from, index - from + 1, ...rest);
    index = from + rest.length - 1 - (closer.size ? 1 : 0);
  }
  return merged(list);
}

/** @param {any} one @param {any} closer */
function pairs(one, closer) {
  if (one.mark !== closer.mark || !one.opens || !one.size) return false;
  if (one.mark === "~") return one.size === closer.size;
  // As CommonMark has it, so that one run does not take what belongs to another.
  return !((one.closes || closer.opens) && (one.text.length + closer.text.length) % 3 === 0 && (one.text.length % 3 || closer.text.length % 3));
}

/** @param {any[]} list @returns {Token[]} */
function merged(list) {
  /** @type {Token[]} */
  const tokens = [];
  for (const one of list) {
    const last = tokens.at(-1);
    if (one.type === "text" && last?.type === "text") last.text += one.text;
    else tokens.push(one.type === "text" ? plain(one.text) : one);
  }
  return tokens;
}

/** @param {string} text */
function unescaped(text) {
  return text.replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** @param {string} label */
function keyOf(label) {
  return label.trim().toLowerCase().replace(/\s+/g, " ");
}
