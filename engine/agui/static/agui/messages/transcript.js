// @ts-check
/** The visible messages. It keeps a view for each message and changes only what differs. */
import { h, iconButton, setAttribute, setText } from "../dom/elements.js";
import { End } from "../dom/end.js";
import { Extras } from "./extras.js";
import { arrange, isSame, reconcile } from "../dom/keyed.js";
import { lazy } from "../dom/lazy.js";
import { isPrompt } from "../conversation/messages.js";
import { isPlain } from "../markdown/view.js";
import { VIEWS } from "./views.js";

/** @typedef {import("../session/session.js").Session} Session */
/** @typedef {import("../types.d.ts").MessageContext} Context */
/** @typedef {import("./views.js").View} View */

/** After this silence the page says that the model has not answered yet. */
const SLOW_MS = 10_000;
/** The space kept free above a question, in pixels. */
const MARGIN = 16;
/** How many messages the page draws at least at first, and with each step back. */
const PAGE = 20;
/** Elements that follow a message, and move with it. */
const BETWEEN = ".actions, .turn-note, .avatar, .answer-form";

export class Transcript {
  #context;
  /** @type {Map<string, View>} */
  #views = new Map();
  #list = h("div", { class: "messages", part: "messages" });
  /** @type {string | null} */
  #threadId = "";
  #step = h("span", { class: "muted" });
  #working = h(
    "div",
    { class: "working", hidden: true },
    h("span", { class: "dots" }, h("i"), h("i"), h("i")),
    this.#step,
  );
  #notice = h("p", { class: "notice" });
  #failure = h("div", { class: "failure", role: "alert", part: "error", hidden: true });
  /** @type {any} */
  #slow;
  #jump;
  /** @type {import("./earlier-messages.js").EarlierMessages | null} */
  #earlier = null;
  #end;
  #asks = false;
  #extras;
  /** The index of the first drawn message. */
  #from = 0;
  /** @type {unknown[]} the messages that were drawn last, and everything else that they need */
  #messages = [];
  /** @type {unknown[]} */
  #seen = [];
  element;

  /** @param {Context} context @param {HTMLElement} welcome */
  constructor(context, welcome) {
    const { strings } = context;
    this.#context = context;
    const column = h(
      "div",
      { class: "column" },
      welcome,
      this.#list,
      this.#working,
      this.#notice,
      this.#failure,
    );
    const log = {
      class: "log",
      part: "log",
      role: "log",
      "aria-live": "polite",
      "aria-label": strings.conversation,
      tabindex: "0",
    };
    this.log = h("div", log, column);
    this.#end = new End(this.log);
    this.#jump = iconButton("down", strings.jump, () => this.toEnd(), {
      class: "icon-button jump",
      hidden: true,
    });
    this.element = h("div", { class: "transcript" }, this.log, this.#jump);
    this.#extras = new Extras(context, { list: this.#list, column, failure: this.#failure }, () => {
      this.#seen = [];
      this.#redraw();
    });
    this.log.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // Measure after the layout, so that the browser computes it only once.
    const sizes = new ResizeObserver(() => this.#keepUp());
    for (const element of [this.log, column]) sizes.observe(element);
  }

  /** @param {Session} session */
  render(session) {
    const { conversation } = session;
    if (session.threadId !== this.#threadId) this.#leave(session.threadId);
    this.#asks = conversation.interrupts.length > 0;
    if (!this.#grow(session)) {
      const drawn = this.#renderMessages(session);
      this.#extras.render(session, this.#views, drawn);
    }
    // The card of a call shows its own step.
    const steps = conversation.steps.filter(
      (name) => !Object.values(conversation.calls).some(({ step }) => step === name),
    );
    const step = session.busy ? steps.at(-1) : undefined;
    const waits = !step && isSilent(session);
    this.#working.hidden = !step && !waits;
    if (!waits) this.#slow = clearTimeout(this.#slow);
    if (!this.#slow) setText(this.#step, step ?? "");
    if (waits)
      this.#slow ??= setTimeout(() => setText(this.#step, this.#context.strings.slow), SLOW_MS);
    setAttribute(this.log, "aria-busy", String(session.busy));
    setText(this.#notice, this.#noticeText(session));
  }

  /**
   * Remove everything of the last thread, because another one is open.
   * @param {string | null} threadId
   */
  #leave(threadId) {
    this.#threadId = threadId;
    for (const view of this.#views.values()) this.#drop(view);
    this.#views.clear();
    this.#end.follows = true;
  }

  /** @param {View} view */
  #drop(view) {
    view.remove?.();
    view.element.remove();
  }

  /** Offer the messages before those that are drawn. */
  async #offerEarlier() {
    if (this.#from && !this.#earlier) {
      const module = await lazy(() => import("./earlier-messages.js"));
      if (module && !this.#earlier) {
        const back = () => this.#stepBack();
        this.#earlier = new module.EarlierMessages(this.log, this.#context, back);
        this.#list.before(this.#earlier.element);
      }
    }
    if (this.#earlier) this.#earlier.element.hidden = !this.#from;
  }

  #stepBack() {
    if (this.#from) this.drawFrom(this.#from - PAGE);
  }

  /** Draw the messages from this one on, and return which was the first. @param {number} index */
  drawFrom(index) {
    const before = this.#from;
    this.#from = index;
    this.#seen = [];
    this.#redraw();
    return before;
  }

  /** The element of a message; undefined if it is not drawn. @param {string} id */
  viewOf(id) {
    return this.#views.get(id)?.element;
  }

  /** Draw the conversation from this message on at least, and stay there. @param {string} id */
  reveal(id) {
    const messages = /** @type {import("../types.d.ts").Message[]} */ (this.#messages);
    const at = messages.findIndex((message) => message.id === id);
    if (at >= 0 && at < this.#from) {
      this.#from = at;
      this.#seen = [];
      this.#redraw();
    }
    this.#end.follows = false;
    return this.viewOf(id);
  }

  #redraw = () => {};

  /** Stay at the end, but not past the beginning of what is asked. */
  #keepUp() {
    // Show a greeting from its beginning.
    if (!this.#end.follows || !this.#list.firstElementChild) return;
    const isPast = () => this.#questionPlace() < 0 && this.#failure.hidden;
    // The user reads on in a question that doesn't fit.
    if (isPast()) return;
    this.toEnd();
    if (isPast()) this.#end.go(MARGIN - this.#questionPlace());
  }

  /** The distance from the top edge to the first open question; NaN without one. */
  #questionPlace() {
    const asked = this.#asks && this.log.querySelector(".question")?.parentElement;
    return asked ? asked.getBoundingClientRect().top - this.log.getBoundingClientRect().top : NaN;
  }

  /** Edit the queued message or the last one sent; false if there is none. */
  editLast() {
    const edits = this.log.querySelectorAll(".user:not([hidden]) .icon-edit");
    const button = [...edits].at(-1)?.closest("button");
    if (button && !button.hidden) button.click();
    return Boolean(button && !button.hidden);
  }

  toEnd() {
    this.#end.go();
    this.#jump.hidden = true;
  }

  #scrolled() {
    this.#end.scrolled();
    const place = this.#questionPlace();
    // This button would cover the question's buttons, which stay in sight.
    this.#jump.hidden = this.#end.follows || place < this.log.clientHeight;
  }

  /**
   * Draw only the growing messages, if nothing else has changed. This is true of most frames.
   * @param {Session} session
   */
  #grow(session) {
    const { threadId, loading, busy, reconnecting, queued, branches, details } = session;
    const { messages, begun, chunks, ...other } = session.conversation;
    const last = this.#messages;
    const about = [threadId, loading, busy, reconnecting, queued, branches, details];
    const seen = [isPlain(), ...about, ...Object.values(other), ...Object.values(this.#context)];
    const same = !this.#asks && messages.length === last.length && isSame(seen, this.#seen);
    this.#messages = messages;
    this.#seen = seen;
    this.#redraw = () => this.render(session);
    const changed = same
      ? messages.slice(this.#from).filter((message, index) => message !== last[this.#from + index])
      : [];
    if (!same || changed.some(({ id, role }) => VIEWS[role] && !this.#views.has(id))) return false;
    for (const message of changed) this.#views.get(message.id)?.update(message, session);
    return true;
  }

  /** @param {Session} session @returns the messages that are drawn, in whole turns */
  #renderMessages(session) {
    const { messages } = session.conversation;
    if (!this.#views.size || messages.length < this.#from) this.#from = messages.length - PAGE;
    const prompt = messages.findLastIndex(
      (message, index) => index <= this.#from && isPrompt(message),
    );
    this.#from = Math.max(0, prompt);
    this.#offerEarlier();
    const drawn = messages.slice(this.#from);
    const shown = drawn.filter(({ role }) => VIEWS[role]);
    const views = reconcile(this.#views, shown, {
      key: ({ id }) => id,
      make: ({ role }) => VIEWS[role](this.#context),
      drop: (view) => this.#drop(view),
    });
    for (const [index, view] of views.entries()) view.update(shown[index], session);
    arrange(this.#list, views.map(({ element }) => element), BETWEEN);
    return drawn;
  }

  /** @param {Session} session */
  #noticeText({ reconnecting, conversation, loading }) {
    const { strings } = this.#context;
    if (loading) return `${strings.loading}…`;
    if (reconnecting) return strings.reconnecting;
    return conversation.status === "stopped" ? strings.stopped : "";
  }
}

/** Whether the agent is working and nothing moves on the page. @param {Session} session */
function isSilent({ conversation, reconnecting, busy }) {
  if (!busy || reconnecting) return false;
  const last = conversation.messages.at(-1);
  if (last?.role === "reasoning") return !last.content;
  if (last?.role !== "assistant") return true;
  return !last.toolCalls && !last.content;
}
