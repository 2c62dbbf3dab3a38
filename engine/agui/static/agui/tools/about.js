// @ts-check
/** What a call is about, in the line of its card: calls of one tool are told apart. */

/** The card cuts a longer text; the whole text is among the arguments. */
const LONGEST = 100;
const DATE = /^\d{4}-\d\d-\d\d/;

/**
 * Return the first text among the arguments; dates and numbers say little without their names.
 * The caller leaves out calls with secrets.
 * @param {unknown} args @returns {string}
 */
export function aboutCall(args) {
  if (typeof args !== "object") return "";
  for (const value of Object.values(args ?? {})) {
    if (typeof value !== "string" || !/\p{L}/u.test(value) || DATE.test(value)) continue;
    return value.trim().replace(/\s+/g, " ").slice(0, LONGEST);
  }
  return "";
}
