// @ts-check
/** What the page of shortcuts says of messages that wait. */

/** In English; the tables of other languages have these, too. */
export const WAITING_KEY_WORDS = {
  shortcutNextStep: "Send, to be read at the next step",
  shortcutMove: "Move a waiting message",
};

/** @param {import("../agui/types.d.ts").Strings} strings @returns {[string, string][]} */
export function keysOf(strings) {
  const words = { ...WAITING_KEY_WORDS, ...strings };
  return [
    ["Ctrl+Enter", words.shortcutNextStep],
    ["Alt+↑ ↓", words.shortcutMove],
  ];
}
