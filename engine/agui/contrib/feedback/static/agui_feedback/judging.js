// @ts-check
/** What a press on "Good answer" or "Bad answer" does. Loaded with the first press. */
import { FEEDBACK_WORDS, FeedbackForm } from "./feedback-form.js";

/** @typedef {import("./rating.js").Rating} Rating */

/**
 * Rate the answer, or take the same rating back; ask what was bad about it.
 * @param {Rating} rating @param {1 | -1} value
 */
export async function judge(rating, value) {
  const { bar, given } = rating;
  const { answer, context } = bar;
  if (!answer) return;
  const { feedbackFailed, feedbackThanks } = { ...FEEDBACK_WORDS, ...context.strings };
  const wanted = given?.value === value ? 0 : value;
  rating.form?.remove();
  if (!(await keep(bar, answer.id, wanted))) return bar.note(feedbackFailed);
  bar.note(wanted > 0 ? feedbackThanks : "");
  if (wanted < 0 && rating.given?.value === -1) ask(rating, answer.id, feedbackThanks);
}

/**
 * Keep what the user thinks of an answer: 1, -1, or 0 for nothing; false if the server didn't, and
 * it is as before.
 * @param {Pick<Rating["bar"], "context" | "shown">} bar @param {string} messageId
 * @param {number} value @param {string} [comment]
 */
export async function keep({ context, shown }, messageId, value, comment = "") {
  const { client } = context;
  const { session } = shown;
  const { threadId } = session;
  /** @returns {import("./rating.js").Judgements} */
  const judgements = () => Object(session.details.feedback);
  const before = judgements()[messageId];
  /** @param {import("./rating.js").Judgement | undefined} judgement */
  const show = (judgement) => {
    if (session.threadId !== threadId) return;
    session.detail({ feedback: { ...judgements(), [messageId]: judgement } });
  };
  show({ value, comment });
  try {
    await client.send(client.address(String(threadId), "feedback/"), {
      method: "PUT",
      body: JSON.stringify({ message_id: messageId, value, comment }),
      headers: { "Content-Type": "application/json" },
    });
  } catch {
    show(before);
    return false;
  }
  return true;
}

/** @param {Rating} rating @param {string} messageId @param {string} thanks */
function ask(rating, messageId, thanks) {
  const { bar, bad } = rating;
  /** @param {boolean} isSent */
  const closed = (isSent) => {
    bad.focus();
    if (isSent) bar.note(thanks);
  };
  const send = (/** @type {string} */ comment) => keep(bar, messageId, -1, comment);
  const form = new FeedbackForm(bar.context.strings, { send, closed });
  rating.form = form.element;
  bar.element.after(form.element);
  form.focus();
}
