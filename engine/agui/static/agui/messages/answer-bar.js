// @ts-check
/** The toolbar below an answer: copy it, ask for another one, and what parts add. */
import { Actions } from "../catalog/actions.js";
import { textOf } from "../conversation/messages.js";
import { h, icon, iconButton, setText } from "../dom/elements.js";
import { joinAll, lazy } from "../dom/lazy.js";
import { read } from "../markdown/nodes.js";
import { NOTE_MS, Toolbar } from "./toolbar.js";

/** @typedef {import("./toolbar.js").Shown} Shown */

const FORK = "M7 4v16M7 14c7 0 10-2 10-9M13.5 8.5 17 5l3.5 3.5";
/** In English; the tables of other languages have these, too. */
export const ANSWER_WORDS = {
  copyAnswer: "Copy the answer",
  regenerate: "Answer again",
  answerActions: "This answer",
  fork: "Continue in a new conversation",
  forkFailed: "That is not possible from this answer.",
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
  /** @type {ReturnType<typeof partsOf> | null} */
  #parts = null;
  #joins;
  /** @type {import("../types.d.ts").BarAddition[]} what parts have added */
  #additions = [];

  /**
   * @param {import("../types.d.ts").MessageContext} context
   * @param {import("../types.d.ts").AnswerModule[]} joins modules of parts
   */
  constructor(context, joins) {
    super(context);
    this.#joins = joins;
  }

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

  get message() {
    return this.answer;
  }

  build() {
    const { copy, again, fork, actions, used } = this.parts;
    this.#additions = joinAll(this.#joins, this);
    const added = this.#additions.flatMap(({ buttons }) => buttons);
    // `again` and `fork` come and go, and the buttons before them must not move.
    return [copy, ...added, again, fork, actions.element, used];
  }

  /** @param {Shown} shown */
  update({ turn, idle }) {
    const { copy, again, fork, actions } = this.parts;
    copy.hidden = !markdownOf(turn);
    actions.update(this.context);
    again.hidden = !idle || !turn.prompt;
    fork.hidden = !idle || !this.answer || !this.context.client.hasThreads;
    for (const addition of this.#additions) addition.update();
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
    const text = markdownOf(this.shown.turn);
    const { nodes } = read(text, false, new Map(), strings);
    const module = await lazy(() => import("../markdown/copying.js"));
    const copied = await module?.copyWhole(text, nodes, copy);
    copy.replaceChildren(icon(copied ? "check" : "copy"));
    setTimeout(() => copy.replaceChildren(icon("copy")), NOTE_MS);
    this.note(copied ? strings.copied : strings.copyFailed);
  }

  async fork() {
    (await lazy(() => import("./fork.js")))?.fork(this);
  }

  /** @param {MouseEvent} event */
  regenerate({ detail }) {
    this.context.regenerate(this.shown.turn.prompt?.id ?? "");
    if (!detail) this.context.host.focus(); // Pressed by keyboard, and gone now.
  }

  remove() {
    super.remove();
    for (const addition of this.#additions) addition.remove();
  }
}

/** @param {AnswerBar} bar */
function partsOf(bar) {
  const strings = bar.words;
  return {
    copy: iconButton("copy", strings.copyAnswer, () => bar.copy()),
    again: iconButton("retry", strings.regenerate, (event) => bar.regenerate(event)),
    fork: iconButton("fork", strings.fork, () => bar.fork(), {}, FORK),
    actions: new Actions("answer", () => bar.about),
    used: h("small", { class: "usage muted" }),
  };
}
