// @ts-check
/** Emphasis in Markdown: find the stars, underscores and tildes that belong together. */

/** @typedef {import("./lexer.js").Token} Token */
/** @typedef {import("../types.d.ts").Mark} Mark */

const BLANK = 1;
const POINT = 2;
/** The deepest emphasis: the functions that walk the tree are recursive. */
export const DEEPEST_SPAN = 100;

/** @param {string} text @returns {Token} */
export const plain = (text) => ({ type: "text", text });

/** @param {string} character */
function kindOf(character) {
  if (/[a-z\d]/i.test(character)) return 0;
  if (/\s/.test(character)) return BLANK;
  return /[\p{P}\p{S}]/u.test(character) ? POINT : 0;
}

/**
 * Describe a run of stars, underscores or tildes: may it open or close emphasis?
 * @param {string} text
 * @param {string} before
 * @param {string} after
 * @param {boolean} [isInWord] whether punctuation counts as a letter
 * @returns {Mark}
 */
export function markOf(text, before = " ", after = " ", isInWord = false) {
  const mark = text[0];
  const { length } = text;
  const [kindBefore, kindAfter] = [kindOf(before), kindOf(after)];
  const left = kindAfter !== BLANK && (kindAfter !== POINT || kindBefore > 0 || isInWord);
  const right = kindBefore !== BLANK && (kindBefore !== POINT || kindAfter > 0 || isInWord);
  const opens = left && (mark !== "_" || !right || kindBefore === POINT);
  const closes = right && (mark !== "_" || !left || kindAfter === POINT);
  const mayMean = mark !== "~" || length < 3;
  return { type: "text", text, mark: mayMean ? mark : "", opens, closes, length, place: 0 };
}

/**
 * Turn marks that belong together into emphasis, and all others into text.
 * @param {Token[]} list
 * @returns {Token[]}
 */
export function withEmphasis(list) {
  /** @type {Token[]} */
  const out = [];
  /** The places in `out` where emphasis may begin. @type {number[]} */
  const openers = [];
  /**
   * By the kind of a closing mark: no opener before this place in the list fits.
   * @type {Record<string, number>}
   */
  const floors = {};
  let place = 0;
  for (const token of list) {
    place++;
    if (token.mark) {
      token.place = place;
      if (token.closes) closeMark(token, out, openers, floors);
      if (!token.text) continue;
      if (token.opens) openers.push(out.length);
    }
    out.push(token);
  }
  return merged(out);
}

/**
 * Pair a mark with those before it.
 * @param {Mark} closer
 * @param {Token[]} out
 * @param {number[]} openers
 * @param {Record<string, number>} floors
 */
function closeMark(closer, out, openers, floors) {
  const kind = closer.mark + closer.opens + (closer.length % 3);
  while (closer.text) {
    let index = openers.length - 1;
    const floor = floors[kind] ?? 0;
    const opening = () => /** @type {Mark} */ (out[openers[index]]);
    const isAbove = () => index >= 0 && opening().place >= floor;
    while (isAbove() && !pairs(opening(), closer)) index--;
    if (!isAbove()) {
      floors[kind] = closer.place;
      return;
    }
    const opener = opening();
    const inside = out.slice(openers[index] + 1);
    const depth = depthOf(inside) + 1;
    if (depth > DEEPEST_SPAN) {
      openers.splice(0, index + 1); // Emphasis from outer openers would be as deep.
      continue;
    }
    const tokens = merged(inside);
    const both = Math.min(2, opener.text.length, closer.text.length);
    const size = closer.mark === "~" ? closer.length : both;
    opener.text = opener.text.slice(size);
    closer.text = closer.text.slice(size);
    out.length = openers[index] + (opener.text ? 1 : 0);
    openers.length = index + (opener.text ? 1 : 0);
    out.push({ type: closer.mark === "~" ? "del" : size === 2 ? "strong" : "em", tokens, depth });
  }
}

/** @param {Mark} opener @param {Mark} closer */
function pairs(opener, closer) {
  if (opener.mark !== closer.mark) return false;
  if (closer.mark === "~") return opener.length === closer.length;
  // CommonMark's rule of three: a run must not take the marks of another.
  const sum = opener.length + closer.length;
  return !((opener.closes || closer.opens) && sum % 3 === 0 && closer.length % 3);
}

/** @param {Token[]} tokens */
export const depthOf = (tokens) =>
  tokens.reduce((deepest, { depth = 0 }) => Math.max(deepest, depth), 0);

/** @param {Token[]} list @returns {Token[]} */
function merged(list) {
  /** @type {Token[]} */
  const tokens = [];
  for (const token of list) {
    const last = tokens.at(-1);
    if (token.type === "text" && last?.type === "text") last.text += token.text;
    else tokens.push(token.type === "text" ? plain(token.text) : token);
  }
  return tokens;
}
