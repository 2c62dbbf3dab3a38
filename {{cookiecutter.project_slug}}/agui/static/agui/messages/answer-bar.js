// @ts-check
/** The toolbar below an answer: copy it, rate it, or ask for another one. */
import { Actions } from "../catalog/actions.js";
import { textOf } from "../conversation/messages.js";
import { copyText } from "../dom/copy.js";
import { h, icon, iconButton, setAttribute, setText } from "../dom/elements.js";
import { lazy, moduleAddress, moduleOf } from "../dom/lazy.js";
import { NOTE_MS, Toolbar } from "./toolbar.js";

/** @typedef {import("./toolbar.js").Shown} Shown */

/** In English; the tables of other languages have these, too. */
export const ANSWER_WORDS = {
  copyAnswer: "Copy the answer",
  regenerate: "Answer again",
  goodAnswer: "Good answer",
  badAnswer: "Bad answer",
  answerActions: "This answer",
};

/**
 * The text of an answer as Markdown, without tool calls and thoughts.
 * @param {import("../conversation/messages.js").Turn} turn
 */
function markdownOf({ parts }) {
  const texts = parts
    .filter(({ role }) => role === "assistant")
    .map(({ content }) => textOf(content).trim());
  return texts.filter(Boolean).join("\n\n");
}

export class AnswerBar extends Toolbar {
  /** @type {HTMLElement | undefined} the form that asks what was bad */
  form;
  /** @type {ReturnType<typeof partsOf> | null} */
  #parts = null;

  /** Made when the bar comes near. */
  get parts() {
    return (this.#parts ??= partsOf(this));
  }

  get words() {
    return { ...ANSWER_WORDS, ...this.context.strings };
  }

  get name() {
    return this.words.answerActions;
  }

  build() {
    const { copy, good, bad, again, actions, used } = this.parts;
    // `again` comes and goes, and the buttons before it must not move.
    return [copy, good, bad, again, actions.element, used];
  }

  /** @param {Shown} shown */
  update({ turn, idle }) {
    const { host } = this.context;
    const { copy, good, bad, again, actions } = this.parts;
    copy.hidden = !markdownOf(turn);
    actions.update(this.context.seams);
    again.hidden = !idle || !turn.prompt;
    const value = this.given?.value ?? 0;
    const isAsked = host.hasAttribute("data-feedback") && moduleAddress(host, "feedback");
    for (const button of [good, bad]) button.hidden = !this.answer || !isAsked;
    setAttribute(good, "aria-pressed", String(value === 1));
    setAttribute(bad, "aria-pressed", String(value === -1));
    this.#tellUsage();
  }

  /** The argument for the page's own buttons. */
  get about() {
    const { session, turn } = this.shown;
    return { text: markdownOf(turn), messageId: this.answer?.id, threadId: session.threadId };
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

  /** The server tells the usage of an answer, or that of the last run. */
  async #tellUsage() {
    const { session, isLast } = this.shown;
    const usage = this.answer?.metadata?.usage ?? (isLast ? session.conversation.usage : []);
    if (![usage].flat().length) return setText(this.parts.used, "");
    const module = await lazy(() => import("./usage.js"));
    if (module) setText(this.parts.used, module.usageText(usage, this.context.strings));
  }

  async copy() {
    const { strings } = this.context;
    const { copy } = this.parts;
    const copied = await copyText(markdownOf(this.shown.turn), copy);
    copy.replaceChildren(icon(copied ? "check" : "copy"));
    setTimeout(() => copy.replaceChildren(icon("copy")), NOTE_MS);
    this.note(copied ? strings.copied : strings.copyFailed);
  }

  /** @param {MouseEvent} event */
  regenerate({ detail }) {
    this.context.regenerate(this.shown.turn.prompt?.id ?? "");
    if (!detail) this.context.host.focus(); // Pressed by keyboard, and gone now.
  }

  /** Rate only once on a double click. @param {1 | -1} value @param {MouseEvent} event */
  async judge(value, { detail }) {
    if (detail > 1) return;
    const { host, load } = this.context;
    const module = await moduleOf(host, "feedback", load);
    await module?.judge(this, value);
  }

  remove() {
    super.remove();
    this.form?.remove();
  }
}

/** @param {AnswerBar} bar */
function partsOf(bar) {
  const strings = bar.words;
  return {
    copy: iconButton("copy", strings.copyAnswer, () => bar.copy()),
    good: iconButton("good", strings.goodAnswer, (event) => bar.judge(1, event)),
    bad: iconButton("bad", strings.badAnswer, (event) => bar.judge(-1, event)),
    again: iconButton("retry", strings.regenerate, (event) => bar.regenerate(event)),
    actions: new Actions("answer", () => bar.about),
    used: h("small", { class: "usage muted" }),
  };
}
