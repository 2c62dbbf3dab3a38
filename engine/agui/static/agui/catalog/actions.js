// @ts-check
/** The page's own buttons: in the toolbar of each answer, beside the input, and in the header. */
import { h, icon } from "../dom/elements.js";
import { arrange, reconcile } from "../dom/keyed.js";

/** @typedef {import("../agui-chat.d.ts").Action} Action */
/** @typedef {import("../agui-chat.d.ts").About} About */

export class Actions {
  element = h("span", { class: "own-actions" });
  #on;
  #about;
  /** @type {Map<Action, HTMLElement>} */
  #buttons = new Map();

  /**
   * @param {Action["on"]} on
   * @param {() => Partial<About>} about what a button is about when it is pressed
   */
  constructor(on, about) {
    this.#on = on;
    this.#about = /** @type {() => About} */ (about);
  }

  /** @param {Pick<import("./catalog.js").Catalog, "seams" | "own">} registered by the page */
  update({ seams, own }) {
    const all = /** @type {Action[]} */ ([...seams.values()]).filter(({ on }) => on === this.#on);
    const buttons = reconcile(this.#buttons, all, {
      key: (action) => action,
      make: (action) => this.#make(action),
      drop: (button) => button.remove(),
    });
    arrange(this.element, buttons);
    own?.show(this.element, this.#buttons, this.#about);
  }

  /** @param {Action} action @returns {HTMLElement} */
  #make({ name, label, icon: path, run, when }) {
    const onclick = () => run(this.#about());
    const look = { type: "button", class: "icon-button", part: "action", title: label, onclick };
    const about = { "aria-label": label, "data-action": name, hidden: !!when };
    return h("button", { ...look, ...about }, icon(name, path));
  }
}
