// @ts-check
/** Speech in text: the spaces around it, how long it takes, and how long the user has to wait. */

/**
 * Add the spaces that words need between the texts around them.
 * @param {string} before @param {string} words @param {string} after
 */
export function spaced(before, words, after) {
  const text = words.trim();
  /** @param {string} [left] @param {string} [right] */
  const touches = (left = "", right = "") => UNSPACED.test(left) && UNSPACED.test(right);
  const isBegun = before && !/[\s\p{Ps}\p{Pi}]$/u.test(before);
  const needsBefore = isBegun && !touches(before.at(-1), text[0]);
  const needsAfter = after && !/^[\s\p{P}]/u.test(after) && !touches(text.at(-1), after[0]);
  return `${needsBefore ? " " : ""}${text}${needsAfter ? " " : ""}`;
}

/** Scripts that are written without spaces. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}]/u;

/** "1:05" @param {number} seconds @param {string} lang */
export function clockOf(seconds, lang) {
  /** @param {number} value @param {number} minimumIntegerDigits */
  const digits = (value, minimumIntegerDigits) => {
    return new Intl.NumberFormat(lang, { minimumIntegerDigits }).format(value);
  };
  return `${digits(Math.floor(seconds / 60), 1)}:${digits(seconds % 60, 2)}`;
}

/** "40 seconds", "2 minutes", "3 hours" @param {number} seconds @param {string} lang */
export function waitOf(seconds, lang) {
  let [unit, size] = ["hour", 3600];
  if (seconds < 6000) [unit, size] = ["minute", 60];
  if (seconds < 100) [unit, size] = ["second", 1];
  const options = { style: "unit", unit, unitDisplay: "long" };
  const numbers = new Intl.NumberFormat(lang, /** @type {Intl.NumberFormatOptions} */ (options));
  return numbers.format(Math.ceil(seconds / size));
}
