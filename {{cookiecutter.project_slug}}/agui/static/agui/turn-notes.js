// @ts-check
/**
 * What is said of turns beside their messages: that a run has failed, and what to do next; that the model could not
 * read a file. Loaded with the first of these.
 */
import { asksAgain } from "./conversation.js";
import { h, icon, iconButton } from "./dom.js";
import { turnsOf } from "./message-actions.js";
import { format } from "./strings.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./conversation.js").Failure} Failure */

/** In English; the tables of other languages have these, too. */
export const NOTE_WORDS = {
  runId: "Run {id}",
  copyRunId: "Copy the run's number",
  beginsAgain: "You can go on from {time}.",
  filesLeftOut: "The assistant can't read a file of this conversation and goes on without it.",
};

/** Failures after which the same message would fail again. */
const NEEDS_NEW_CHAT = ["context_window"];
const NO_USE = ["budget_exceeded", "tool_name_conflict"];

export class TurnNotes {
  #context;
  #list;
  #place;
  #strings;
  /** @type {Failure | null} */
  #shown = null;
  /** @type {Map<string, { element: HTMLElement, of: any }>} the notes of earlier turns, by the prompt's id */
  #notes = new Map();

  /** @param {import("./message-views.js").Context} context @param {HTMLElement} list @param {HTMLElement} place of the last run's failure */
  constructor(context, list, place) {
    this.#context = context;
    this.#list = list;
    this.#place = place;
    this.#strings = { ...NOTE_WORDS, ...context.strings };
  }

  /** @param {Session} session @param {Map<string, { element: HTMLElement }>} views by message */
  render({ conversation: { messages, failures, error } }, views) {
    this.#renderLast(error);
    const gone = new Set(this.#notes.keys());
    const turns = turnsOf(messages);
    for (const [index, { prompt, parts }] of turns.entries()) {
      if (!prompt) continue;
      const failure = index < turns.length - 1 ? failures[prompt.id] : null;
      const leaves = parts.some(({ metadata }) => metadata?.files_left_out);
      const last = [prompt, ...parts].findLast(({ id }) => views.has(id));
      if (!last || (!failure && !leaves)) continue;
      gone.delete(prompt.id);
      const known = this.#notes.get(prompt.id);
      const of = failure ?? true;
      if (known?.of !== of) known?.element.remove();
      const element = known?.of === of ? known.element : this.#note(failure);
      this.#notes.set(prompt.id, { element, of });
      let end = /** @type {Element} */ (views.get(last.id)?.element);
      while (end.nextElementSibling?.matches(".actions, .feedback")) end = end.nextElementSibling;
      if (end.nextElementSibling !== element) end.after(element);
    }
    for (const id of gone) {
      this.#notes.get(id)?.element.remove();
      this.#notes.delete(id);
    }
  }

  /** @param {Failure | null} failure */
  #note(failure) {
    if (!failure) return h("p", { class: "notice turn-note" }, this.#strings.filesLeftOut);
    return h("div", { class: "failure turn-note", part: "error" }, icon("alert"), this.#words(failure));
  }

  /** @param {Failure | null} error */
  #renderLast(error) {
    if (error === this.#shown) return;
    const place = this.#place;
    if (place.matches(":focus-within")) this.#context.host.focus();
    this.#shown = error;
    place.hidden = !error;
    place.replaceChildren(...(error ? [icon("alert"), this.#words(error), ...this.#next(error)] : []));
  }

  /** What went wrong, and what to quote when asking for help. @param {Failure} failure */
  #words({ code, message, runId, until, debug }) {
    const strings = this.#strings;
    const own = strings[code];
    const text = h("div", {}, h("p", {}, own ?? message ?? strings.failedTitle));
    if (until) {
      const time = new Date(until).toLocaleString(strings.lang, { dateStyle: "medium", timeStyle: "short" });
      text.append(h("p", {}, format(strings.beginsAgain, { time })));
    }
    // Only from a server with DEBUG.
    if (debug) text.append(h("p", { class: "muted", dir: "ltr" }, debug.hint), ...(debug.cause ? [h("small", { dir: "ltr" }, debug.cause)] : []));
    if (runId && !own) text.append(this.#runId(runId));
    return text;
  }

  /** The next step. @param {Failure} error @returns {HTMLElement[]} */
  #next(error) {
    const { retry, host } = this.#context;
    const strings = this.#strings;
    const { loginUrl } = host.dataset;
    const button = (text, onclick) => h("button", { type: "button", class: "button", onclick }, text);
    if (error.code === "unauthorized" && loginUrl) return [h("a", { class: "button", href: loginUrl }, strings.signIn)];
    if (NEEDS_NEW_CHAT.includes(error.code)) return [button(strings.newChat, () => /** @type {any} */ (host).newChat())];
    // To what is open now the cards are the way back.
    return asksAgain(error) || NO_USE.includes(error.code) ? [] : [button(strings.retry, retry)];
  }

  /** @param {string} id */
  #runId(id) {
    const strings = this.#strings;
    const button = iconButton("copy", strings.copyRunId, async () => {
      const { copyText } = await import("./copy.js");
      if (await copyText(id, button)) button.replaceChildren(icon("check"));
    });
    return h("small", {}, format(strings.runId, { id }), button);
  }
}
