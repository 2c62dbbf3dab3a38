// @ts-check
/**
 * The bar above the input while questions are open: several can be approved or denied at once, and
 * a line says what a message does to them.
 */
import { h, setAttribute, setText } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";
import { denial } from "../session/answers.js";
import { counted } from "../words/strings.js";
import { guardsOf, watchQuestions } from "./guard.js";
import { focusQuestion } from "./next-question.js";
import { openQuestions } from "./open-questions.js";
import { OPEN_STYLE } from "./open-style.js";
import { SEEN_WORDS } from "./seen.js";

/** @typedef {import("../session/session.js").Session} Session */

/** In English; the tables of other languages have these, too. */
export const OPEN_WORDS = {
  openQuestions: "Open questions",
  /** @type {Record<string, string>} */
  answersLeft: {
    one: "{count} more to decide, then all answers are sent.",
    other: "{count} more to decide, then all answers are sent.",
  },
  /** @type {Record<string, string>} */
  recordedLeft: { one: "Recorded, {count} to go", other: "Recorded, {count} to go" },
  recordedAll: "Recorded",
  /** @type {Record<string, string>} */
  approveTogether: { one: "Approve {count}", other: "Approve {count}" },
  denyAll: "Deny all",
  nextQuestion: "Next",
  keptSingle: "Destructive ones are approved one by one.",
  /** @type {Record<string, string>} */
  messageDenies: {
    one: "Sending this denies the open question, with your message as the reason.",
    other: "Sending this denies the {count} open questions, with your message as the reason.",
  },
  /** @type {Record<string, string>} */
  messageSkips: {
    one: "Sending this skips the open question.",
    other: "Sending this skips the {count} open questions.",
  },
  /** @type {Record<string, string>} */
  messageKeeps: {
    one: "The recorded answer is sent with it.",
    other: "The {count} recorded answers are sent with it.",
  },
};

/** So low a window has no room above its input. */
const LOW = "(max-height: 30rem)";

let made = 0;

export class OpenBar {
  #context;
  #words;
  #panel;
  /** @type {import("./open-questions.js").Open | undefined} */
  #open;
  #text = h("p");
  #effect = h("p", { class: "message-effect", id: `message-effect-${(made += 1)}` });
  #approve;
  #deny;
  #bar;
  #look;

  /** @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} messages */
  constructor(context, messages) {
    const words = (this.#words = { ...OPEN_WORDS, ...SEEN_WORDS, ...context.strings });
    this.#context = context;
    this.#panel = /** @type {HTMLElement} */ (messages.closest(".panel"));
    const next = () => focusQuestion(this.#panel, this.#input);
    const approve = () => this.#approveTogether();
    const deny = () => this.#decide("left");
    this.#approve = button("", "button primary", approve);
    this.#deny = button(words.denyAll, "button", deny);
    const row = h("div", { class: "buttons" },
      button(words.nextQuestion, "button quiet", next), this.#deny, this.#approve,
    );
    const look = { class: "open-bar", role: "group", "aria-label": words.openQuestions };
    this.#bar = h("div", { ...look, hidden: true }, this.#text, row);
    const above = /** @type {Element} */ (this.#input.closest(".column"));
    above.prepend(this.#effect);
    const low = matchMedia(LOW);
    const place = () => {
      if (low.matches) messages.parentElement?.append(this.#bar);
      else above.prepend(this.#bar);
    };
    low.addEventListener("change", place);
    place();
    adopt(this.#bar, OPEN_STYLE);
    this.#look = watchQuestions(this.#panel, () => this.#enable());
  }

  get #input() {
    return /** @type {HTMLTextAreaElement} */ (this.#panel.querySelector(".composer .input"));
  }

  /** @param {Session} session */
  render(session) {
    const words = this.#words;
    const { interrupts } = session.conversation;
    const open = openQuestions(interrupts, (interrupt) => session.decisionOn(interrupt));
    this.#open = open;
    const { left, together, keepsSome } = open;
    this.#bar.hidden = interrupts.length < 2 || !left.length;
    const kept = keepsSome ? ` ${words.keptSingle}` : "";
    setText(this.#text, counted(words, "answersLeft", left.length) + kept);
    setText(this.#approve, counted(words, "approveTogether", together.length));
    this.#approve.hidden = !together.length;
    this.#deny.hidden = left.length < 2;
    const toGo = left.length ? counted(words, "recordedLeft", left.length) : words.recordedAll;
    for (const place of this.#panel.querySelectorAll(".to-go")) setText(place, toGo);
    const effect = this.#effectOf(open);
    setText(this.#effect, effect);
    // A screen reader says it with the input, before anything is sent.
    setAttribute(this.#input, "aria-describedby", effect ? this.#effect.id : null);
    this.#look();
  }

  /** What a message does to the questions. @param {import("./open-questions.js").Open} open */
  #effectOf({ left, recorded, hasApproval }) {
    if (!left.length) return "";
    const words = this.#words;
    const effect = counted(words, hasApproval ? "messageDenies" : "messageSkips", left.length);
    return recorded ? `${effect} ${counted(words, "messageKeeps", recorded)}` : effect;
  }

  /** Of the cards that would be approved together. */
  get #guards() {
    const ids = new Set(this.#open?.together.map(({ id }) => id));
    const all = /** @type {HTMLElement[]} */ ([...this.#panel.querySelectorAll(".question")]);
    return guardsOf(all.filter(({ dataset }) => ids.has(dataset.interrupt ?? "")));
  }

  #enable() {
    const isSeen = this.#guards.every((guard) => guard.isSeen);
    setAttribute(this.#approve, "aria-disabled", isSeen ? null : "true");
    setAttribute(this.#approve, "title", isSeen ? null : this.#words.readFirst);
  }

  #approveTogether() {
    const unseen = this.#guards.find((guard) => !guard.look());
    if (unseen) unseen.showNext();
    else this.#decide("together");
    this.#enable();
  }

  /** @param {"together" | "left"} which */
  #decide(which) {
    const { decide } = this.#context;
    for (const interrupt of this.#open?.[which] ?? []) {
      /** @type {import("../types.d.ts").Decision} */
      const yes = { status: "resolved", payload: { approved: true } };
      decide(interrupt.id, which === "together" ? yes : denial(interrupt));
    }
  }
}

/**
 * The second click of a double click was meant for the button that stood here before.
 * @param {string} text @param {string} look @param {() => void} press
 */
function button(text, look, press) {
  const onclick = (/** @type {MouseEvent} */ { detail }) => detail > 1 || press();
  return h("button", { type: "button", class: look, onclick }, text);
}
