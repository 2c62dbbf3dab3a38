// @ts-check
/**
 * The questions below the messages, which belong to no visible call, and the number of unanswered
 * ones.
 */
import { h, setText } from "../dom/elements.js";
import { arrange, reconcile } from "../dom/keyed.js";
import { counted } from "../words/strings.js";
import { toolLabel } from "../tools/names.js";

/** In English; the tables of other languages have these, too. */
export const STANDING_WORDS = {
  /** @type {Record<string, string>} */
  answersLeft: {
    one: "{count} more to decide; then all answers are sent together.",
    other: "{count} more to decide; then all answers are sent together.",
  },
};

export class StandingQuestions {
  #context;
  /**
   * @type {Map<string, import("../types.d.ts").QuestionView>} by interrupt; a refused answer brings
   *   its form back, with what was typed
   */
  #asked = new Map();
  /** @type {Map<string, import("../types.d.ts").QuestionView>} those on the page */
  #shown = new Map();
  /** @type {string | null} */
  #threadId = null;
  #cards = h("div", { class: "questions" });
  #left = h("p", { class: "notice" });

  /** @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} messages */
  constructor(context, messages) {
    this.#context = context;
    messages.after(this.#cards, this.#left);
  }

  /** @param {import("../session/session.js").Session} session */
  render(session) {
    // Don't import it here: browsers never retry a failed static import.
    const { Question } = this.#context;
    if (!Question) return;
    const { interrupts, calls } = session.conversation;
    if (session.threadId !== this.#threadId) this.#asked.clear();
    this.#threadId = session.threadId;
    const standing = interrupts.filter(({ toolCallId = "" }) => !calls[toolCallId]);
    const questions = reconcile(this.#shown, standing, {
      key: ({ id }) => id,
      make: ({ id }) => this.#asked.get(id) ?? this.#card(id, new Question(this.#context)),
      drop: (question) => question.element.parentElement?.remove(),
    });
    for (const [index, interrupt] of standing.entries()) {
      const label = toolLabel(
        interrupt.metadata?.toolName ?? interrupt.reason,
        this.#context.tools,
        interrupt,
      );
      questions[index].update(interrupt, session.decisionOn(interrupt), label);
    }
    arrange(this.#cards, questions.flatMap(({ element }) => element.parentElement ?? []));
    const left = interrupts.filter((one) => !session.decisionOn(one)).length;
    const words = { ...STANDING_WORDS, ...this.#context.strings };
    setText(this.#left, interrupts.length > 1 ? counted(words, "answersLeft", left) : "");
  }

  /** @param {string} id @param {import("../types.d.ts").QuestionView} question */
  #card(id, question) {
    this.#asked.set(id, question);
    h("div", { class: "tool", "data-status": "waiting", part: "tool" }, question.element);
    return question;
  }
}
