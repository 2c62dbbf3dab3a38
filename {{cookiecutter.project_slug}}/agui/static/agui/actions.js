// @ts-check
/** The page's own buttons: in the toolbar of each answer, beside the input, and in the header. */
import { h, icon } from "./dom.js";
import { arrange, reconcile } from "./keyed.js";

/**
 * `icon` is the path of an SVG on a grid of 24 by 24. The chat calls `run` with the answer, message
 * or thread that the button is about.
 * @typedef {{
 *   name: string, label: string, icon: string, on: "answer" | "composer" | "header",
 *   run: (about: any) => unknown,
 * }} Action
 */

export class Actions {
  element = h("span", { class: "own-actions" });
  #on;
  #about;
  /** @type {Map<Action, HTMLElement>} */
  #buttons = new Map();

  /**
   * @param {Action["on"]} on
   * @param {() => unknown} about what a button is about when it is pressed
   */
  constructor(on, about) {
    this.#on = on;
    this.#about = about;
  }

  /** @param {Map<string, Action>} actions */
  update(actions) {
    const own = [...actions.values()].filter(({ on }) => on === this.#on);
    const buttons = reconcile(this.#buttons, own, {
      key: (action) => action,
      make: (action) => this.#make(action),
      drop: (button) => button.remove(),
    });
    arrange(this.element, buttons);
  }

  /** @param {Action} action @returns {HTMLElement} */
  #make({ name, label, icon: path, run }) {
    const onclick = () => run(this.#about());
    const look = { type: "button", class: "icon-button", part: "action", title: label, onclick };
    return h("button", { ...look, "aria-label": label, "data-action": name }, icon(name, path));
  }
}
