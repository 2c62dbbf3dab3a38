// @ts-check
/** The messages on the page. Keeps one view a message and touches only what changed. */
import { asksAgain, textOf } from "./conversation.js";
import { h, icon, iconButton, setText } from "./dom.js";
import { MarkdownView } from "./markdown.js";
import { format } from "./strings.js";
import { ToolCard, toolLabel } from "./tool-card.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./tool-card.js").Context & { retry: () => void, loginUrl: string | null }} Context */

/** How near the end still counts as the end, in pixels. */
const NEAR = 60;
/** What stays free above a question, in pixels. */
const MARGIN = 16;

export class Transcript {
  #context;
  /** @type {Map<string, { element: HTMLElement, update: (message: any, session: Session) => void }>} */
  #views = new Map();
  #list = h("div", { class: "messages", part: "messages" });
  /** @type {Map<string, any>} the questions about no call on the page, by interrupt */
  #questions = new Map();
  #alone = h("div", { class: "questions" });
  #threadId = "";
  #step = h("span", { class: "muted" });
  #working = h("div", { class: "working", hidden: true }, h("span", { class: "dots" }, h("i"), h("i"), h("i")), this.#step);
  #left = h("p", { class: "notice" });
  #notice = h("p", { class: "notice" });
  #failure = h("div", { class: "failure", role: "alert", part: "error", hidden: true });
  #jump;
  #follows = true;
  element;

