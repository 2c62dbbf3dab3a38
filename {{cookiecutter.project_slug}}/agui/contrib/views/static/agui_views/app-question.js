// @ts-check
/** A question about what an app wants, which the page asks above the frame, and one at a time. */
import { h } from "../agui/dom/elements.js";

/** So that nobody who is clicking in the app clicks here. */
const REST_MS = 700;

/** @typedef {{ text: string, detail?: string, yes: string, no: string }} Asked */

export class AppQuestion {
  element = h("div", { class: "app-asks", "aria-live": "assertive" });
  #isOpen = false;

  /** Null if another question is open. @param {Asked} asked @returns {Promise<boolean> | null} */
  ask({ text, detail, yes, no }) {
    if (this.#isOpen) return null;
    this.#isOpen = true;
    return new Promise((resolve) => {
      /** @param {boolean} decision */
      const decide = (decision) => {
        this.#isOpen = false;
        this.element.replaceChildren();
        resolve(decision);
      };
      const look = { type: "button", class: "button" };
      const approve = h("button", { ...look, disabled: true, onclick: () => decide(true) }, yes);
      const deny = h("button", { ...look, onclick: () => decide(false) }, no);
      setTimeout(() => (approve.disabled = false), REST_MS);
      this.element.replaceChildren(
        h(
          "div",
          { role: "group", "aria-label": text },
          h("p", { dir: "auto" }, text),
          detail && h("pre", { class: "value", dir: "auto", tabindex: "0" }, detail),
          h("p", {}, approve, deny),
        ),
      );
    });
  }
}
