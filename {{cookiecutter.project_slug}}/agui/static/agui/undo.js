// @ts-check
/** A bar that offers for some seconds to take something back. The seconds begin anew when the pointer or the focus leaves it. */
import { h, setText } from "./dom.js";

const SECONDS = 8;

export class UndoBar {
  #text = h("span", { dir: "auto" });
  #button;
  /** @type {any} */
  #timer = 0;
  /** @type {{ undo: () => void, over: () => void } | null} */
  #offered = null;
  #settle = () => this.settle();
  element;

  /** @param {string} label */
  constructor(label) {
    this.#button = h("button", { type: "button", class: "button quiet", onclick: () => this.undo() }, label);
    this.element = h("div", { class: "undo-bar", part: "undo", hidden: true }, this.#text, this.#button);
    for (const type of ["pointerenter", "pointerleave", "focusin", "focusout"]) this.element.addEventListener(type, () => this.#wait());
  }

  /** @param {string} text @param {() => void} undo @param {() => void} over called when it was not taken back */
  offer(text, undo, over) {
    this.settle();
    this.#offered = { undo, over };
    // A navigation asks the server before the page is hidden, and may sign the user out.
    for (const type of ["beforeunload", "pagehide"]) addEventListener(type, this.#settle);
    this.#show(text);
  }

  /** Say something that can't be taken back. @param {string} text */
  tell(text) {
    this.settle();
    this.#show(text);
  }

  /** Take it back; false when there is nothing. */
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

  /** Offer it no longer, and do nothing. */
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
    if (!this.element.hidden && !this.element.matches(":hover, :focus-within")) this.#timer = setTimeout(() => this.settle(), SECONDS * 1000);
  }
}
