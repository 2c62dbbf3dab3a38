// @ts-check
/** What a press on "Good answer" or "Bad answer" does. Loaded with the first press. */
import { FEEDBACK_WORDS, FeedbackForm } from "./feedback-form.js";

/** @typedef {import("../agui/messages/answer-bar.js").AnswerBar} AnswerBar */

/**
 * Rate the answer, or take the same rating back; ask what was bad about it.
 * @param {AnswerBar} bar @param {1 | -1} value
 */
export async function judge(bar, value) {
  const { context, answer, given } = bar;
  if (!answer) return;
  const { feedbackFailed, feedbackThanks } = { ...FEEDBACK_WORDS, ...context.strings };
  const wanted = given?.value === value ? 0 : value;
  bar.form?.remove();
  if (!(await context.feedback(answer.id, wanted))) return bar.note(feedbackFailed);
  bar.note(wanted > 0 ? feedbackThanks : "");
  if (wanted < 0 && bar.given?.value === -1) ask(bar, answer.id, feedbackThanks);
}

/** @param {AnswerBar} bar @param {string} messageId @param {string} thanks */
function ask(bar, messageId, thanks) {
  const { context, parts: { bad } } = bar;
  /** @param {boolean} isSent */
  const closed = (isSent) => {
    bad.focus();
    if (isSent) bar.note(thanks);
  };
  const send = (/** @type {string} */ comment) => context.feedback(messageId, -1, comment);
  const form = new FeedbackForm(context.strings, { send, closed });
  bar.form = form.element;
  bar.element.after(form.element);
  form.focus();
}