  /** @param {Context} context @param {HTMLElement} welcome */
  constructor(context, welcome) {
    const { strings } = context;
    this.#context = context;
    const column = h("div", { class: "column" }, welcome, this.#list, this.#alone, this.#left, this.#working, this.#notice, this.#failure);
    const log = { class: "log", part: "log", role: "log", "aria-live": "polite", "aria-label": strings.conversation, tabindex: "0" };
    this.log = h("div", log, column);
    this.#jump = iconButton("down", strings.jump, () => this.toEnd(), { class: "icon-button jump", hidden: true });
    this.element = h("div", { class: "transcript" }, this.log, this.#jump);
    this.log.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#keepUp()).observe(column);
  }

  /** @param {Session} session */
  render(session) {
    const { conversation } = session;
    this.#renderMessages(session);
    this.#renderQuestions(session);
    const step = session.busy ? conversation.steps.at(-1) : undefined;
    this.#working.hidden = !step && !isSilent(session);
    setText(this.#step, step ?? "");
    this.log.setAttribute("aria-busy", String(session.busy));
    setText(this.#notice, this.#noticeText(session));
    this.#renderFailure(conversation.error);
    this.#keepUp();
  }

  /** Stay at the end, but not past the beginning of what is asked. */
  #keepUp() {
    if (!this.#follows) return;
    this.toEnd();
    const place = this.#questionPlace();
    if (place < 0 && this.#failure.hidden) this.log.scrollTop += place - MARGIN;
  }

  /** How far below the top edge the first open question begins; NaN without one. */
  #questionPlace() {
    const asked = this.log.querySelector(".question")?.parentElement;
    return asked ? asked.getBoundingClientRect().top - this.log.getBoundingClientRect().top : NaN;
  }

  toEnd() {
    this.#follows = true;
    this.log.scrollTop = this.log.scrollHeight;
    this.#jump.hidden = true;
  }

  #scrolled() {
    this.#follows = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < NEAR;
    const place = this.#questionPlace();
    // The button would cover those of the question.
    this.#jump.hidden = this.#follows || (place >= 0 && place < this.log.clientHeight);
  }

  /** @param {Session} session */
  #renderMessages(session) {
    const gone = new Set(this.#views.keys());
    let place = this.#list.firstElementChild;
    for (const message of session.conversation.messages) {
      const make = VIEWS[message.role];
      if (!make) continue;
      gone.delete(message.id);
      let view = this.#views.get(message.id);
      if (!view) this.#views.set(message.id, (view = make(this.#context)));
      view.update(message, session);
      if (view.element === place) place = place.nextElementSibling;
      else this.#list.insertBefore(view.element, place);
    }
    for (const id of gone) {
      this.#views.get(id)?.element.remove();
      this.#views.delete(id);
    }
  }

  /** @param {Session} session */
  #renderQuestions(session) {
    const { interrupts, calls } = session.conversation;
    const { Question, strings } = this.#context;
    if (session.threadId !== this.#threadId) this.#questions.clear();
    this.#threadId = session.threadId;
    const cards = interrupts.filter((one) => Question && !calls[one.toolCallId]).map((one) => this.#questionCard(one, session));
    // Only what comes and goes is touched: moving a form would take the focus from it.
    for (const card of [...this.#alone.children]) if (!cards.includes(card)) card.remove();
    for (const card of cards) if (!this.#alone.contains(card)) this.#alone.append(card);
    const left = interrupts.filter((one) => !session.decisionOn(one)).length;
    setText(this.#left, interrupts.length > 1 ? format(strings.answersLeft, { count: left }) : "");
  }

  /** @param {any} interrupt @param {Session} session */
  #questionCard(interrupt, session) {
    const { Question, tools } = this.#context;
    let question = this.#questions.get(interrupt.id);
    if (!question) {
      this.#questions.set(interrupt.id, (question = new Question(this.#context)));
      h("div", { class: "tool", "data-status": "waiting", part: "tool" }, question.element);
    }
    question.update(interrupt, session.decisionOn(interrupt), toolLabel(interrupt.metadata?.toolName ?? interrupt.reason, tools, interrupt));
    return question.element.parentElement;
  }

  /** @param {Session} session */
  #noticeText({ reconnecting, conversation, loading }) {
    const { strings } = this.#context;
    if (loading) return `${strings.loading}…`;
    if (reconnecting) return strings.reconnecting;
    return conversation.status === "stopped" ? strings.stopped : "";
  }

  /** @type {import("./conversation.js").Failure | null} */
  #error = null;

  /** @param {import("./conversation.js").Failure | null} error */
  #renderFailure(error) {
    if (error === this.#error) return;
    this.#error = error;
    this.#failure.hidden = !error;
    if (!error) return this.#failure.replaceChildren();
    const { strings, retry, loginUrl } = this.#context;
    const own = (strings)[error.code];
    const text = h("div", {}, h("p", {}, own ?? error.message ?? strings.failedTitle));
    if (error.runId && !own) text.append(h("small", {}, format(strings.runId, { id: error.runId })));
    const signIn = error.code === "unauthorized" && loginUrl && h("a", { class: "button", href: loginUrl }, strings.signIn);
    // To what is open now the cards are the way back.
    const again = !asksAgain(error) && h("button", { type: "button", class: "button", onclick: retry }, strings.retry);
    this.#failure.replaceChildren(icon("alert"), text, ...[signIn || again].filter(Boolean));
  }
}

/** Is the agent at work without anything moving on the page? @param {Session} session */
function isSilent({ conversation, reconnecting, busy }) {
  if (!busy || reconnecting) return false;
  const last = conversation.messages.at(-1);
  if (last?.role === "reasoning") return !last.content;
  if (last?.role !== "assistant") return true;
  return !last.toolCalls && !last.content;
}

/** @type {Record<string, (context: Context) => { element: HTMLElement, update: (message: any, session: Session) => void }>} */
const VIEWS = { user: userView, assistant: assistantView, reasoning: reasoningView, activity: activityView };

/** @param {Context} context */
function userView({ strings }) {
  const bubble = h("div", { class: "bubble", part: "user-message" });
  const element = h("div", { class: "message user" }, h("span", { class: "visually-hidden" }, `${strings.you}: `), bubble);
  return { element, update: (message) => setText(bubble, textOf(message.content)) };
}

/** @param {Context} context */
function assistantView(context) {
  const prose = new MarkdownView(context.strings);
  const element = h("div", { class: "message assistant", part: "assistant-message" }, prose.element);
  /** @type {Map<string, ToolCard>} */
  const cards = new Map();
  /** @param {any} message @param {Session} session */
  const update = (message, session) => {
    const { conversation } = session;
    const text = textOf(message.content);
    prose.element.hidden = !text;
    prose.update(text);
    for (const call of message.toolCalls ?? []) {
      let card = cards.get(call.id);
      if (!card) {
        cards.set(call.id, (card = new ToolCard(context)));
        element.append(card.element);
      }
      const interrupt = conversation.interrupts.find((one) => one.toolCallId === call.id);
      card.update(call, conversation.calls[call.id], interrupt, interrupt && session.decisionOn(interrupt));
    }
  };
  return { element, update };
}

/** @param {Context} context */
function reasoningView({ strings }) {
  const prose = new MarkdownView(strings);
  const label = h("span");
  const summary = h("summary", {}, icon("chevron"), label);
  const element = h("details", { class: "message reasoning", part: "reasoning" }, summary, prose.element);
  /** @param {any} message @param {Session} session */
  const update = (message, { busy, conversation }) => {
    const thinks = busy && conversation.messages.at(-1) === message;
    element.classList.toggle("active", thinks);
    element.hidden = !message.content;
    setText(label, thinks ? `${strings.thinking}…` : strings.thought);
    prose.update(textOf(message.content));
  };
  return { element, update };
}

/** Activities that nobody has registered a view for are shown as they are. */
function activityView() {
  const title = h("span");
  const content = h("pre", { class: "value", tabindex: "0" });
  const element = h("details", { class: "message activity", part: "activity" }, h("summary", {}, icon("chevron"), title), content);
  /** @param {any} message */
  const update = (message) => {
    setText(title, message.activityType);
    setText(content, JSON.stringify(message.content, null, 2));
  };
  return { element, update };
}
