// @ts-check
/** The reader of raw HTML in Markdown, which is loaded with the first HTML. */

/**
 * The reader, if it is loaded, and whether the current text lacks it.
 * @type {{ reader: typeof import("./html.js") | null, isMissing: boolean }}
 */
export const html = { reader: null, isMissing: false };

/** The reader, if HTML may begin there. @param {string} text @param {number} at */
export function readerOfHtml(text, at) {
  if (text[at] !== "<" || !/[\w/!?]/.test(text[at + 1] ?? "")) return null;
  html.isMissing ||= !html.reader;
  return html.reader;
}
