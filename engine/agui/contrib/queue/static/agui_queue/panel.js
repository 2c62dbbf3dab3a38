// @ts-check
/** The messages that wait, above the input: edit, move and remove them, or send them now. */
import { h, setText } from "../agui/dom/elements.js";
import { arrange, reconcile } from "../agui/dom/keyed.js";
import { adopt } from "../agui/dom/own-style.js";
import { format } from "../agui/words/strings.js";
import { Choice } from "./choice.js";
import { RowView } from "./row-view.js";
import { WAITING_STYLE } from "./waiting-style.js";
import { WAITING_WORDS } from "./words.js";

/** @typedef {import("./rows.js").Problem} Problem */
/** @typedef {import("./words.js").Words} Words */

/** @type {Record<string, keyof typeof WAITING_WORDS>} why messages wait although no run is on */
const HELD = {
  paused: "heldPaused",
  failed: "heldFailed",
  cancelled: "heldCancelled",
  timed_out: "heldTimedOut",
  interrupted: "heldInterrupted",
  finished: "heldFinished",
};
/** @type {Record<string, keyof typeof WAITING_WORDS>} */
const PROBLEMS = { full: "waitingFull", unsent: "waitingUnsent", too_late: "waitingTooLate" };

export class Panel {
  #waiting;
  #modes;
  #context;
  /** @type {Words} */
  #words;
  #reason = h("p", { role: "status" });
  #send;
  #list = h("ol", { class: "waiting-rows" });
  #told = h("p", { class: "visually-hidden", role: "status" });
  #element;
  /** @type {Map<string, RowView>} */
  #views = new Map();

  /**
   * @param {import("./waiting.js").Waiting} waiting @param {import("./attend.js").Later} later
   * @param {import("../agui/types.d.ts").PageContext} context
   */
  constructor(waiting, later, context) {
    this.#waiting = waiting;
    this.#modes = later.modes;
    this.#context = context;
    const { composer, host, strings } = context;
    const words = (this.#words = { ...WAITING_WORDS, ...strings });
    const onclick = () => {
      waiting.send();
      composer.invite();
    };
    this.#send = h("button", { type: "button", class: "button", onclick }, words.sendWaiting);
    const look = {
      class: "waiting-panel", part: "waiting", role: "group", "aria-label": words.waitingMessages,
    };
    const head = h("div", { class: "waiting-head" }, this.#reason, this.#send);
    this.#element = h("div", look, head, this.#list);
    composer.box.before(this.#element, this.#told);
    adopt(composer.box, WAITING_STYLE);
    // The input takes the key for itself.
    const editLast = this.#editLast.bind(this);
    composer.input.addEventListener("keydown", editLast, { capture: true });
    new Choice(later, context, words);
    const render = () => this.#render();
    waiting.rows.addEventListener("change", render);
    host.session.addEventListener("change", render);
    waiting.rows.addEventListener("told", () => this.#tell());
    this.#render();
    // A region is read when its text changes.
    requestAnimationFrame(() => this.#tell());
  }

  #render() {
    const { rows } = this.#waiting;
    const { session } = this.#context.host;
    const isHeld = !session.busy && rows.held !== null && rows.all.length > 0;
    const root = /** @type {ShadowRoot} */ (this.#element.getRootNode());
    const focused = /** @type {HTMLElement | null} */ (root.activeElement);
    const canSteer = session.busy && this.#modes.length > 1;
    const views = reconcile(this.#views, rows.all, {
      key: ({ id }) => id,
      make: ({ id }) => new RowView(this.#waiting, id, this.#words, () => this.#leave(id)),
      drop: (view) => this.#drop(view),
    });
    for (const [index, view] of views.entries()) view.update(rows.all[index], canSteer);
    arrange(this.#list, views.map(({ element }) => element));
    // An element that was moved has lost the focus.
    if (focused?.isConnected && this.#list.contains(focused)) focused.focus();
    const problem = this.#problem(rows.problem);
    const reason = isHeld ? this.#words[HELD[rows.held ?? ""] ?? "heldFailed"] : "";
    setText(this.#reason, [problem, reason].filter(Boolean).join(" "));
    const isKept = rows.problem?.code === "unsent";
    this.#send.hidden = !(isKept || (isHeld && rows.held !== "paused"));
    this.#element.hidden = !rows.all.length && !problem;
  }

  /** @param {Problem | null} problem */
  #problem(problem) {
    if (!problem) return "";
    /** @type {Record<string, unknown>} */
    const words = this.#words;
    const own = words[PROBLEMS[problem.code] ?? problem.code];
    const text = typeof own === "string" ? own : problem.message;
    return format(text ?? this.#words.failedTitle, { count: this.#waiting.rows.max });
  }

  #tell() {
    const { told } = this.#waiting.rows;
    if (!told) return;
    const text = format(this.#words[told.name], told.values);
    // The same text twice is two messages.
    this.#told.textContent = this.#told.textContent === text ? `${text}\u00a0` : text;
  }

  /** Take the focus out of a row that is about to go. @param {string} id */
  #leave(id) {
    const views = [...this.#views.values()];
    const at = views.findIndex((view) => view.id === id);
    const next = views[at + 1] ?? views[at - 1];
    if (next) next.focus();
    else this.#context.composer.focus();
  }

  /** @param {RowView} view */
  #drop(view) {
    // The agent has read it while the user was at it.
    if (view.element.matches(":focus-within")) this.#context.composer.invite();
    view.element.remove();
  }

  /** Edit the last one, if the input is empty. @param {KeyboardEvent} event */
  #editLast(event) {
    const last = this.#waiting.rows.all.at(-1);
    const { composer } = this.#context;
    if (event.key !== "ArrowUp" || event.altKey || composer.text || !last) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.#views.get(last.id)?.edit();
  }
}
