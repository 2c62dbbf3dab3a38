// @ts-check
/** "Good answer" and "Bad answer" in the toolbar below each answer. */
import { iconButton, setAttribute } from "../agui/dom/elements.js";

/** @typedef {import("../agui/messages/answer-bar.js").AnswerBar} AnswerBar */
/** @typedef {{ value: number, comment: string }} Judgement 1, -1, or 0 for nothing */
/** @typedef {Record<string, Judgement | undefined>} Judgements of the user, by message */

/** In English; the tables of other languages have these, too. */
export const RATING_WORDS = { goodAnswer: "Good answer", badAnswer: "Bad answer" };

const THUMB =
  "M7 11v9H4v-9zM7 11l4-7.5c1.4 0 2.3 1 2 2.4L12.4 9H18a2 2 0 0 1 2 2.4l-1.3 7a2 2 0 0 1-2 1.6H7";

/** Let the user rate an answer. @param {AnswerBar} bar */
export function join(bar) {
  return new Rating(bar);
}

export class Rating {
  bar;
  good;
  bad;
  /** @type {HTMLElement | undefined} the form that asks what was bad */
  form;

  /** @param {AnswerBar} bar */
  constructor(bar) {
    this.bar = bar;
    const { goodAnswer, badAnswer } = { ...RATING_WORDS, ...bar.context.strings };
    this.good = iconButton("good", goodAnswer, (event) => this.#judge(1, event), {}, THUMB);
    this.bad = iconButton("bad", badAnswer, (event) => this.#judge(-1, event), {}, THUMB);
    this.bad.style.rotate = "180deg";
  }

  get buttons() {
    return [this.good, this.bad];
  }

  /** What the user thinks of the answer. */
  get given() {
    const { session, turn } = this.bar.shown;
    /** @type {Judgements} */
    const judgements = Object(session.details.feedback);
    const part = turn.parts.findLast(({ id }) => judgements[id]);
    return part && judgements[part.id];
  }

  update() {
    const { bar, good, bad } = this;
    const isAsked = bar.context.host.hasAttribute("data-feedback") && bar.answer;
    const value = this.given?.value ?? 0;
    for (const button of this.buttons) button.hidden = !isAsked;
    setAttribute(good, "aria-pressed", String(value === 1));
    setAttribute(bad, "aria-pressed", String(value === -1));
  }

  /** Rate only once on a double click. @param {1 | -1} value @param {MouseEvent} event */
  async #judge(value, { detail }) {
    if (detail > 1) return;
    const module = await this.bar.context.load(() => import("./judging.js"));
    await module?.judge(this, value);
  }

  remove() {
    this.form?.remove();
  }
}
