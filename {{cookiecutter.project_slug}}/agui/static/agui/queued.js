// @ts-check
/**
 * The message that waits for the end of a run, below the conversation. The user can edit it or take
 * it back.
 */
import { h, icon, iconButton, setText } from "./dom.js";

/** @typedef {{ text: string, attachments: { name: string }[] }} Message */

/** In English; the tables of other languages have these, too. */
export const QUEUE_WORDS = {
  editQueued: "Edit the waiting message",
  removeQueued: "Remove the waiting message",
};

export class Queued {
  #text = h("span", { dir: "auto" });
  #files = h("span", { class: "muted" });
  #context;
  element;

  /** @param {import("./message-views.js").Context} context @param {HTMLElement} column */
  constructor(context, column) {
    const { strings } = (this.#context = context);
    const words = { ...QUEUE_WORDS, ...strings };
    this.element = h(
      "div",
      {
        class: "message user queued",
        part: "queued",
        role: "group",
        "aria-label": strings.queued,
        hidden: true,
      },
      h("div", { class: "bubble" }, this.#text, this.#files),
      h(
        "div",
        { class: "actions paged" },
        icon("pause"),
        h("span", { class: "muted" }, strings.queued),
        iconButton("edit", words.editQueued, () => this.#edit()),
        iconButton("trash", words.removeQueued, () => this.#remove()),
      ),
    );
    column.append(this.element);
  }

  /** @param {{ queued: Message | null }} session */
  render({ queued }) {
    this.element.hidden = !queued;
    setText(this.#text, queued?.text ?? "");
    setText(this.#files, queued?.attachments.map(({ name }) => name).join(", ") ?? "");
  }

  #edit() {
    const { text, attachments } = this.#context.unqueue();
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
