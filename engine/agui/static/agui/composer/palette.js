// @ts-check
/**
 * The list above the input: skills behind "/", and what parts list behind other signs. Here are
 * also the {blanks} of skills' prompts. The first use loads this module.
 */
import { closeOnBack } from "../dom/back.js";
import { h, isTouch } from "../dom/elements.js";
import { moduleOf, partModules } from "../dom/lazy.js";
import { FOUND_WORDS } from "../words/find-words.js";
import { format } from "../words/strings.js";

/** @typedef {import("../types.d.ts").Skill} Skill */
/**
 * What the list shows: a skill, or what `choose` is for.
 * @typedef {Skill & { choose?: () => void }} Entry
 */
/**
 * @typedef {{
 *   strings: import("../words/strings.js").Strings, send: (text: string) => boolean,
 *   fill: (text: string) => void, hint: (text: string) => void, shortcuts: () => void,
 *   find: () => void,
 *   host: import("../agui-chat.d.ts").AguiChatElement,
 *   memory: import("../session/thread-memory.js").ThreadMemory,
 *   load: import("../dom/lazy.js").Load,
 * }} Context
 */

const BLANK = /\{[^{}\n]+\}/;

/** In English; the tables of other languages have these, too. */
export const PALETTE_WORDS = {
  fillIn: "Fill in {blank}, or send it as it is.",
};
/** The entry of the list that is no skill. */
const HELP = "?";

