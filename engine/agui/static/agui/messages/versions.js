// @ts-check
/** The pager of a message that has several versions. Loaded with the first of them. */
import { h, iconButton, setAttribute, setText } from "../dom/elements.js";

/** @typedef {import("../types.d.ts").Branch} Branch */

/** In English; the tables of other languages have these, too. */
export const VERSION_WORDS = {
  versions: "Versions",
  previousVersion: "Previous version",
  nextVersion: "Next version",
};

export class Versions {
  #place = h("span", {});
  #back;
  #on;
  /** @type {Branch[]} */
  #versions = [];
  #open;
  element;

  /**
   * @param {import("../words/strings.js").Strings} strings @param {(branchId: string) => void} open
   */
  constructor(strings, open) {
    const words = { ...VERSION_WORDS, ...strings };
    this.#open = open;
    this.#back = iconButton("chevron", words.previousVersion, () => this.#turn(-1));
    this.#on = iconButton("chevron", words.nextVersion, () => this.#turn(1));
    this.element = h(
      "span",
      { class: "pager", role: "group", "aria-label": words.versions },
      this.#back,
      this.#place,
      this.#on,
    );
  }

  get #at() {
    return this.#versions.findIndex(({ current }) => current);
  }

  /** @param {Branch[]} versions none if they can't be changed now */
  show(versions) {
    this.#versions = versions;
    for (const part of [this.element, this.#back, this.#on]) part.hidden = !versions.length;
    // Not `disabled`: that would take the focus away.
    setAttribute(this.#back, "aria-disabled", String(this.#at === 0));
    setAttribute(this.#on, "aria-disabled", String(this.#at === versions.length - 1));
    setText(this.#place, `${this.#at + 1} / ${versions.length}`);
  }

  /** @param {number} step */
  #turn(step) {
    const version = this.#versions[this.#at + step];
    if (version) this.#open(version.id);
  }
}
