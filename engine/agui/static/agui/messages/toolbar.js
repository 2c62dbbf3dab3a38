// @ts-check
/** The common part of the toolbars below messages. */
import { h, setAttribute, setText } from "../dom/elements.js";

/** @typedef {import("../session/session.js").Session} Session */
/**
 * What a toolbar is about. idle: no run is on, and nothing is asked.
 * @typedef {{
 *   session: Session, turn: import("../conversation/messages.js").Turn, isLast: boolean,
 *   idle: boolean,
 * }} Shown
 */

export const NOTE_MS = 3000;

/** A toolbar. Tab reaches one of its buttons, and the arrow keys the others. */
export class Toolbar {
  element = h("div", { class: "actions", part: "actions" });
  context;
  /** @type {Shown} */
  shown = /** @type {any} */ (null);
  #filled = false;
  #time = h("time", { class: "muted" });
  #note = h("span", { class: "muted", role: "status" });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {import("../types.d.ts").MessageContext} context */
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
    // Keep screen readers from reading the button with the answer.
    setAttribute(element, "role", "toolbar");
    setAttribute(element, "aria-label", this.name);
    setAttribute(element, "aria-live", "off");
    element.append(...this.build(), this.#time, this.#note);
    element.addEventListener("keydown", (event) => this.#keydown(event));
    element.addEventListener("focusin", ({ target }) => this.#rove(target));
    this.#update();
  }

  #update() {
    this.update(this.shown);
    this.#tellTime(this.shown.session.times.get(this.message?.id ?? ""));
    this.#rove(this.#buttons.find((button) => button.tabIndex === 0));
  }

  /** @param {string | number | undefined} time */
  #tellTime(time) {
    const at = new Date(time ?? NaN);
    if (Number.isNaN(at.getTime())) return;
    const { lang } = this.context.strings;
    const isToday = at.toDateString() === new Date().toDateString();
    const dateStyle = isToday ? undefined : "medium";
    setText(this.#time, at.toLocaleString(lang, { dateStyle, timeStyle: "short" }));
    setAttribute(this.#time, "datetime", at.toISOString());
    const title = at.toLocaleString(lang, { dateStyle: "full", timeStyle: "medium" });
    setAttribute(this.#time, "title", title);
  }

  get #buttons() {
    const buttons = this.element.querySelectorAll("button:not([hidden])");
    return /** @type {HTMLElement[]} */ ([...buttons]);
  }

  /** @param {EventTarget | null | undefined} chosen */
  #rove(chosen) {
    const buttons = this.#buttons;
    const stop = buttons.find((button) => button === chosen) ?? buttons[0];
    for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const buttons = this.#buttons;
    const at = buttons.indexOf(/** @type {HTMLElement} */ (event.target));
    const forward = this.element.matches(":dir(rtl)") ? -1 : 1;
    const steps = { ArrowRight: forward, ArrowLeft: -forward, Home: -at, End: -1 - at };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    buttons.at((at + step) % buttons.length)?.focus();
  }

  /** Show the outcome for a while. @param {string} text */
  note(text) {
    clearTimeout(this.#timer);
    setText(this.#note, text);
    this.#timer = setTimeout(() => setText(this.#note, ""), NOTE_MS);
  }

  // --- For subclasses

  /** @returns {import("../types.d.ts").Message | null | undefined} whose time is told */
  get message() {
    return null;
  }

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
