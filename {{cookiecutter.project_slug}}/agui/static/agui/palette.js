// @ts-check
/** Skills: the list behind "/", and the {blanks} of their prompts. Loaded with the first use of one. */
import { h } from "./dom.js";
import { format } from "./strings.js";

/** @typedef {import("./composer.js").Skill} Skill */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, send: (text: string) => boolean, fill: (text: string) => void, hint: (text: string) => void,
 * }} Context
 */

const BLANK = /\{[^{}\n]+\}/;

export class Palette {
  #input;
  #context;
  /** @type {Skill[]} what is shown now */
  #found = [];
  #active = 0;
  /** What the prompt in the input leaves open. @type {string[]} */
  #blanks = [];
  #warned = false;
  #outside = (event) => event.composedPath().includes(this.element.parentElement) || this.hide();
  element;

  /** @param {HTMLTextAreaElement} input @param {Context} context */
  constructor(input, context) {
    this.#input = input;
    this.#context = context;
    this.element = h("div", { class: "palette", part: "palette", id: "palette", role: "listbox", tabindex: "0", "aria-label": context.strings.skills, hidden: true });
  }

  // --- The list

  /** The word behind a "/" at the start of the text, as far as the cursor; undefined when there is none. */
  get #typed() {
    return /^\s*\/(\S*)$/.exec(this.#input.value.slice(0, this.#input.selectionStart))?.[1];
  }

  /** Show the skills that fit what was typed. @param {Skill[]} skills */
  search(skills) {
    const term = this.#typed?.toLowerCase();
    if (term === undefined) return this.hide();
    const fits = ({ name, title }) => `${name} ${title}`.toLowerCase().includes(term);
    const first = ({ name }) => Number(!name.toLowerCase().startsWith(term));
    this.show(skills.filter(fits).sort((a, b) => first(a) - first(b)));
  }

