// @ts-check
/**
 * The buttons that approve: a press shows what has not been in view yet, and decides only if there
 * is nothing left. They stay in sight below what is longer than the window.
 */
import { h, setAttribute } from "../dom/elements.js";
import { SEEN_WORDS, Seen } from "./seen.js";

const APPROVING = ".primary, .danger";
const BUTTONS = `.question-buttons > :is(${APPROVING})`;
const BESIDE_THE_TEXT = ".question-buttons, .record, button";

/** What is in view for a shorter time does not count: a page that is growing scrolls by itself. */
const GLANCE_MS = 100;

/** @type {WeakMap<Element, Guard>} by the card's question */
const guards = new WeakMap();
let made = 0;

class Guard {
  isSeen = false;
  #question;
  #seen;
  #hint;

  /** @param {HTMLElement} question @param {string} words */
  constructor(question, words) {
    this.#question = question;
    this.#seen = new Seen(question, BESIDE_THE_TEXT);
    this.#hint = h("p", { class: "unread muted", id: `unread-${(made += 1)}` }, words);
    for (const type of ["click", "submit"]) {
      question.addEventListener(type, (event) => this.#press(event), { capture: true });
    }
  }

  /** Record what is in view; return whether everything has been. */
  look() {
    this.isSeen = this.#seen.look();
    this.enable();
    return this.isSeen;
  }

  /** Enable the buttons if everything has been in view. */
  enable() {
    const { isSeen } = this;
    const buttons = this.#question.querySelectorAll(BUTTONS);
    for (const button of buttons) {
      setAttribute(button, "aria-disabled", isSeen ? null : "true");
      setAttribute(button, "aria-describedby", isSeen ? null : this.#hint.id);
    }
    const row = buttons[0]?.parentElement;
    if (isSeen || !row) this.#hint.remove();
    else if (this.#hint.parentElement !== row) row.prepend(this.#hint);
  }

  showNext() {
    this.#seen.showNext();
    afterFrame(() => this.look());
  }

  /** @param {Event} event */
  #press(event) {
    const target = /** @type {Element} */ (event.target);
    const isForm = event.type === "submit";
    if (!(isForm ? target.querySelector(BUTTONS) : target.closest(BUTTONS))) return;
    // The second click of a double click may have been meant for something else.
    const isSecond = event instanceof UIEvent && event.detail > 1;
    const isSeen = this.look();
    if (isSeen && !isSecond) return;
    event.preventDefault();
    event.stopPropagation();
    if (!isSeen) this.showNext();
  }
}

/** Guard the buttons of a question. @param {HTMLElement} question @param {object} strings */
export function guard(question, strings) {
  const { readFirst } = { ...SEEN_WORDS, ...strings };
  guards.set(question, new Guard(question, readFirst));
}

/** @param {Element[]} questions */
export function guardsOf(questions) {
  return questions.flatMap((question) => guards.get(question) ?? []);
}

/**
 * Look whenever something moves: what is in view, and which cards begin above the window.
 * @param {Element} panel @param {() => void} changed
 */
export function watchQuestions(panel, changed) {
  const log = /** @type {HTMLElement} */ (panel.querySelector(".log"));
  const questions = () => [...log.querySelectorAll(".question")];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let clock;
  const look = () => {
    clock = undefined;
    for (const one of guardsOf(questions())) one.look();
    changed();
  };
  const moved = () => {
    const { top } = log.getBoundingClientRect();
    for (const question of questions()) {
      question.toggleAttribute("data-begins-above", question.getBoundingClientRect().top < top);
    }
    for (const one of guardsOf(questions())) one.enable();
    changed();
    clock ??= setTimeout(() => afterFrame(look), GLANCE_MS);
  };
  panel.addEventListener("scroll", moved, { capture: true, passive: true });
  const sizes = new ResizeObserver(moved);
  for (const element of [log, ...log.children]) sizes.observe(element);
  return moved;
}

/** Between two frames the layout may be one that nobody sees. @param {() => void} look */
function afterFrame(look) {
  requestAnimationFrame(() => setTimeout(look));
}
