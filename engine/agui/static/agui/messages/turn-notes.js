// @ts-check
/**
 * Notes on turns: a run has failed, with the next step; or an answer is not whole. It is loaded
 * while nothing is wrong, because it tells of a lost network.
 */
import { asksAgain } from "../conversation/conversation.js";
import { h, icon, iconButton } from "../dom/elements.js";
import { reconcile } from "../dom/keyed.js";
import { adopt } from "../dom/own-style.js";
import { turnsOf } from "../conversation/messages.js";
import { format } from "../words/strings.js";

/** @typedef {import("../types.d.ts").Failure} Failure */

/** In English; the tables of other languages have these, too. */
export const NOTE_WORDS = {
  sentLater: "Your message is kept here, and is sent when the connection is back.",
  not_a_stream: "The server's answer could not be read.",
  runId: "Run {id}",
  copyRunId: "Copy the run's ID",
  beginsAgain: "You can continue at {time}.",
  answerCut: "This answer is incomplete.",
  goOn: "Continue",
};

const STYLE = `
.failure {
  align-items: center; background: color-mix(in srgb, var(--_danger) 8%, var(--_background));
  border-radius: var(--_radius); display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.25rem;
  padding: .75rem .9rem;
}
.failure > .icon { color: var(--_danger); flex: none; }
.failure > div { flex: 1 1 12rem; font-size: .95rem; line-height: 1.45; overflow-wrap: anywhere; }
.failure small {
  align-items: center; display: flex; color: var(--_muted); font-family: var(--_mono); font-size:
  .75rem;
}
.failure small span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.failure small .icon-button { height: 1.75rem; width: 1.75rem; }
.failure small .icon { height: .95rem; width: .95rem; }
@media (forced-colors: active) { .failure { border: 1px solid; } }
.failure p { text-align: -webkit-match-parent; text-align: match-parent; unicode-bidi: plaintext; }
`;

/** Failures after which the same message would fail again. */
const NEEDS_NEW_CHAT = ["context_window"];
const NO_USE = ["budget_exceeded", "tool_name_conflict"];

export class TurnNotes {
  #context;
  #place;
  #strings;
  /** @type {Failure | null} */
  #shown = null;
  /** @type {Map<string, HTMLElement>} the notes of earlier turns */
  #notes = new Map();

  /**
   * @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} list
   * @param {HTMLElement} place of the last run's failure
   */
  constructor(context, list, place) {
    this.#context = context;
    this.#place = place;
    this.#strings = { ...NOTE_WORDS, ...context.strings };
    adopt(list, STYLE);
  }

  /** @type {import("./extras.js").Extra["render"]} */
  render({ conversation: { failures, error }, isUndelivered }, views, messages) {
    this.#renderLast(error, isUndelivered);
    const turns = turnsOf(messages);
    const noted = turns.flatMap(({ prompt, parts }, index) => {
      const isLast = index === turns.length - 1;
      const failure = (!isLast && failures[prompt?.id ?? ""]) || null;
      const isCut = parts.some(({ metadata }) => metadata?.answer_cut);
      const last = [prompt, ...parts].findLast((message) => message && views.has(message.id));
      const hasNote = prompt && last && (failure || isCut);
      return hasNote ? [{ id: prompt.id, failure, isLast, last }] : [];
    });
    const notes = reconcile(this.#notes, noted, {
      key: ({ id, failure, isLast }) => `${id} ${failure?.runId} ${isLast}`,
      make: ({ failure, isLast }) => (failure ? this.#failure(failure) : this.#cut(isLast)),
      drop: (note) => note.remove(),
    });
    for (const [index, { last }] of noted.entries()) {
      let end = /** @type {Element} */ (views.get(last.id)?.element);
      const between = ".actions, .answer-form";
      while (end.nextElementSibling?.matches(between)) end = end.nextElementSibling;
      if (end.nextElementSibling !== notes[index]) end.after(notes[index]);
    }
  }

  /** @param {boolean} isLast */
  #cut(isLast) {
    const { answerCut, goOn } = this.#strings;
    const note = h("div", { class: "notice turn-note" }, h("p", {}, answerCut));
    const host = /** @type {any} */ (this.#context.host);
    const onclick = () => host.sendMessage(goOn);
    if (isLast) note.append(h("button", { type: "button", class: "button", onclick }, goOn));
    return note;
  }

  /** @param {Failure} failure */
  #failure(failure) {
    return h(
      "div",
      { class: "failure turn-note", part: "error" },
      icon("alert"),
      this.#words(failure),
    );
  }

  /** @param {Failure | null} error @param {boolean} isUndelivered */
  #renderLast(error, isUndelivered) {
    if (error === this.#shown) return;
    const place = this.#place;
    if (place.matches(":focus-within")) this.#context.host.focus();
    this.#shown = error;
    place.hidden = !error;
    place.replaceChildren(
      ...(error ? [icon("alert"), this.#words(error), ...this.#next(error)] : []),
    );
    const isKept = isUndelivered && error?.code === "connection_lost";
    if (isKept) place.querySelector("div")?.append(h("p", {}, this.#strings.sentLater));
  }

  /** Say what went wrong, with the id to quote when asking for help. @param {Failure} failure */
  #words({ code, message, runId, until, debug }) {
    const strings = this.#strings;
    /** @type {string | undefined} */
    const own = /** @type {Record<string, any>} */ (strings)[code];
    const text = h("div", {}, h("p", {}, own ?? message ?? strings.failedTitle));
    if (until) {
      const time = new Date(until).toLocaleString(strings.lang, {
        dateStyle: "medium",
        timeStyle: "short",
      });
      text.append(h("p", {}, format(strings.beginsAgain, { time })));
    }
    // Only a server with DEBUG sends this.
    if (debug)
      text.append(
        h("p", { class: "muted", dir: "ltr" }, debug.hint),
        ...(debug.cause ? [h("small", { dir: "ltr" }, debug.cause)] : []),
      );
    if (runId && !own) text.append(this.#runId(runId));
    return text;
  }

  /** Return the buttons for the next step. @param {Failure} error @returns {HTMLElement[]} */
  #next(error) {
    const { retry, host } = this.#context;
    const strings = this.#strings;
    const { loginUrl } = host.dataset;
    /** @param {string} text @param {() => void} onclick */
    const button = (text, onclick) =>
      h("button", { type: "button", class: "button", onclick }, text);
    if (error.code === "unauthorized" && loginUrl)
      return [h("a", { class: "button", href: loginUrl }, strings.signIn)];
    if (NEEDS_NEW_CHAT.includes(error.code))
      return [button(strings.newChat, () => /** @type {any} */ (host).newChat())];
    // The cards lead to the questions that are open now.
    return asksAgain(error) || NO_USE.includes(error.code) ? [] : [button(strings.retry, retry)];
  }

  /** @param {string} id */
  #runId(id) {
    const strings = this.#strings;
    const button = iconButton("copy", strings.copyRunId, async () => {
      const module = await this.#context.load(() => import("../dom/copy.js"));
      if (await module?.copyText(id, button)) button.replaceChildren(icon("check"));
    });
    return h("small", {}, h("span", {}, format(strings.runId, { id })), button);
  }
}
