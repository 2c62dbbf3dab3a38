// @ts-check
/** What all that reads Markdown does with a text. */

/**
 * Match a pattern that is sticky at this place, or one that is global from this place on.
 * @param {RegExp} pattern @param {string} text @param {number} at
 */
export function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** @param {string} text */
export function unescaped(text) {
  return text.replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/**
 * @param {string} text
 * @param {string} characters to cut off its end: a pattern would search again from each of them
 */
export function withoutEnd(text, characters) {
  let end = text.length;
  while (end && characters.includes(text[end - 1])) end--;
  return text.slice(0, end);
}
