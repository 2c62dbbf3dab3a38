// @ts-check
/** The style of a module that few answers need, which comes with the module. */

/** @type {Map<string, CSSStyleSheet>} */
const sheets = new Map();

/**
 * Let a style apply where this node is. The text is the module's own.
 * @param {Node} node @param {string} text
 */
export function adopt(node, text) {
  const root = node.getRootNode();
  if (!(root instanceof ShadowRoot || root instanceof Document)) return;
  const sheet = sheets.get(text) ?? new CSSStyleSheet();
  if (!sheets.has(text)) sheet.replaceSync(text);
  sheets.set(text, sheet);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}
