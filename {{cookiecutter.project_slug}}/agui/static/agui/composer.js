// @ts-check
/** Where the user writes: text, send or stop, and the palette of skills behind "/". */
import { h, icon, iconButton, setAttribute } from "./dom.js";

/** @typedef {{ name: string, title: string, description?: string, prompt?: string, sendImmediately?: boolean, chip?: boolean }} Skill */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, send: (text: string) => boolean, stop: () => void,
 * }} Context
 */

const PLACEHOLDER = /\{[^{}\n]+\}/;

export class Composer {
  #context;
  /** @type {Skill[]} */
  #skills = [];
  /** @type {Skill[]} what the palette shows now */
  #found = [];
  #active = 0;
  #dismissed = false;
  #input;
  #button;
  #palette;
  #busy = false;
  element;

  /** @param {Context} context */
  constructor(context) {
    const { strings } = (this.#context = context);
    this.#input = h("textarea", {
      class: "input", part: "input", rows: "1", "aria-label": strings.messageLabel, placeholder: strings.placeholder,
      enterkeyhint: "send", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "palette",
      oninput: () => ((this.#dismissed = false), this.#changed()),
      onkeydown: (event) => this.#keydown(event),
      onblur: () => this.#close(),
    });
    this.#palette = h("ul", { class: "palette", part: "palette", id: "palette", role: "listbox", "aria-label": strings.skills, hidden: true });
    this.#button = iconButton("send", strings.send, () => (this.#busy ? context.stop() : this.#send()), { class: "icon-button send", part: "send" });
    const box = h("div", { class: "composer-box" }, this.#input, this.#button);
    box.addEventListener("click", (event) => event.target === box && this.#input.focus());
    this.element = h("div", { class: "composer", part: "composer" }, h("div", { class: "column" }, this.#palette, box));
    this.#changed();
  }

  /** @param {Skill[]} skills */
  set skills(skills) {
    this.#skills = skills;
    this.#input.placeholder = this.#placeholder("idle");
    if (this.hasFocus) this.#changed(); // "/" may have been typed before they arrived
  }

  focus() {
    this.#input.focus();
  }

  get hasFocus() {
    return this.#input.matches(":focus");
  }

  /** Put a text into the input, with its first {placeholder} selected. @param {string} text */
  fill(text) {
    this.#input.value = text;
    this.#dismissed = true;
    this.#changed();
    this.focus();
    if (!this.#selectPlaceholder(0)) this.#input.setSelectionRange(text.length, text.length);
  }

  /** Offer a text again that was not taken, unless another one is being written. @param {string} text */
  giveBack(text) {
    if (!this.#input.value) this.fill(text);
  }

  /** Use a skill: send its prompt, or offer it to be completed. @param {Skill} skill */
  use({ name, prompt, sendImmediately }) {
    const text = prompt ?? `/${name}`;
    if (sendImmediately && !PLACEHOLDER.test(text) && this.#context.send(text)) this.fill("");
    else this.fill(prompt ?? `${text} `);
  }

  /** @param {{ busy: boolean, stopping: boolean, conversation: { status: string } }} session */
  render({ busy, stopping, conversation }) {
    const { strings } = this.#context;
    if (busy !== this.#busy) {
      this.#button.replaceChildren(icon(busy ? "stop" : "send"));
      for (const name of ["aria-label", "title"]) this.#button.setAttribute(name, busy ? strings.stop : strings.send);
    }
    this.#busy = busy;
    this.#input.placeholder = this.#placeholder(conversation.status);
    setAttribute(this.element, "data-status", conversation.status);
    this.#button.disabled = busy ? stopping : !this.#input.value.trim() || conversation.status === "waiting";
  }

  /** @param {string} status */
  #placeholder(status) {
    const { strings } = this.#context;
    if (status === "waiting") return strings.placeholderWaiting;
    return this.#skills.length ? strings.placeholderSkills : strings.placeholder;
  }

  #send() {
    if (this.#context.send(this.#input.value)) this.fill("");
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    if (event.isComposing) return; // Enter then accepts a word of an input method
    const open = !this.#palette.hidden;
    const { key, shiftKey } = event;
    if (open && (key === "ArrowDown" || key === "ArrowUp")) this.#move(key === "ArrowDown" ? 1 : -1);
    else if (open && (key === "Enter" || key === "Tab") && !shiftKey) this.#pick(this.#found[this.#active], key);
    else if (open && key === "Escape") this.#close();
    else if (key === "Escape" && this.#busy) this.#context.stop();
    else if (key === "Enter" && !shiftKey) this.#busy || this.#send();
    else if (key !== "Tab" || shiftKey || !this.#nextPlaceholder()) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #nextPlaceholder() {
    return this.#selectPlaceholder(this.#input.selectionEnd);
  }

  /** @param {number} from @returns {boolean} */
  #selectPlaceholder(from) {
    const match = PLACEHOLDER.exec(this.#input.value.slice(from));
    if (!match) return false;
    this.#input.setSelectionRange(from + match.index, from + match.index + match[0].length);
    return true;
  }

  #changed() {
    const { value } = this.#input;
    this.#button.disabled = !this.#busy && !value.trim();
    if (!CSS.supports("field-sizing", "content")) {
      this.#input.style.height = "auto";
      this.#input.style.height = `${this.#input.scrollHeight}px`;
    }
    this.#search(value);
  }

  // --- The palette

  /** @param {string} value */
  #search(value) {
    const term = /^\/(\S*)$/.exec(value)?.[1]?.toLowerCase();
    if (term === undefined || this.#dismissed || this.#busy) return this.#hide();
    const fits = ({ name, title }) => `${name} ${title}`.toLowerCase().includes(term);
    const first = ({ name }) => Number(!name.toLowerCase().startsWith(term));
    this.#found = this.#skills.filter(fits).sort((a, b) => first(a) - first(b));
    if (!this.#found.length) return this.#hide();
    this.#palette.replaceChildren(...this.#found.map((skill, index) => this.#option(skill, index)));
    this.#palette.hidden = false;
    this.#input.setAttribute("aria-expanded", "true");
    this.#active = 0;
    this.#move(0);
  }

  /** @param {Skill} skill @param {number} index */
  #option(skill, index) {
    return h(
      "li",
      {
        role: "option", id: `option-${index}`,
        // Not "click": the input must keep the focus.
        onpointerdown: (event) => (event.preventDefault(), this.#pick(skill)),
      },
      h("code", {}, `/${skill.name}`), h("span", { class: "option-title" }, skill.title),
      skill.description && h("span", { class: "muted" }, skill.description),
    );
  }

  /** @param {number} step */
  #move(step) {
    const count = this.#found.length;
    this.#active = (this.#active + step + count) % count;
    [...this.#palette.children].forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === this.#active));
      if (index === this.#active) option.scrollIntoView({ block: "nearest" });
    });
    this.#input.setAttribute("aria-activedescendant", `option-${this.#active}`);
  }

  /** @param {Skill} skill @param {string} [key] */
  #pick(skill, key) {
    this.#close();
    const complete = key === "Enter" && !skill.prompt && this.#input.value === `/${skill.name}`;
    if (complete) this.#send();
    else this.use(skill);
  }

  #close() {
    this.#dismissed = true;
    this.#hide();
  }

  #hide() {
    this.#palette.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }
}
