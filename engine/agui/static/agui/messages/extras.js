// @ts-check
/**
 * What belongs to a conversation beside its messages. The first use of each loads its module,
 * because most chats need few of them.
 */
import { h } from "../dom/elements.js";
import { lazy, modulesFor, moduleOf, partModules } from "../dom/lazy.js";

/** @typedef {import("../session/session.js").Session} Session */
/** @typedef {import("../types.d.ts").MessageContext} Context */
/**
 * @typedef {{
 *   render: (session: Session, views: Map<string, { element: HTMLElement }>,
 *     messages: import("../types.d.ts").Message[]) => void,
 * }} Extra its views are by id; its messages are those that are drawn, in whole turns
 */

export class Extras {
  #context;
  #places;
  #redraw;
  /** @type {Map<string, Extra | null>} null while it loads */
  #made = new Map();

  /**
   * @param {Context} context
   * @param {{ list: HTMLElement, column: HTMLElement, failure: HTMLElement }} places
   * @param {() => void} redraw called when a module has arrived
   */
  constructor(context, places, redraw) {
    this.#context = context;
    this.#places = places;
    this.#redraw = redraw;
  }

  /** @type {Extra["render"]} */
  render(session, views, messages) {
    const context = this.#context;
    const { list, column, failure } = this.#places;
    const { conversation: { failures, interrupts, error }, queued } = session;
    const hasNotes =
      error || messages.some(({ id, metadata }) => {
        return failures[id] || metadata?.answer_cut;
      });
    this.#need(messages.length, "actions", async () => {
      const joining = modulesFor(context.host, "answer");
      const module = await lazy(() => import("./reading.js"));
      return module && new module.READING.MessageActions(context, list, await joining);
    });
    this.#need(queued, "queued", async () => {
      const module = await lazy(() => import("./queued.js"));
      return module && new module.Queued(context, column);
    });
    for (const key of Object.keys(messages.at(-1)?.metadata ?? {})) {
      const name = /** @type {`last:${string}`} */ (`last:${key}`);
      this.#need(partModules(context.host)[name], name, async () => {
        const module = await moduleOf(context.host, name);
        return module && module.follow(context, column);
      });
    }
    this.#need(interrupts.length, "questions", async () => {
      const loading = lazy(() => import("../approvals/standing-questions.js"));
      const module = await context.withStyle(loading);
      return module && new module.StandingQuestions(context, list);
    });
    this.#need(context.own, "own", async () => context.own?.make(context, list) ?? null);
    this.#need(hasNotes, "notes", async () => {
      const fail = () => this.#failPlainly(session);
      const module = await lazy(() => import("./turn-notes.js"), fail);
      return module && new module.TurnNotes(context, list, failure);
    });
    for (const extra of this.#made.values()) extra?.render(session, views, messages);
    if (!error) failure.hidden = true;
  }

  /**
   * @param {unknown} isNeeded @param {string} name
   * @param {() => Promise<Extra | null>} make null: the next change tries again
   */
  async #need(isNeeded, name, make) {
    if (!isNeeded || this.#made.has(name)) return;
    this.#made.set(name, null);
    const extra = await make();
    if (!extra) return this.#made.delete(name);
    this.#made.set(name, extra);
    this.#redraw();
  }

  /**
   * The notes could not be loaded: show at least the text of the failure, and a way on.
   * @param {Session} session
   */
  #failPlainly({ conversation: { error } }) {
    if (!error) return;
    const { retry, strings } = this.#context;
    const { failure } = this.#places;
    /** @type {Record<string, any>} */
    const words = strings;
    const button = h("button", { type: "button", class: "button", onclick: retry }, strings.retry);
    failure.hidden = false;
    failure.replaceChildren(words[error.code] ?? error.message ?? strings.failedTitle, button);
  }
}
