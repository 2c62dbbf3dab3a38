// @ts-check
/**
 * The stylesheets of the element: one for a conversation, and one for what is around it, which
 * comes when needed.
 */
import { h } from "../dom/elements.js";

export class Styles {
  #root;
  #host;
  #module;
  /** Settles when the style is loaded or has failed. Nothing is visible before. */
  base;
  /** @type {Promise<unknown> | undefined} */
  #frame;
  /** @type {HTMLSlotElement[]} what shows the page's placeholder until the chat is drawn */
  #slots = [];

  /**
   * @param {HTMLElement} host whose attributes say where they are, if not beside the element's
   *   module
   * @param {ShadowRoot} root @param {string} module the address of the element's module
   */
  constructor(host, root, module) {
    this.#host = host;
    this.#root = root;
    this.#module = module;
    if (host.querySelector(".agui-placeholder")) {
      this.#slots = ["header-start", "header-end", ""].map((name) => h("slot", { name }));
    }
    root.append(...this.#slots);
    this.base = this.#add("agui-chat.css", host.dataset.stylesheetUrl);
  }

  /** Show the chat instead of the placeholder (placeholder.css). @param {HTMLElement} panel */
  reveal(panel) {
    for (const slot of this.#slots) slot.remove();
    this.#host.dataset.drawn = "";
    panel.hidden = false;
  }

  /**
   * Wait for a module, and for the styles that not every chat needs.
   * @template T @param {Promise<T>} [loading] @returns {Promise<T>}
   */
  async withFrame(loading) {
    const add = () => this.#add("agui-frame.css", this.#host.dataset.frameStylesheetUrl);
    await (this.#frame ??= this.base.then(add));
    return /** @type {Promise<T>} */ (loading);
  }

  /** @param {string} name @param {string} [url] */
  #add(name, url = new URL(`./${name}`, this.#module).href) {
    const link = h("link", { rel: "stylesheet", href: url });
    this.#root.append(link);
    return new Promise((show) => {
      link.onload = show;
      // The next use tries again.
      link.onerror = () => show((this.#frame = undefined));
    });
  }
}
