// @ts-check
/** The reader of what few texts have, which is loaded with the first text that has a sign of it. */

/** A formula, a note, or a letter or punctuation of Chinese, Japanese and Korean. */
export const SIGNS =
  /\$|\\[([b]|\[\^|[\u1100-\u11ff\u2e80-\ufdff\ufe10-\u{1f265}\u{20000}-\u{3fffd}]/u;

/**
 * The reader, if it is loaded and the current text has a sign.
 * @type {{ reader: typeof import("./shapes.js") | null }}
 */
export const shapes = { reader: null };
