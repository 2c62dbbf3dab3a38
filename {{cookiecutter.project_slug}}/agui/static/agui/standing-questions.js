// @ts-check
/** The questions that are about no call on the page, below the messages, and how many of all are left to answer. */
import { h, setText } from "./dom.js";
import { counted } from "./strings.js";
import { toolLabel } from "./tool-names.js";

export class StandingQuestions {
  #context;
  /** @type {Map<string, any>} by interrupt; a refused answer brings its form back, with what was typed */
  #questions = new Map();
  /** @type {string | null} */
  #threadId = null;
  #cards = h("div", { class: "questions" });
  #left = h("p", { class: "notice" });

  /** @param {import("./message-views.js").Context} context @param {HTMLElement} messages */
  constructor(context, messages) {
    this.#context = context;
    messages.after(this.#cards, this.#left);
  }

  /** @param {import("./session.js").Session} session */
  render(session) {
    // Not imported here: a browser never again asks for what a module imports and could not get.
    const { Question } = this.#context;
    if (!Question) return;
    const { interrupts, calls } = session.conversation;
    if (session.threadId !== this.#threadId) this.#questions.clear();
    this.#threadId = session.threadId;
    const cards = interrupts.filter((one) => !calls[one.toolCallId]).map((one) => this.#card(Question, one, session));
    // Only what comes and goes is touched: moving a form would take the focus from it.
    for (const card of [...this.#cards.children]) if (!cards.includes(card)) card.remove();
    for (const card of cards) if (!this.#cards.contains(card)) this.#cards.append(card);
    const left = interrupts.filter((one) => !session.decisionOn(one)).length;
    setText(this.#left, interrupts.length > 1 ? counted(this.#context.strings, "answersLeft", left) : "");
  }

  /** @param {any} Question @param {any} interrupt @param {import("./session.js").Session} session */
  #card(Question, interrupt, session) {
    let question = this.#questions.get(interrupt.id);
    if (!question) {
      this.#questions.set(interrupt.id, (question = new Question(this.#context)));
      h("div", { class: "tool", "data-status": "waiting", part: "tool" }, question.element);
    }
    const label = toolLabel(interrupt.metadata?.toolName ?? interrupt.reason, this.#context.tools, interrupt);
    question.update(interrupt, session.decisionOn(interrupt), label);
    return question.element.parentElement;
  }
}