export class Palette {
  #input;
  #context;
  /** @type {Entry[]} what is in the list now */
  #found = [];
  #active = 0;
  /** The blanks of the prompt in the input. @type {string[]} */
  #blanks = [];
  #warned = false;
  #release = () => {};
  /** @type {Map<string, import("../types.d.ts").SignList>} lists of parts, by module */
  #lists = new Map();
  /** The modules of lists, whose names end with their signs. */
  #listNames;
  #outside = (/** @type {Event} */ event) => {
    const column = /** @type {Element} */ (this.element.parentElement);
    if (!event.composedPath().includes(column)) this.hide();
  };
  element;

  /** @param {HTMLTextAreaElement} input @param {Context} context */
  constructor(input, context) {
    this.#input = input;
    this.#context = context;
    const names = Object.keys(partModules(context.host));
    this.#listNames = names.filter((name) => name.startsWith("list:"));
    this.element = h("div", {
      class: "palette", part: "palette", id: "palette", role: "listbox", tabindex: "0",
      hidden: true,
    });
    this.#loadLists(); // The text may be a draft with such a sign.
  }

  // --- The list

  /**
   * The word after a "/" at the start of the text, up to the cursor; undefined if there is none.
   */
  get #typed() {
    return /^\s*\/(\S*)$/.exec(this.#input.value.slice(0, this.#input.selectionStart))?.[1];
  }

  /** Show the skills that fit the typed word. @param {Skill[]} skills */
  search(skills) {
    const term = this.#typed?.toLowerCase();
    if (term === undefined) return this.#searchLists();
    /** @param {Skill} skill */
    const fits = ({ name, title }) => `${name} ${title}`.toLowerCase().includes(term);
    /** @param {Skill} skill */
    const first = ({ name }) => Number(!name.toLowerCase().startsWith(term));
    this.show(skills.filter(fits).sort((a, b) => first(a) - first(b)), fits);
  }

  async #loadLists() {
    const { host, load } = this.#context;
    for (const key of this.#listNames) {
      const name = /** @type {`list:${string}`} */ (key);
      if (!this.#input.value.includes(key.slice(5)) || this.#lists.has(name)) continue;
      const module = await moduleOf(host, name, load);
      if (!module || this.#lists.has(name)) continue;
      this.#lists.set(name, module.listFor(this.#input, this, this.#context));
    }
  }

  async #searchLists() {
    await this.#loadLists();
    const hasFocus = this.#input.matches(":focus");
    if (!hasFocus || ![...this.#lists.values()].some((list) => list.search())) this.hide();
  }

  /** @param {Skill[]} own @param {(skill: Skill) => boolean} [fits] */
  show(own, fits = () => true) {
    const { showShortcuts: title, findHere } = { ...FOUND_WORDS, ...this.#context.strings };
    /** @type {Entry[]} */
    const others = [{ name: HELP, title }];
    if (!this.#context.host.session.empty) {
      others.unshift({ name: "", title: findHere, choose: () => this.#find() });
    }
    this.list([...own, ...others].filter(fits), this.#context.strings.skills);
  }

  /** @param {Entry[]} entries @param {string} label of the list */
  list(entries, label) {
    if (!entries.length) return this.hide();
    const groups = new Map(entries.map(({ group = "" }) => [group, /** @type {Entry[]} */ ([])]));
    for (const entry of entries) groups.get(entry.group ?? "")?.push(entry);
    this.#found = [...groups.values()].flat();
    let index = 0;
    this.element.replaceChildren(
      ...[...groups].map(([group, members]) =>
        h(
          "ul", { role: "group", "aria-label": group || label },
          group && h("li", { role: "presentation", class: "group" }, group),
          ...members.map((entry) => this.#option(entry, index++)),
        ),
      ),
    );
    this.element.ariaLabel = label;
    if (this.element.hidden && isTouch()) this.#release = closeOnBack(() => this.hide());
    this.element.hidden = false;
    this.#input.setAttribute("aria-controls", "palette");
    addEventListener("pointerdown", this.#outside, true);
    this.#active = 0;
    this.#move(0);
  }

  hide() {
    for (const list of this.#lists.values()) list.stop();
    this.element.hidden = true;
    this.#release();
    removeEventListener("pointerdown", this.#outside, true);
    this.#input.removeAttribute("aria-controls");
    this.#input.removeAttribute("aria-activedescendant");
  }

  /** @param {Entry} entry @param {number} index */
  #option(entry, index) {
    const keepsFocus = (/** @type {Event} */ event) => event.preventDefault();
    return h(
      "li",
      {
        role: "option", id: `option-${index}`, onclick: () => this.#choose(entry),
        onpointerdown: keepsFocus, onmousedown: keepsFocus,
      },
      entry.name && h("code", {}, `/${entry.name}`),
      h("span", { class: "option-title" }, entry.title),
      entry.description && h("span", { class: "muted" }, entry.description),
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

  /** Handle a key; false if the palette doesn't need it. @param {KeyboardEvent} event */
  takes({ key, shiftKey }) {
    if (this.element.hidden) return key === "Tab" && this.#goToBlank(shiftKey);
    if (key === "ArrowDown" || key === "ArrowUp") this.#move(key === "ArrowDown" ? 1 : -1);
    else if ((key === "Enter" || key === "Tab") && !shiftKey) {
      this.#choose(this.#found[this.#active], key);
    } else if (key === "Escape") {
      for (const list of this.#lists.values()) list.close();
      this.hide();
    } else return false;
    return true;
  }

  // --- The skill

  /**
   * Choose a skill. The text after the typed name belongs to the skill, as on the server.
   * @param {Entry} skill @param {string} [key]
   */
  #choose(skill, key) {
    const { value, selectionStart } = this.#input;
    const rest = (this.#typed === undefined ? value : value.slice(selectionStart)).trim();
    this.hide();
    if (skill.choose) return skill.choose();
    if (skill.name === HELP) {
      if (this.#typed !== undefined) this.#context.fill(rest);
      return this.#context.shortcuts();
    }
    this.#input.value = "";
    const isWhole = !skill.prompt && value === `/${skill.name}`;
    if (key === "Enter" && isWhole && this.#context.send(value)) return;
    this.use(skill, rest);
  }

  #find() {
    if (this.#typed !== undefined) this.#context.fill("");
    this.#context.find();
  }

  /**
   * Send a skill's prompt, or put it into the input so that the user completes it.
   * @param {Skill} skill @param {string} [rest] the text after the name
   */
  use({ name, prompt, sendImmediately }, rest = "") {
    const known = this.#fromPage(prompt);
    /** @type {string[]} */
    const blanks = [];
    let left = rest;
    /**
     * Fill all blanks in one pass, because a value of the page may look like a blank.
     * @param {string} blank
     */
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

  /**
   * The page's values for blanks, by their words.
   * @param {string} [prompt] @returns {Record<string, string>}
   */
  #fromPage(prompt) {
    const { host } = this.#context;
    if (!host.getSkillContext || !BLANK.test(prompt ?? "")) return {};
    try {
      const given = Object.entries(host.getSkillContext() ?? {});
      const words = given.map(([word, value]) => [word, String(value ?? "")]);
      // The user fills in blanks without a value.
      return Object.fromEntries(words.filter(([, value]) => value.trim()));
    } catch (error) {
      console.warn("agui-chat: getSkillContext()", error);
      return {};
    }
  }

  /** Select the next blank, or the one before. @param {boolean} back */
  #goToBlank(back) {
    const { value, selectionStart, selectionEnd } = this.#input;
    const all = [...value.matchAll(new RegExp(BLANK, "g"))];
    const left = all.filter(([blank]) => this.#blanks.includes(blank));
    const place = back
      ? left.findLast(({ index, 0: blank }) => index + blank.length <= selectionStart)
      : left.find(({ index }) => index >= selectionEnd);
    if (place) this.#input.setSelectionRange(place.index, place.index + place[0].length);
    return Boolean(place);
  }

  /** If the prompt still has a blank, select and announce it, once. Returns whether it has one. */
  forgot() {
    if (this.#warned) return false;
    const { selectionStart, selectionEnd } = this.#input;
    this.#input.setSelectionRange(0, 0);
    this.#warned = this.#goToBlank(false);
    if (!this.#warned) this.#input.setSelectionRange(selectionStart, selectionEnd);
    else {
      this.#input.focus();
      const blank = this.#input.value.slice(this.#input.selectionStart, this.#input.selectionEnd);
      const { fillIn } = { ...PALETTE_WORDS, ...this.#context.strings };
        this.#context.hint(format(fillIn, { blank }));
    }
    return this.#warned;
  }

  /** Forget the blanks, because the text was replaced. */
  changed() {
    this.#warned = false;
    this.#context.hint("");
  }
}
