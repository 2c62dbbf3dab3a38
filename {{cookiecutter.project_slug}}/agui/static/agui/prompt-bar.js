// @ts-check
/** Below a message of the user: edit it, and leaf through its versions. */
import { textOf } from "./conversation.js";
import { h, iconButton, setAttribute, setText } from "./dom.js";
import { Toolbar } from "./toolbar.js";

/** @typedef {import("./toolbar.js").Shown} Shown */

export class PromptBar extends Toolbar {
  get name() {
    return this.context.strings.messageActions;
  }

  build() {
    const { strings } = this.context;
    this.edit = iconButton("edit", strings.editMessage, () => this.#edit());
    this.back = iconButton("chevron", strings.previousVersion, () => this.#turn(-1));
    this.on = iconButton("chevron", strings.nextVersion, () => this.#turn(1));
    this.place = h("span", {});
    this.pager = h("span", { class: "pager", role: "group", "aria-label": strings.versions }, this.back, this.place, this.on);
    return [this.edit, this.pager];
  }

  /** @param {Shown} shown */
  update({ idle }) {
    const { versions, at } = this;
    this.edit.hidden = !idle;
    this.pager.hidden = !idle || versions.length < 2;
    for (const button of [this.back, this.on]) button.hidden = this.pager.hidden;
    // Not `disabled`: that would take the focus away.
    setAttribute(this.back, "aria-disabled", at === 0);
    setAttribute(this.on, "aria-disabled", at === versions.length - 1);
    setText(this.place, `${at + 1} / ${versions.length}`);
    this.element.classList.toggle("paged", !this.pager.hidden);
  }

  get versions() {
    const { session, turn } = this.shown;
    return session.branches[turn.prompt.id] ?? [];
  }

  get at() {
    return this.versions.findIndex(({ current }) => current);
  }

  /** @param {number} step */
  #turn(step) {
    const version = this.versions[this.at + step];
    if (version) this.context.switchBranch(version.id);
  }

  async #edit() {
    const { edit } = this;
    const { prompt } = this.shown.turn;
    const { MessageEditor } = await import("./message-editor.js");
    const message = /** @type {HTMLElement} */ (this.element.parentElement);
    if (message.querySelector(".editor")) return;
    // Of files that came without a word the text is only their names.
    const text = message.querySelector(".bubble[hidden]") ? "" : textOf(prompt.content);
    new MessageEditor(this.context, message, text, {
      save: (text) => this.context.edit(prompt.id, text),
      cancelled: () => edit.focus(),
    });
  }
}
