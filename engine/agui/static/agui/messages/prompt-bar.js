// @ts-check
/** The toolbar below a message of the user: edit the message, and browse its versions. */
import { textOf } from "../conversation/messages.js";
import { iconButton } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";
import { Toolbar } from "./toolbar.js";
import { EDIT_WORDS } from "../words/edit-words.js";

/** @typedef {import("./toolbar.js").Shown} Shown */

/** In English; the tables of other languages have these, too. */
export const PROMPT_WORDS = {
  ...EDIT_WORDS,
  messageActions: "Actions for your message",
};

export class PromptBar extends Toolbar {
  /** @type {import("./versions.js").Versions | undefined} */
  #versions;
  /** @type {HTMLButtonElement | null} */
  #button = null;

  get #words() {
    return { ...PROMPT_WORDS, ...this.context.strings };
  }

  get edit() {
    return (this.#button ??= iconButton("edit", this.#words.editMessage, () => this.#edit()));
  }

  get name() {
    return this.#words.messageActions;
  }

  get message() {
    return this.shown.turn.prompt;
  }

  build() {
    return [this.edit];
  }

  /** @param {Shown} shown */
  update({ session, turn, idle }) {
    const all = session.branches[turn.prompt?.id ?? ""] ?? [];
    const versions = idle && all.length > 1 ? all : [];
    this.edit.hidden = !idle;
    this.#versions?.show(versions);
    this.element.classList.toggle("paged", versions.length > 0);
    if (versions.length && !this.#versions) this.#addVersions();
  }

  async #addVersions() {
    const { strings, switchBranch, withStyle } = this.context;
    const module = await withStyle(lazy(() => import("./versions.js")));
    if (!module || this.#versions) return;
    this.#versions = new module.Versions(strings, switchBranch);
    this.edit.after(this.#versions.element);
    this.show(this.shown);
  }

  async #edit() {
    const { edit } = this;
    const { prompt } = this.shown.turn;
    const module = await this.context.load(() => import("./editor.js"));
    const message = /** @type {HTMLElement} */ (this.element.parentElement);
    if (!module || message.querySelector(".editor")) return;
    // The text of a message with only files is their names.
    const text = message.querySelector(".bubble[hidden]") ? "" : textOf(prompt?.content);
    new module.MessageEditor(this.context, message, text, {
      save: (/** @type {string} */ text) => this.context.edit(prompt?.id ?? "", text),
      cancelled: () => edit.focus(),
    });
  }
}
