// @ts-check
/** What the toolbars below messages have in common. */
import { h, setAttribute, setText } from "./dom.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {{ session: Session, turn: import("./message-actions.js").Turn, isLast: boolean, idle: boolean }} Shown idle: no run is on, and nothing is asked */

export const NOTE_MS = 3000;

/** A toolbar: Tab comes to one of its buttons, the arrows go to the others. */
export class Toolbar {
  element = h("div", { class: "actions", part: "actions" });
  /** @type {any} */
  context;
  /** @type {any} */
  shown;
  #filled = false;
  #note = h("span", { class: "muted", role: "status" });
  /** @type {any} */
  #timer = 0;

  /** @param {import("./message-views.js").Context} context */
  constructor(context) {
    this.context = context;
  }

  /** @param {Shown} shown */
  show(shown) {
    this.shown = shown;
    this.element.classList.toggle("last", shown.isLast);
    if (this.#filled) this.#update();
  }

  remove() {
    this.element.remove();
  }

  fill() {
    if (this.#filled) return;
    this.#filled = true;
    const { element } = this;
    // Not to be read out with the answer.
    for (const [name, value] of [["role", "toolbar"], ["aria-label", this.name], ["aria-live", "off"]]) setAttribute(element, name, value);
    element.append(...this.build(), this.#note);
    element.addEventListener("keydown", (event) => this.#keydown(event));
    element.addEventListener("focusin", ({ target }) => this.#rove(target));
    this.#update();
  }

  #update() {
    this.update(this.shown);
    this.#rove(this.#buttons.find((button) => button.tabIndex === 0));
  }

  get #buttons() {
    return /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll("button:not([hidden])")]);
  }

  /** @param {any} chosen */
  #rove(chosen) {
    const buttons = this.#buttons;
    const stop = buttons.includes(chosen) ? chosen : buttons[0];
    for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const buttons = this.#buttons;
    const at = buttons.indexOf(/** @type {any} */ (event.target));
    const forward = this.element.matches(":dir(rtl)") ? -1 : 1;
    const steps = { ArrowRight: forward, ArrowLeft: -forward, Home: -at, End: -1 - at };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    buttons.at((at + step) % buttons.length)?.focus();
  }

  /** Say for a while what has come of it. @param {string} text */
  note(text) {
    clearTimeout(this.#timer);
    setText(this.#note, text);
    this.#timer = setTimeout(() => setText(this.#note, ""), NOTE_MS);
  }

  // --- What each kind has of its own

  /** @returns {string} */
  get name() {
    return "";
  }

  /** @returns {HTMLElement[]} */
  build() {
    return [];
  }

  /** @param {Shown} shown */
  update(shown) {}
}
