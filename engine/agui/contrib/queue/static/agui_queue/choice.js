// @ts-check
/** The choice when the agent reads what the user writes while it works: visible, and by keys. */
import { h } from "../agui/dom/elements.js";
import { keyNames } from "../agui/finding/key-names.js";

/** @typedef {import("./rows.js").Mode} Mode */

export class Choice {
  #later;
  #composer;
  #session;
  #element;

  /**
   * @param {import("./attend.js").Later} later
   * @param {import("../agui/types.d.ts").PageContext} context
   * @param {import("./words.js").Words} words
   */
  constructor(later, { host, composer }, words) {
    this.#later = later;
    this.#composer = composer;
    this.#session = host.session;
    const [usual, other] = later.modes;
    const names = { queue: words.afterAnswer, steer: words.nextStep };
    this.#element = h(
      "div", { class: "when-read", role: "group", "aria-label": words.whenRead, hidden: true },
      this.#button(usual, names[usual], "Enter"),
      other && this.#button(other, names[other], "Ctrl+Enter"),
      this.#button("stop", words.stopAndSend),
    );
    composer.input.after(this.#element);
    const render = () => this.#render();
    this.#session.addEventListener("change", render);
    composer.input.addEventListener("input", render);
    this.#render();
  }

  /** @param {Mode | "stop"} mode @param {string} label @param {string} [keys] */
  #button(mode, label, keys) {
    const onclick = () => {
      this.#later.next = mode;
      /** @type {HTMLButtonElement | null} */
      const send = this.#composer.box.querySelector("[part=send]");
      send?.click();
    };
    const hint = keys && h("kbd", { "aria-hidden": "true", dir: "ltr" }, keyNames(keys));
    const look = { type: "button", onclick, "aria-keyshortcuts": keys?.replace("Ctrl", "Control") };
    return h("button", look, label, hint);
  }

  #render() {
    const { busy, stopping } = this.#session;
    this.#element.hidden = !busy || stopping || !this.#composer.text.trim();
  }
}
