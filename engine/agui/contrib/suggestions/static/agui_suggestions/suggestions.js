// @ts-check
/**
 * Suggestions for the user's next message, below the last answer: a click sends one. Loaded with
 * the first suggestions.
 */
import { h } from "../agui/dom/elements.js";

/** In English; the tables of other languages have these, too. */
export const SUGGESTION_WORDS = { suggestions: "Suggested messages" };

/**
 * @param {import("../agui/types.d.ts").MessageContext} context @param {HTMLElement} column
 * @returns what follows the conversation
 */
export function follow(context, column) {
  return new Suggestions(context, column);
}

class Suggestions {
  #host;
  /** @type {unknown} */ #shown;
  element;

  /** @param {import("../agui/types.d.ts").MessageContext} context @param {HTMLElement} column */
  constructor({ host, strings }, column) {
    this.#host = /** @type {import("../agui/agui-chat.d.ts").AguiChatElement} */ (host);
    const words = { ...SUGGESTION_WORDS, ...strings };
    this.element = h("div", {
      class: "chips",
      role: "group",
      "aria-label": words.suggestions,
      hidden: true,
    });
    this.element.style.justifyContent = "start"; // below the answer that they follow
    column.append(this.element);
  }

  /** @param {import("../agui/session/session.js").Session} session */
  render(session) {
    const { conversation: { messages, status }, queued, loading } = session;
    const isOpen = !session.busy && !queued && !loading && status === "idle";
    const texts = isOpen ? readTexts(messages.at(-1)?.metadata?.follow_ups) : [];
    const shown = JSON.stringify(texts);
    if (shown === this.#shown) return;
    this.#shown = shown;
    // Move the focus first, because removing the buttons would lose it.
    if (this.element.matches(":focus-within")) this.#host.focus();
    this.element.hidden = !texts.length;
    this.element.replaceChildren(...texts.map((text) => this.#chip(text)));
  }

  /** @param {string} text */
  #chip(text) {
    return h(
      "button",
      {
        type: "button",
        class: "chip",
        part: "chip",
        dir: "auto",
        onclick: () => this.#host.sendMessage(text),
      },
      text,
    );
  }
}

/** @param {unknown} texts @returns {string[]} */
export function readTexts(texts) {
  return Array.isArray(texts)
    ? texts.filter((text) => typeof text === "string" && text.trim()).slice(0, 5)
    : [];
}
