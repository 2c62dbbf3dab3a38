// @ts-check
/**
 * The message that waits for the end of a run, below the conversation. The user can edit it or take
 * it back.
 */
import { h, icon, iconButton, setText } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";

/** @typedef {{ text: string, attachments: { name: string }[] }} Message */

/** In English; the tables of other languages have these, too. */
export const QUEUE_WORDS = {
  queued: "Sent after this answer",
  editQueued: "Edit the waiting message",
  removeQueued: "Remove the waiting message",
  sendAfter: "One message is waiting already. Send this one after it.",
};

const STYLE = `
.queued .bubble { background: none; border: 1px dashed var(--_border); display: grid; }
.queued .bubble > :empty { display: none; }
.column > .queued { margin-top: 1.5rem; }
.queued > .actions { color: var(--_muted); gap: .3rem; }
.queued [role="status"]:not(:empty) { color: var(--_text); font-weight: 550; }
`;

export class Queued {
  #text = h("span", { dir: "auto" });
  #files = h("span", { class: "muted" });
  /** Says that a second message can't wait. */
  #full = h("span", { role: "status" });
  #words;
  #context;
  element;

  /** @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} column */
  constructor(context, column) {
    const { strings } = (this.#context = context);
    const words = (this.#words = { ...QUEUE_WORDS, ...strings });
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
    adopt(column, STYLE);
    // The input takes the key for itself.
    const asked = this.#asked.bind(this);
    for (const type of ["keydown", "click"]) {
      context.host.shadowRoot?.addEventListener(type, asked, { capture: true });
    }
  }

  /** @param {{ queued: Message | null }} session */
  render({ queued }) {
    if (!queued) setText(this.#full, "");
    this.element.hidden = !queued;
    setText(this.#text, queued?.text ?? "");
    setText(this.#files, queued?.attachments.map(({ name }) => name).join(", ") ?? "");
  }

  /** The user sends another message: say so if it has to stay in the input. @param {Event} event */
  #asked(event) {
    const { key, shiftKey, isComposing, keyCode } = /** @type {KeyboardEvent} */ (event);
    const target = /** @type {Element} */ (event.target);
    const isEnter = key === "Enter" && !shiftKey && !isComposing && keyCode !== 229;
    const sends = event.type === "click" ? target.closest("[part=send]") : target.matches(".input");
    if (this.element.hidden || !sends || (event.type === "keydown" && !isEnter)) return;
    const { host } = this.#context;
    setTimeout(() => {
      /** @type {HTMLTextAreaElement | null | undefined} */
      const input = host.shadowRoot?.querySelector(".input");
      if (this.element.hidden || !input?.value.trim()) return;
      setText(this.#full, this.#words.sendAfter);
      this.element.scrollIntoView({ block: "nearest" });
    });
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
