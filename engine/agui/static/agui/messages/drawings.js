// @ts-check
/** What a page has in the messages: drawings of calls, avatars, and changes of finished answers. */
import { Avatars } from "./avatars.js";
import { removeDrawings } from "../tools/page-view.js";

/** @typedef {import("../types.d.ts").MessageContext} Context */
/** @typedef {import("../agui-chat.d.ts").Dress} Dress */

export class Drawings {
  #context;
  #avatars;
  /** @type {WeakMap<Element, Set<Dress>>} what has changed a text since it was drawn */
  #applied = new WeakMap();
  /** @type {Set<Element>} the texts that are complete */
  #finished = new Set();

  /** @param {Context} context @param {HTMLElement} list */
  constructor(context, list) {
    this.#context = context;
    this.#avatars = new Avatars(context, list);
    // A text may be drawn again, for example when a module has arrived that it needs.
    const drawn = (/** @type {any} */ { target }) => {
      this.#applied.delete(target);
      if (this.#finished.has(target)) this.#dress(target);
    };
    list.addEventListener("drawn", drawn, { capture: true });
  }

  /** @type {import("./extras.js").Extra["render"]} */
  render(session, views, messages) {
    removeDrawings();
    this.#avatars.render(session, views, messages);
    this.#finished.clear();
    const last = session.busy && messages.at(-1);
    for (const message of messages) {
      const isText = message.role === "assistant" && message.content && message !== last;
      const prose = isText ? views.get(message.id)?.element.querySelector(":scope > .prose") : null;
      if (!prose) continue;
      this.#finished.add(prose);
      this.#dress(prose);
    }
  }

  /** Let the page change a text, once with each of its functions. @param {Element} prose */
  #dress(prose) {
    if (prose.matches(".plain")) return;
    const applied = this.#applied.get(prose) ?? new Set();
    this.#applied.set(prose, applied);
    for (const dress of this.#context.seams.keys()) {
      if (typeof dress !== "function" || applied.has(/** @type {Dress} */ (dress))) continue;
      applied.add(/** @type {Dress} */ (dress));
      try {
        dress(prose);
      } catch (error) {
        console.error("agui-chat:", error);
      }
    }
  }
}
