// @ts-check
/**
 * A bar that offers to undo something for some seconds. They start again when the pointer or the
 * focus leaves the bar.
 */
import { h, setText } from "../dom/elements.js";

const SECONDS = 8;

export class UndoBar {
  #text = h("span", {});
  #button;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {{ undo: () => void, over: () => void } | null} */
  #offered = null;
  #settle = () => this.settle();
  element;

  /** @param {string} label */
  constructor(label) {
    const onclick = () => this.undo();
    this.#button = h("button", { type: "button", class: "button quiet", onclick }, label);
    const look = { class: "undo-bar", part: "undo", hidden: true };
    this.element = h("div", look, this.#text, this.#button);
    for (const type of ["pointerenter", "pointerleave", "focusin", "focusout"]) {
      this.element.addEventListener(type, () => this.#wait());
    }
  }

  /**
   * @param {string} text @param {() => void} undo
   * @param {() => void} over called when the user did not undo it
   */
  offer(text, undo, over) {
    this.settle();
    this.#offered = { undo, over };
    // A navigation sends its request before the page is hidden, and may sign the user out.
    for (const type of ["beforeunload", "pagehide"]) addEventListener(type, this.#settle);
    this.#show(text);
  }

  /** Show a message without an undo button. @param {string} text */
  tell(text) {
    this.settle();
    this.#show(text);
  }

  /** Undo; false if there is nothing to undo. */
  undo() {
    const offered = this.#offered;
    this.#offered = null;
    if (offered) this.#hide();
    offered?.undo();
    return Boolean(offered);
  }

  /** The time is over. */
  settle() {
    const offered = this.#offered;
    this.#offered = null;
    this.#hide();
    offered?.over();
  }

  /** Withdraw the offer, and do nothing. */
  drop() {
    this.#offered = null;
    setText(this.#text, "");
    this.#hide();
  }

  /** @param {string} text */
  #show(text) {
    setText(this.#text, text);
    this.#button.hidden = !this.#offered;
    this.element.hidden = false;
    this.#wait();
  }

  #hide() {
    clearTimeout(this.#timer);
    for (const type of ["beforeunload", "pagehide"]) removeEventListener(type, this.#settle);
    this.element.hidden = true;
  }

  #wait() {
    clearTimeout(this.#timer);
    const isUsed = this.element.matches(":hover, :focus-within");
    if (this.element.hidden || isUsed) return;
    this.#timer = setTimeout(() => this.settle(), SECONDS * 1000);
  }
}
