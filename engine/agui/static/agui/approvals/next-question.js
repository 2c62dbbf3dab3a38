// @ts-check
/** The focus moves from one open question to the next. */

/**
 * Go to the next open question, never to its buttons: a stray Enter must not approve.
 * @param {Element} panel @param {{ focus: () => void }} otherwise
 */
export function focusQuestion(panel, otherwise) {
  const questions = /** @type {HTMLElement[]} */ ([...panel.querySelectorAll(".question")]);
  const next = questions.find((question) => !question.matches("[data-decided]"));
  (next ?? otherwise).focus();
}
