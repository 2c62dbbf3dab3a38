// @ts-check
/** An editor for a message of the user, in its place. */
import { h } from "../dom/elements.js";
import { EDIT_WORDS } from "../words/edit-words.js";

/**
 * @typedef {{ save: (text: string) => unknown, cancelled: () => void }} Hooks
 *   `save` answers whether it was possible
 */

/** The words of this module. */
export const EDITOR_WORDS = {
  ...EDIT_WORDS,
  editHint: "A new answer is written. This one is kept as a version.",
  saveMessage: "Save",
  cancel: "Cancel",
};

export class MessageEditor {
  #message;
  #hooks;
  #input;
  #save;
  #form;

  /**
   * @param {import("../types.d.ts").MessageContext} context @param {HTMLElement} message
   * @param {string} text @param {Hooks} hooks
   */
  constructor({ strings: words, host }, message, text, hooks) {
    this.#message = message;
    this.#hooks = hooks;
    const strings = { ...EDITOR_WORDS, ...words };
    this.#input = h("textarea", {
      class: "editor-input", rows: "1", dir: "auto", enterkeyhint: "send",
      "aria-label": strings.editMessage,
    });
    this.#save = h("button", { class: "button primary" }, strings.saveMessage);
    const onclick = () => this.#cancel();
    const cancel = h("button", { type: "button", class: "button", onclick }, strings.cancel);
    const hint = h("small", { class: "muted" }, strings.editHint);
    this.#form = h(
      "form", { class: "editor", part: "editor", "aria-live": "off" }, this.#input,
      h("div", { class: "editor-buttons" }, hint, cancel, this.#save),
    );
    this.#form.addEventListener("submit", (event) => (event.preventDefault(), this.#submit(host)));
    this.#form.addEventListener("keydown", (event) => this.#keydown(event));
    this.#input.addEventListener("input", () => this.#grow());
    this.#input.value = text;
    message.querySelector(".bubble")?.after(this.#form);
    message.classList.add("edited");
    this.#grow();
    this.#input.focus();
  }

  #grow() {
    this.#save.disabled = !this.#input.value.trim();
    if (CSS.supports("field-sizing", "content")) return;
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    if (event.key === "Escape") this.#cancel();
    else if (event.key === "Enter" && !event.shiftKey && event.target === this.#input)
      this.#form.requestSubmit(this.#save);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {HTMLElement} host */
  #submit(host) {
    const text = this.#input.value.trim();
    if (!text || this.#hooks.save(text) === false) return;
    this.#close();
    host.focus(); // Move the focus to the input, where the user can stop the run.
  }

  #cancel() {
    this.#close();
    this.#hooks.cancelled();
  }

  #close() {
    this.#form.remove();
    this.#message.classList.remove("edited");
  }
}