  /** @param {Skill[]} skills */
  show(skills) {
    if (!skills.length) return this.hide();
    const groups = new Map(skills.map(({ group = "" }) => [group, /** @type {Skill[]} */ ([])]));
    for (const skill of skills) groups.get(skill.group ?? "")?.push(skill);
    this.#found = [...groups.values()].flat();
    let index = 0;
    this.element.replaceChildren(
      ...[...groups].map(([group, members]) =>
        h(
          "ul", { role: "group", "aria-label": group || this.#context.strings.skills }, group && h("li", { role: "presentation", class: "group" }, group),
          ...members.map((skill) => this.#option(skill, index++)),
        ),
      ),
    );
    this.element.hidden = false;
    this.#input.setAttribute("aria-controls", "palette");
    addEventListener("pointerdown", this.#outside, true);
    this.#active = 0;
    this.#move(0);
  }

  hide() {
    this.element.hidden = true;
    removeEventListener("pointerdown", this.#outside, true);
    for (const name of ["aria-controls", "aria-activedescendant"]) this.#input.removeAttribute(name);
  }

  /** @param {Skill} skill @param {number} index */
  #option(skill, index) {
    const keepsFocus = (event) => event.preventDefault();
    return h(
      "li", { role: "option", id: `option-${index}`, onpointerdown: keepsFocus, onmousedown: keepsFocus, onclick: () => this.#choose(skill) },
      h("code", {}, `/${skill.name}`), h("span", { class: "option-title" }, skill.title),
      skill.description && h("span", { class: "muted" }, skill.description),
    );
  }

  /** @param {number} step */
  #move(step) {
    const options = this.element.querySelectorAll("[role=option]");
    this.#active = (this.#active + step + options.length) % options.length;
    options.forEach((option, index) => {
      option.setAttribute("aria-selected", String(index === this.#active));
      if (index === this.#active) option.scrollIntoView({ block: "nearest" });
    });
    this.#input.setAttribute("aria-activedescendant", `option-${this.#active}`);
  }

  /** True when the key was meant for us. @param {KeyboardEvent} event */
  takes({ key, shiftKey }) {
    if (this.element.hidden) return key === "Tab" && this.#goToBlank(shiftKey);
    if (key === "ArrowDown" || key === "ArrowUp") this.#move(key === "ArrowDown" ? 1 : -1);
    else if ((key === "Enter" || key === "Tab") && !shiftKey) this.#choose(this.#found[this.#active], key);
    else if (key === "Escape") this.hide();
    else return false;
    return true;
  }

  // --- The skill

  /** What follows the typed name is for the skill, as the server reads it. @param {Skill} skill @param {string} [key] */
  #choose(skill, key) {
    const { value, selectionStart } = this.#input;
    const rest = (this.#typed === undefined ? value : value.slice(selectionStart)).trim();
    this.hide();
    this.#input.value = "";
    if (key === "Enter" && !skill.prompt && value === `/${skill.name}` && this.#context.send(value)) return;
    this.use(skill, rest);
  }

  /** Send a skill's prompt, or offer it to be completed. @param {Skill} skill @param {string} [rest] what was written */
  use({ name, prompt, sendImmediately }, rest = "") {
    const known = this.#fromPage(prompt);
    /** @type {string[]} */
    const blanks = [];
    let left = rest;
    /** In one pass: what the page knows makes no blank of its own. @param {string} blank */
    const fill = (blank) => {
      const word = blank.slice(1, -1).trim();
      if (Object.hasOwn(known, word)) return known[word];
      if (!left) return blanks.push(blank), blank;
      left = "";
      return rest;
    };
    let text = prompt?.replace(new RegExp(BLANK, "g"), fill) ?? `/${name} ${rest}`;
    if (prompt && left) text += `\n\n${left}`;
    if (sendImmediately && !blanks.length && this.#context.send(text.trim())) return;
    this.#context.fill(text);
    this.#blanks = blanks;
    this.#input.setSelectionRange(0, 0);
    if (!this.#goToBlank(false)) this.#input.setSelectionRange(text.length, text.length);
  }

  /** What the page fills blanks with, by their words. @param {string} [prompt] @returns {Record<string, string>} */
  #fromPage(prompt) {
    const { host } = /** @type {any} */ (this.#input.getRootNode());
    if (!host?.getSkillContext || !BLANK.test(prompt ?? "")) return {};
    try {
      const given = Object.entries(host.getSkillContext() ?? {}).map(([word, value]) => [word, String(value ?? "")]);
      return Object.fromEntries(given.filter(([, value]) => value.trim())); // what is empty is left to the user
    } catch (error) {
      console.warn("agui-chat: getSkillContext()", error);
      return {};
    }
  }

  /** Select the next blank that is left, or the one before. @param {boolean} back */
  #goToBlank(back) {
    const { value, selectionStart, selectionEnd } = this.#input;
    const left = [...value.matchAll(new RegExp(BLANK, "g"))].filter(([blank]) => this.#blanks.includes(blank));
    const place = back ? left.findLast(({ index, 0: blank }) => index + blank.length <= selectionStart) : left.find(({ index }) => index >= selectionEnd);
    if (place) this.#input.setSelectionRange(place.index, place.index + place[0].length);
    return Boolean(place);
  }

  /** True, once, when a blank was left in what is to be sent: it is selected, and said. */
  forgot() {
    if (this.#warned) return false;
    const { selectionStart, selectionEnd } = this.#input;
    this.#input.setSelectionRange(0, 0);
    this.#warned = this.#goToBlank(false);
    if (!this.#warned) this.#input.setSelectionRange(selectionStart, selectionEnd);
    else {
      this.#input.focus();
      const blank = this.#input.value.slice(this.#input.selectionStart, this.#input.selectionEnd);
      this.#context.hint(format(this.#context.strings.fillIn, { blank }));
    }
    return this.#warned;
  }

  /** Something else was written. */
  changed() {
    this.#warned = false;
    this.#context.hint("");
  }
}
