// @ts-check
/**
 * Raw HTML in Markdown: what it is, and which of it becomes elements; and addresses in angle
 * brackets. Loaded with the first "<" before a letter.
 */

/** @typedef {import("./lexer.js").Block} Block */
/** @typedef {import("./nodes.js").Element} Element */
/** @typedef {import("./nodes.js").Node} Node */

const VALUE = `(?:"[^"]*"|'[^']*'|[^\\s"'=<>\`]+)`;
const ATTRIBUTES = `(?:\\s+[a-zA-Z:_][\\w.:-]*(?:\\s*=\\s*${VALUE})?)*\\s*`;
const TAG = new RegExp(`</[a-z][\\w-]*\\s*>|<[a-z][\\w-]*${ATTRIBUTES}/?>`, "iy");
/** The beginnings of raw HTML that is not a tag, and their ends. */
const RAW = [
  ["<!-->", ""],
  ["<!--->", ""],
  ["<!--", "-->"],
  ["<?", "?>"],
  ["<![CDATA[", "]]>"],
  ["<!", ">"],
];

const URL_IN_BRACKETS = /<([a-z][a-z\d+.-]{1,31}:[^\s<>]*)>/iy;
const MAIL_IN_BRACKETS = /<([\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d-]+(?:\.[a-z\d-]+)+)>/iy;

const HTML_NAMES =
  "address|article|aside|base|blockquote|body|center|details|dialog|div|dl|dt|dd|" +
  "fieldset|figure|footer|form|frame|h[1-6]|head|header|hr|html|iframe|legend|li|link|" +
  "main|menu|meta|nav|ol|option|p|search|section|summary|table|tbody|td|tfoot|th|thead|" +
  "title|tr|ul";
const HTML_BLOCK = new RegExp(`^</?(?:${HTML_NAMES})(?=\\s|/?>|$)`, "i");
const VERBATIM = /^<(script|pre|style|textarea)(?=[\s>]|$)/i;

/** Bare tags that only format. */
const BARE_TAG =
  /^<(\/?)(br|b|i|u|s|em|strong|del|mark|kbd|sub|sup|ul|ol|li|details|summary)\s*\/?>$/i;
/** The deepest nesting of tags: the functions that walk the tree are recursive. */
const DEEPEST = 100;

/** The tag that begins there, or "". @param {string} text @param {number} at */
function tagAt(text, at) {
  TAG.lastIndex = at;
  return TAG.exec(text)?.[0] ?? "";
}

/**
 * Find the raw HTML without a tag that begins here, and its end.
 * @param {string} text @param {number} at
 */
function rawAt(text, at) {
  const isDeclaration = /[a-z]/i.test(text[at + 2] ?? "");
  return RAW.find(([begin]) => text.startsWith(begin, at) && (begin !== "<!" || isDeclaration));
}

/**
 * @param {string} rest of a line
 * @param {boolean} isInText whether a paragraph is open, which a single tag
 *   can't interrupt
 * @returns {Block | null}
 */
export function htmlBlock(rest, isInText) {
  const name = VERBATIM.exec(rest)?.[1];
  const end = name ? `</${name.toLowerCase()}>` : rawAt(rest, 0)?.[1];
  const isTag = () => !isInText && rest.trimEnd() === tagAt(rest, 0);
  const begins = end || HTML_BLOCK.test(rest) || isTag();
  return begins ? { type: "html", end, lines: [], text: "" } : null;
}

/**
 * The length of the HTML that begins there within a text; 0 if none does.
 * @param {string} text @param {number} at @param {Set<string>} missing ends that don't occur again
 */
export function htmlLength(text, at, missing) {
  const raw = rawAt(text, at);
  const end = raw && !missing.has(raw[1]) ? text.indexOf(raw[1], at + raw[0].length) : -1;
  if (raw && end >= 0) return end + raw[1].length - at;
  if (raw) missing.add(raw[1]);
  return tagAt(text, at).length;
}

/**
 * The link in angle brackets that begins there.
 * @param {string} text @param {number} at @returns {import("./spans.js").Span | null}
 */
export function bracketedAt(text, at) {
  URL_IN_BRACKETS.lastIndex = MAIL_IN_BRACKETS.lastIndex = at;
  const url = URL_IN_BRACKETS.exec(text)?.[1];
  const shown = url ?? MAIL_IN_BRACKETS.exec(text)?.[1];
  if (!shown) return null;
  const href = url ?? `mailto:${shown}`;
  return { type: "link", href, text: shown, autolink: true, length: shown.length + 2 };
}

/**
 * Add raw HTML to the innermost open element. Bare tags that only format are elements, all others
 * are readable text.
 * @param {string} text @param {Element[]} stack of open elements
 * @param {(node: Node) => void} add
 * @param {(text: string) => string} decoded
 */
export function addHtml(text, stack, add, decoded) {
  for (const piece of text.split(/(<[^>]*>?)/)) {
    const [, end, name] = BARE_TAG.exec(piece) ?? [];
    const tag = name?.toLowerCase();
    if (!tag) add(piece.startsWith("<") ? piece : decoded(piece));
    else if (tag === "br") add(["br", {}, []]);
    else if (!end) {
      if (tag === "li" && stack.at(-1)?.[0] === "li") stack.pop(); // it needs no end
      /** @type {Element} */
      const node = [tag, {}, []];
      add(node);
      if (stack.length < DEEPEST) stack.push(node);
    } else {
      const at = stack.findLastIndex(([open]) => open === tag);
      if (at > 0) stack.length = at;
    }
  }
}
