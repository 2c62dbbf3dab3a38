// @ts-check
/** The messages on the page. Keeps one view a message and touches only what changed. */
import { h, iconButton, setAttribute, setText } from "./dom.js";
import { lazy } from "./lazy.js";
import { isPlain } from "./markdown.js";
import { VIEWS } from "./message-views.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./message-views.js").Context} Context */

/** How near the end still counts as the end, in pixels. */
const NEAR = 60;
/** After so long without a word the user is told that the model has not answered yet. */
const SLOW_MS = 10_000;
/** What stays free above a question, in pixels. */
const MARGIN = 16;
/** How many messages are drawn at first, and with each step back; and how near the first has to come for that. */
const PAGE = 50;
const AHEAD = "800px 0px 0px";

export class Transcript {
  #context;
  /** @type {Map<string, { element: HTMLElement, update: (message: any, session: Session) => void, remove?: () => void }>} */
  #views = new Map();
  #list = h("div", { class: "messages", part: "messages" });
  #threadId = "";
  #step = h("span", { class: "muted" });
  #working = h("div", { class: "working", hidden: true }, h("span", { class: "dots" }, h("i"), h("i"), h("i")), this.#step);
  #notice = h("p", { class: "notice" });
  #failure = h("div", { class: "failure", role: "alert", part: "error", hidden: true });
  /** @type {any} */
  #slow;
  #column;
  #jump;
  #earlier;
  #near;
  #follows = true;
  /** Where the log stood when it was last moved: only a reader moves it up from there. */
  #top = 0;
  #asks = false;
  /** Where the messages begin that are drawn. */
  #from = 0;
  /** @type {any[]} the messages that were drawn last, and all else that their looks depend on */
  #messages = [];
  /** @type {any[]} */
  #seen = [];
  element;

