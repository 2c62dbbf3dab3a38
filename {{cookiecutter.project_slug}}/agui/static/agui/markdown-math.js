// @ts-check
/** Where the formulas of a text are. Other modules read and draw them. */

/**
 * A formula between two dollars, one dollar, or escaped brackets. By Pandoc's rule, amounts such as
 * $5 are none.
 */
export const MATH =
  /\$\$(?:\$?(?:\\[^]|[^\\$]))+\$\$|\$(?!\s)(?:\\[^]|[^\\$])+(?<!\s)\$(?!\d)|\\[([][^]+?\\[)\]]/y;
/** Escaped brackets without a formula: with nothing or the number of a note in them. */
const BARE = /\\[([](?:\\[\\)\]]|\d+\\\])/y;
/**
 * What may become a formula: after a dollar, few characters, or more with a sign of TeX. So an
 * amount waits only for a moment.
 */
export const HALF_MATH = /\\[([]|\$\$?(?=[^$]*$)(?:[^]{0,24}$|[^\\^{]*[\\^{])/y;

/**
 * The token of a formula, if one begins there.
 * @param {string} text @param {number} at
 * @param {Set<string>} missing receives what begins a formula that has no end
 */
export function mathAt(text, at, missing) {
  const pair = text.slice(at, at + 2);
  MATH.lastIndex = BARE.lastIndex = at;
  if (missing.has(pair) || BARE.test(text)) return null;
  const [found] = MATH.exec(text) ?? [];
  if (!found && pair[0] === "\\") missing.add(pair);
  if (!found) return null;
  const isBlock = pair === "$$" || pair === "\\[";
  const size = isBlock || pair === "\\(" ? 2 : 1;
  return { type: "math", text: found.slice(size, -size).trim(), isBlock, length: found.length };
}
