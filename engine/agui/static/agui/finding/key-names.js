// @ts-check
/** The names of keys, as the user's keyboard has them. */

/** @param {string} keys as in "Ctrl+K" */
export function keyNames(keys) {
  if (!/^Mac/.test(navigator.platform)) return keys;
  return keys.replace("Ctrl+", "⌘").replace("Alt+", "⌥").replace("Shift+", "⇧");
}
