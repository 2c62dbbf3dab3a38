// @ts-check
/** Below an answer: copy it, judge it, have another one. */
import { textOf } from "./conversation.js";
import { copyText } from "./copy.js";
import { h, icon, iconButton, setAttribute, setText } from "./dom.js";
import { format } from "./strings.js";
import { NOTE_MS, Toolbar } from "./toolbar.js";

/** @typedef {import("./toolbar.js").Shown} Shown */

/** What an answer says, as Markdown, without its tool calls and thoughts. @param {import("./message-actions.js").Turn} turn */
function markdownOf({ parts }) {
  return parts.filter(({ role }) => role === "assistant").map(({ content }) => textOf(content).trim()).filter(Boolean).join("\n\n");
}

export class AnswerBar extends Toolbar {
  get name() {
    return this.context.strings.answerActions;
  }

  build() {
    const { strings } = this.context;
    this.copy = iconButton("copy", strings.copyAnswer, () => this.#copy());
    // Last, as it comes and goes: the others stay where they are.
    this.again = iconButton("retry", strings.regenerate, (event) => this.#regenerate(event));
    this.good = iconButton("good", strings.goodAnswer, (event) => this.#judge(1, event));
    this.bad = iconButton("bad", strings.badAnswer, (event) => this.#judge(-1, event));
    this.used = h("small", { class: "usage muted" });
    return [this.copy, this.good, this.bad, this.again, this.used];
  }

  /** @param {Shown} shown */
  update({ session, turn, isLast, idle }) {
    const { host } = this.context;
    this.copy.hidden = !markdownOf(turn);
    this.again.hidden = !idle || !turn.prompt;
    const value = this.given?.value ?? 0;
    for (const [button, its] of [[this.good, 1], [this.bad, -1]]) {
      button.hidden = !this.answer || !host.hasAttribute("data-feedback");
      setAttribute(button, "aria-pressed", String(value === its));
    }
    // The last run's: of others nobody has told.
    if (isLast) setText(this.used, this.#usage(session.conversation.usage));
  }

  /** The message that stands for the whole answer. */
  get answer() {
    return this.shown.turn.parts.findLast(({ role }) => role === "assistant");
  }

  get given() {
    const { session, turn } = this.shown;
    const part = turn.parts.findLast(({ id }) => session.feedback[id]);
    return part && session.feedback[part.id];
  }

  /** @param {any[]} usage */
  #usage(usage) {
    const { strings } = this.context;
    if (!usage.length) return "";
    const sum = (name) => new Intl.NumberFormat(strings.lang).format(usage.reduce((total, one) => total + (one[name] ?? 0), 0));
    return format(strings.usage, { input: sum("inputTokens"), output: sum("outputTokens") });
  }

  async #copy() {
    const { strings } = this.context;
    const copied = await copyText(markdownOf(this.shown.turn), this.copy);
    this.copy.replaceChildren(icon(copied ? "check" : "copy"));
    setTimeout(() => this.copy.replaceChildren(icon("copy")), NOTE_MS);
    this.note(copied ? strings.copied : strings.copyFailed);
  }

  /** @param {any} event */
  #regenerate({ detail }) {
    this.context.regenerate(this.shown.turn.prompt.id);
    if (!detail) this.context.host.focus(); // By the keyboard: the button is gone now
  }

  /** A double click judges once. @param {number} value @param {any} event */
  async #judge(value, { detail }) {
    if (detail > 1) return;
    const { strings } = this.context;
    const wanted = this.given?.value === value ? 0 : value;
    const answer = this.answer;
    this.form?.remove();
    if (!(await this.context.feedback(answer.id, wanted))) return this.note(strings.feedbackFailed);
    this.note(wanted > 0 ? strings.feedbackThanks : "");
    if (wanted < 0) await this.#ask(answer);
  }

  remove() {
    super.remove();
    this.form?.remove();
  }

  /** What was bad about it? @param {any} answer */
  async #ask(answer) {
    const { FeedbackForm } = await import("./feedback-form.js");
    const { bad } = this;
    if (this.given?.value !== -1) return;
    const form = new FeedbackForm(this.context.strings, {
      send: (comment) => this.context.feedback(answer.id, -1, comment),
      closed: (sent) => (bad.focus(), sent && this.note(this.context.strings.feedbackThanks)),
    });
    this.form = form.element;
    this.element.after(this.form);
    form.focus();
  }
}
