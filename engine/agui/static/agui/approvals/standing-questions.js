// @ts-check
/** The questions below the messages, which belong to no visible call, and the bar of all. */
import { h } from "../dom/elements.js";
import { arrange, reconcile } from "../dom/keyed.js";
import { toolLabel } from "../tools/names.js";
import { OpenBar } from "./open-bar.js";

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
  #bar;

  /** @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} messages */
  constructor(context, messages) {
    this.#context = context;
    messages.after(this.#cards);
    this.#bar = new OpenBar(context, messages);
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
    this.#bar.render(session);
  }

  /** @param {string} id @param {import("../types.d.ts").QuestionView} question */
  #card(id, question) {
    this.#asked.set(id, question);
    h("div", { class: "tool", "data-status": "waiting", part: "tool" }, question.element);
    return question;
  }
}