  /** @param {Context} context @param {HTMLElement} welcome */
  constructor(context, welcome) {
    const { strings } = context;
    this.#context = context;
    this.#earlier = h("button", { type: "button", class: "button earlier", hidden: true, onclick: () => this.#showEarlier() }, strings.earlier);
    const column = (this.#column = h("div", { class: "column" }, welcome, this.#earlier, this.#list, this.#working, this.#notice, this.#failure));
    const log = { class: "log", part: "log", role: "log", "aria-live": "polite", "aria-label": strings.conversation, tabindex: "0" };
    this.log = h("div", log, column);
    this.#jump = iconButton("down", strings.jump, () => this.toEnd(), { class: "icon-button jump", hidden: true });
    this.element = h("div", { class: "transcript" }, this.log, this.#jump);
    this.log.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // A reader who is at a question that doesn't fit stays where they are.
    for (const type of ["pointerdown", "keydown", "wheel"]) this.log.addEventListener(type, () => this.#stay(), { passive: true });
    const sizes = new ResizeObserver(() => this.#keepUp()); // after the layout, so that none is forced
    for (const element of [this.log, column]) sizes.observe(element);
    this.#near = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.#showEarlier(), { root: this.log, rootMargin: AHEAD });
    this.#near.observe(this.#earlier);
  }

  /** @param {Session} session */
  render(session) {
    const { conversation } = session;
    if (session.threadId !== this.#threadId) this.#leave(session.threadId);
    this.#asks = conversation.interrupts.length > 0;
    if (!this.#grow(session)) {
      this.#renderMessages(session);
      this.#renderExtras(session);
    }
    // The card of a call shows its step itself.
    const steps = conversation.steps.filter((name) => !Object.values(conversation.calls).some(({ step }) => step === name));
    const step = session.busy ? steps.at(-1) : undefined;
    const waits = !step && isSilent(session);
    this.#working.hidden = !step && !waits;
    if (!waits) this.#slow = clearTimeout(this.#slow);
    if (!this.#slow) setText(this.#step, step ?? "");
    if (waits) this.#slow ??= setTimeout(() => setText(this.#step, this.#context.strings.slow), SLOW_MS);
    setAttribute(this.log, "aria-busy", String(session.busy));
    setText(this.#notice, this.#noticeText(session));
  }

  /** Another thread: nothing of the last one stays. @param {any} threadId */
  #leave(threadId) {
    this.#threadId = threadId;
    for (const id of this.#views.keys()) this.#drop(id);
    this.#follows = true;
  }

  /** @param {string} id */
  #drop(id) {
    const view = this.#views.get(id);
    view?.remove?.();
    view?.element.remove();
    this.#views.delete(id);
  }

  /** Draw more of the past, without moving what is being read. */
  #showEarlier() {
    if (!this.#from) return;
    this.#from = Math.max(0, this.#from - PAGE);
    const { scrollHeight, scrollTop } = this.log;
    setAttribute(this.log, "aria-live", "off"); // nothing new has been said
    this.#seen = [];
    this.#redraw();
    this.log.scrollTop = scrollTop + this.log.scrollHeight - scrollHeight;
    if (!this.#from && this.#earlier.matches(":focus-within")) this.log.focus();
    for (const again of ["unobserve", "observe"]) this.#near[again](this.#earlier); // it may still be near
    requestAnimationFrame(() => setAttribute(this.log, "aria-live", "polite"));
  }

  #redraw = () => {};

  /** Stay at the end, but not past the beginning of what is asked. */
  #keepUp() {
    if (!this.#follows || !this.#list.firstElementChild) return; // a greeting is read from its beginning
    this.toEnd();
    const place = this.#questionPlace();
    if (place < 0 && this.#failure.hidden) this.log.scrollTop += place - MARGIN;
    this.#top = this.log.scrollTop;
  }

  /** How far below the top edge the first open question begins; NaN without one. */
  #questionPlace() {
    const asked = this.#asks && this.log.querySelector(".question")?.parentElement;
    return asked ? asked.getBoundingClientRect().top - this.log.getBoundingClientRect().top : NaN;
  }

  toEnd() {
    this.#follows = true;
    this.log.scrollTop = this.log.scrollHeight;
    this.#top = this.log.scrollTop;
    this.#jump.hidden = true;
  }

  #stay() {
    if (this.#asks && this.#questionPlace() < 2 * MARGIN) this.#follows = false;
  }

  #scrolled() {
    // What grows (a chart that is drawn, a table) takes the end further away, but the reader is still at it.
    const { scrollTop, scrollHeight, clientHeight } = this.log;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.#follows = isAtEnd || (this.#follows && scrollTop >= this.#top);
    this.#top = scrollTop;
    const place = this.#questionPlace();
    // The button would cover those of the question.
    this.#jump.hidden = this.#follows || (place >= 0 && place < this.log.clientHeight);
  }

  /** Show what has been added to messages, if nothing else has changed: what most frames are about. @param {Session} session */
  #grow(session) {
    const { conversation, ...rest } = session;
    const { messages, begun, chunks, ...other } = conversation;
    const last = this.#messages;
    const seen = [isPlain(), ...Object.values(rest), ...Object.values(other), ...Object.values(this.#context)];
    const same = !this.#asks && messages.length === last.length && seen.every((one, index) => one === this.#seen[index]);
    this.#messages = messages;
    this.#seen = seen;
    this.#redraw = () => this.render(session);
    const changed = same ? messages.slice(this.#from).filter((message, index) => message !== last[this.#from + index]) : [];
    if (!same || changed.some(({ id, role }) => VIEWS[role] && !this.#views.has(id))) return false;
    for (const message of changed) this.#views.get(message.id)?.update(message, session);
    return true;
  }

  /** @param {Session} session */
  #renderMessages(session) {
    const gone = new Set(this.#views.keys());
    let place = pastActions(this.#list.firstElementChild);
    const { messages } = session.conversation;
    if (!gone.size || messages.length < this.#from) this.#from = Math.max(0, messages.length - PAGE);
    this.#earlier.hidden = !this.#from;
    for (const message of messages.slice(this.#from)) {
      const make = VIEWS[message.role];
      if (!make) continue;
      gone.delete(message.id);
      let view = this.#views.get(message.id);
      if (!view) this.#views.set(message.id, (view = make(this.#context)));
      view.update(message, session);
      if (view.element === place) place = pastActions(place.nextElementSibling);
      else this.#list.insertBefore(view.element, place);
    }
    for (const id of gone) this.#drop(id);
  }

  /** What belongs to messages that are there, the one that is to come, and open questions. @param {Session} session */
  #renderExtras(session) {
    const { conversation: { messages, failures, error }, queued } = session;
    if (messages.length) this.#later("actions", () => import("./message-actions.js"), ({ MessageActions }) => new MessageActions(this.#context, this.#list), session);
    if (queued) this.#later("queued", () => import("./queued.js"), ({ Queued }) => new Queued(this.#context, this.#column), session);
    if (messages.at(-1)?.metadata?.follow_ups) this.#later("suggestions", () => import("./suggestions.js"), ({ Suggestions }) => new Suggestions(this.#context, this.#column), session);
    if (this.#asks) this.#later("questions", () => import("./standing-questions.js"), ({ StandingQuestions }) => new StandingQuestions(this.#context, this.#list), session);
    const hasNotes = error || messages.some(({ id, metadata }) => failures[id] || metadata?.files_left_out);
    if (hasNotes) this.#later("notes", () => import("./turn-notes.js"), ({ TurnNotes }) => new TurnNotes(this.#context, this.#list, this.#failure), session);
    this.#extras.actions?.render(session, this.#views);
    this.#extras.queued?.render(queued);
    this.#extras.suggestions?.render(session);
    this.#extras.questions?.render(session);
    this.#extras.notes?.render(session, this.#views);
    if (!error) this.#failure.hidden = true;
  }

  /** The notes are out of reach, as the server may be: then at least the words. @param {Session} session */
  #failPlainly({ conversation: { error } }) {
    const { strings } = this.#context;
    this.#failure.hidden = !error;
    setText(this.#failure, error ? (strings[error.code] ?? error.message ?? strings.failedTitle) : "");
  }

  /** @type {any} */
  #extras = {};

  /** Make something with its first use. @param {string} name @param {() => Promise<any>} load @param {(module: any) => any} make @param {Session} session */
  #later(name, load, make, session) {
    if (name in this.#extras) return;
    this.#extras[name] = null;
    lazy(load).then((module) => ((this.#extras[name] = make(module)), (this.#seen = []), this.render(session)), () => {
      delete this.#extras[name]; // tried again with the next change
      if (name === "notes") this.#failPlainly(session);
    });
  }

  /** @param {Session} session */
  #noticeText({ reconnecting, conversation, loading }) {
    const { strings } = this.#context;
    if (loading) return `${strings.loading}…`;
    if (reconnecting) return strings.reconnecting;
    return conversation.status === "stopped" ? strings.stopped : "";
  }
}

/** The toolbars between the messages go by them. @param {Element | null} place */
function pastActions(place) {
  while (place?.matches(".actions, .feedback, .turn-note")) place = place.nextElementSibling;
  return place;
}

/** Is the agent at work without anything moving on the page? @param {Session} session */
function isSilent({ conversation, reconnecting, busy }) {
  if (!busy || reconnecting) return false;
  const last = conversation.messages.at(-1);
  if (last?.role === "reasoning") return !last.content;
  if (last?.role !== "assistant") return true;
  return !last.toolCalls && !last.content;
}
