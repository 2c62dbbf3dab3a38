// @ts-check
/** The keys that send a form: Enter where a text has one line, otherwise with Ctrl. */

/** @param {KeyboardEvent} event @param {boolean} mayHere */
export function sendWithEnter(event, mayHere) {
  const { key, target } = event;
  if (key !== "Enter" || !mayHere) return;
  if (!(target instanceof HTMLTextAreaElement)) return;
  event.preventDefault();
  target.form?.requestSubmit();
}

/**
 * Whether the form asks only for a text, which has one line so far.
 * @param {KeyboardEvent} event
 */
export function isOneLine({ shiftKey, target }) {
  const { form, value = "" } = /** @type {HTMLTextAreaElement} */ (target);
  if (shiftKey || value.includes("\n")) return false;
  return form?.querySelectorAll("input, select, textarea:not(.json)").length === 1;
}
