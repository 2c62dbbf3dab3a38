// @ts-check
/**
 * The message that waits for the end of a run, below the conversation. The user can edit it or take
 * it back.
 */
import { h, icon, iconButton, setText } from "../dom/elements.js";

/** @typedef {{ text: string, attachments: { name: string }[] }} Message */

/** In English; the tables of other languages have these, too. */
export const QUEUE_WORDS = {
  queued: "Sent after this answer",
  editQueued: "Edit the waiting message",
  removeQueued: "Remove the waiting message",
};

export class Queued {
  #text = h("span", { dir: "auto" });
  #files = h("span", { class: "muted" });
  /** Says that a second message can't wait. */
  #full = h("span", { role: "status" });
  #context;
  element;

  /** @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} column */
  constructor(context, column) {
    const { strings } = (this.#context = context);
    const words = { ...QUEUE_WORDS, ...strings };
    this.element = h(
      "div",
      {
        class: "message user queued",
        part: "queued",
        role: "group",
        "aria-label": words.queued,
        hidden: true,
      },
      h("div", { class: "bubble" }, this.#text, this.#files),
      h(
        "div",
        { class: "actions paged" },
        icon("pause"),
        h("span", { class: "muted" }, words.queued),
        this.#full,
        iconButton("edit", words.editQueued, () => this.#edit()),
        iconButton("trash", words.removeQueued, () => this.#remove()),
      ),
    );
    column.append(this.element);
    // The input takes the key for itself.
    const refuse = this.#refuse.bind(this);
    context.host.shadowRoot?.addEventListener("keydown", refuse, { capture: true });
  }

  /** @param {{ queued: Message | null }} session */
  render({ queued }) {
    if (!queued) setText(this.#full, "");
    this.element.hidden = !queued;
    setText(this.#text, queued?.text ?? "");
    setText(this.#files, queued?.attachments.map(({ name }) => name).join(", ") ?? "");
  }

  /** @param {Event} event a key that is pressed in the chat */
  #refuse(event) {
    const { key, shiftKey } = /** @type {KeyboardEvent} */ (event);
    const target = /** @type {HTMLTextAreaElement} */ (event.target);
    const sends = key === "Enter" && !shiftKey && target.matches(".input") && target.value.trim();
    if (sends && !this.element.hidden) setText(this.#full, this.#context.strings.queueFull);
  }

  #edit() {
    const message = this.#context.unqueue();
    if (!message) return;
    const { text, attachments } = message;
    this.#context.rewrite({
      content: text,
      ...(attachments.length && { metadata: { attachments } }),
    });
    this.#context.host.focus();
  }

  #remove() {
    this.#context.unqueue();
    this.#context.host.focus();
  }
}
