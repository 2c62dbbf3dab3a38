// @ts-check
/** What can be done with messages that are complete: a toolbar below each answer, and one below each message of the user. */
import { AnswerBar } from "./answer-bar.js";
import { PromptBar } from "./prompt-bar.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./message-views.js").Context} Context */
/** @typedef {{ prompt: any, parts: any[] }} Turn a message of the user, and all that answers it */
/** @typedef {import("./toolbar.js").Shown} Shown */

/** @param {any[]} messages @returns {Turn[]} */
export function turnsOf(messages) {
  /** @type {Turn[]} */
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ prompt: message, parts: [] });
    else if (turns.length) turns[turns.length - 1].parts.push(message);
    else turns.push({ prompt: null, parts: [message] });
  }
  return turns;
}

export class MessageActions {
  #context;
  /** @type {Map<string, PromptBar | AnswerBar>} */
  #bars = new Map();
  /** @type {any[]} */
  #seen = [];
  /** @type {Element | null} */
  #near = null;
  #observer;

  /** @param {Context} context @param {HTMLElement} list */
  constructor(context, list) {
    this.#context = context;
    // A long conversation has thousands of them: their buttons are made when they come near.
    const fill = (entries) => entries.forEach(({ target, isIntersecting }) => isIntersecting && this.#fill(target));
    this.#observer = new IntersectionObserver(fill, { root: list.closest(".log"), rootMargin: "100%" });
    list.addEventListener("pointerover", ({ target }) => this.#point(/** @type {Element} */ (target)));
    list.addEventListener("pointerleave", () => this.#point(null));
  }

  /** @param {Session} session @param {Map<string, { element: HTMLElement }>} views by message */
  render(session, views) {
    const { conversation: { messages, status, usage }, branches, feedback, loading } = session;
    const seen = [messages, status, usage, branches, feedback, loading];
    if (seen.every((one, index) => one === this.#seen[index])) return;
    this.#seen = seen;
    const idle = !session.busy && !loading && status !== "waiting";
    const gone = new Set(this.#bars.keys());
    const turns = turnsOf(messages);
    for (const [index, turn] of turns.entries()) {
      const isLast = index === turns.length - 1;
      const shown = { session, turn, isLast, idle };
      const prompt = turn.prompt && views.get(turn.prompt.id)?.element;
      if (prompt) {
        const bar = this.#bar(`prompt ${turn.prompt.id}`, PromptBar, shown, gone);
        if (bar.element.parentElement !== prompt) prompt.append(bar.element);
      }
      const last = turn.parts.findLast(({ id, content, toolCalls }) => views.has(id) && (content?.length || toolCalls));
      const end = last ? views.get(last.id)?.element : prompt;
      // What has no answer at all is tried again where it says so.
      if (!end || (isLast && (!idle || (!last && status === "failed")))) continue;
      const bar = this.#bar(`answer ${turn.prompt?.id}`, AnswerBar, shown, gone);
      if (end.nextElementSibling !== bar.element) end.after(bar.element);
    }
    for (const key of gone) {
      const bar = /** @type {AnswerBar} */ (this.#bars.get(key));
      this.#observer.unobserve(bar.element);
      bar.remove();
      this.#bars.delete(key);
    }
  }

  /** @param {string} key @param {typeof PromptBar | typeof AnswerBar} Kind @param {Shown} shown @param {Set<string>} gone @returns {PromptBar | AnswerBar} */
  #bar(key, Kind, shown, gone) {
    gone.delete(key);
    let bar = this.#bars.get(key);
    if (!bar) {
      this.#bars.set(key, (bar = new Kind(this.#context)));
      this.#observer.observe(bar.element);
    }
    bar.show(shown);
    return bar;
  }

  /** @param {Element} target */
  #fill(target) {
    this.#observer.unobserve(target);
    for (const bar of this.#bars.values()) if (bar.element === target) bar.fill();
  }

  /** Show the toolbar of the answer that the pointer is over. @param {Element | null} target */
  #point(target) {
    let near = target?.closest(".messages > *") ?? null;
    while (near && !near.matches(".actions, .user")) near = near.nextElementSibling;
    if (near === this.#near) return;
    this.#near?.classList.remove("near");
    near?.classList.add("near");
    this.#near = near;
  }
}
