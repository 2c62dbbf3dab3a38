// @ts-check
/** Ctrl+K: conversations, what the chat can do, skills and the page's buttons, behind one field. */
import { h, icon, setText } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";
import { dressMarks, excerptOf, marked } from "../messages/marks.js";
import { termsOf } from "../messages/matching.js";
import { CommandSource, MAGNIFIER } from "./command-source.js";
import { keyNames } from "./key-names.js";
import { FOUND_WORDS } from "../words/find-words.js";
import { format } from "../words/strings.js";

/** In English; the tables of other languages have these, too. */
export const COMMAND_WORDS = {
  commands: "Search or jump to",
  recentThreads: "Recent conversations",
  commandGroup: "Actions",
  pageGroup: "On this page",
  goToInput: "Go to the input",
  toggleThreads: "List of conversations",
  searchingCommands: "Searching…",
  noCommands: "Nothing found for “{q}”.",
  commandsFailed: "The conversations could not be searched.",
};

/** @typedef {import("../types.d.ts").PageContext} Context */
/** @typedef {import("./command-source.js").Command} Command */
/** @typedef {import("./command-source.js").Group} Group */

const SEARCH_MS = 180;
const STYLE = `
.commands {
  background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_large);
  box-shadow: 0 1rem 3.5rem rgb(0 0 0 / .28); color: var(--_text);
  inset-block: min(12vh, 7rem) auto; margin-inline: auto; max-height: min(34rem, 76vh);
  max-width: calc(100vw - 1.5rem); overflow: hidden; padding: 0; width: 38rem;
}
.commands[open] { display: flex; flex-direction: column; }
.commands::backdrop { background: rgb(0 0 0 / .32); }
.command-field {
  align-items: center; border-bottom: 1px solid var(--_border); color: var(--_muted);
  display: flex; flex: none; gap: .7rem; padding-inline: 1.1rem;
}
.command-field .icon { flex: none; }
.command-field input {
  background: none; border: 0; color: var(--_text); flex: 1; font-size: 1.05rem; min-width: 0;
  outline: 0; padding: .95rem 0;
}
.command-list {
  overflow-y: auto; overscroll-behavior: contain; padding: .35rem .5rem .5rem;
  scrollbar-width: thin;
}
.command-list:empty { display: none; }
.command-group {
  color: var(--_muted); font-size: .78rem; font-weight: 600; padding: .6rem .65rem .25rem;
}
.command {
  align-items: center; border-radius: var(--_small); column-gap: .7rem; cursor: pointer;
  display: grid; grid-template-columns: auto 1fr auto; line-height: 1.4; min-height: 2.6rem;
  padding: .45rem .65rem;
}
.command[aria-selected="true"] { background: var(--_surface); }
.command > .icon { color: var(--_muted); height: 1.1rem; width: 1.1rem; }
.command-label {
  overflow: hidden; text-align: -webkit-match-parent; text-align: match-parent;
  text-overflow: ellipsis; white-space: nowrap;
}
.command-detail { color: var(--_muted); font-size: .82rem; white-space: nowrap; }
.command kbd { color: var(--_muted); font-family: inherit; font-size: .82rem; }
.command > .excerpt { grid-column: 2 / -1; }
.commands .notice { margin: 0; padding: .9rem 1.15rem; }
@media (pointer: coarse) { .command { min-height: 2.9rem; } .command kbd { display: none; } }
@media (forced-colors: active) {
  .command[aria-selected="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
}
`;

/** @param {Context} context */
export function openCommands(context) {
  const { panel } = context;
  /** @type {HTMLDialogElement | null} */
  const open = panel.querySelector(".commands");
  if (open) return open.close();
  new Commands(context).open();
}

class Commands {
  #context;
  #words;
  #source;
  #input;
  #list;
  #notice = h("p", { class: "notice", role: "status" });
  /** @type {Command[]} as they are listed */
  #listed = [];
  #active = 0;
  #timer = 0;
  #generation = 0;
  element;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const words = (this.#words = { ...FOUND_WORDS, ...COMMAND_WORDS, ...context.strings });
    this.#source = new CommandSource(context, words);
    const label = words.commands;
    const look = { class: "commands", part: "commands", "aria-label": label };
    this.#list = h("div", {
      class: "command-list", id: "commands", role: "listbox", "aria-label": label,
    });
    this.#input = h("input", {
      type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "commands",
      "aria-autocomplete": "list", "aria-label": label, placeholder: `${label} …`,
      maxlength: "200", autocomplete: "off", spellcheck: "false", dir: "auto", enterkeyhint: "go",
      oninput: () => this.#typed(),
    });
    /** @type {HTMLDialogElement} */
    this.element = h(
      "dialog", look,
      h("div", { class: "command-field" }, icon("search", MAGNIFIER), this.#input),
      this.#list, this.#notice,
    );
    this.element.addEventListener("close", () => this.element.remove());
    this.element.addEventListener("click", ({ target }) => {
      if (target === this.element) this.element.close();
    });
    this.element.addEventListener("keydown", (event) => this.#keydown(event));
  }

  open() {
    const { panel } = this.#context;
    panel.append(this.element);
    dressMarks(panel);
    adopt(panel, STYLE);
    this.element.showModal();
    this.#input.focus();
    this.#draw(this.#source.commands(""));
    this.#search();
  }

  // --- What is found

  get #query() {
    return this.#input.value.trim();
  }

  /** Commands follow at once, conversations when the user pauses. */
  #typed() {
    clearTimeout(this.#timer);
    this.#generation++;
    this.#active = 0;
    const { threads, query } = this.#source;
    // The list stays while the user goes on typing a word.
    const isNarrower = query && this.#query.startsWith(query);
    const others = isNarrower && threads ? [threads] : [];
    this.#draw([...this.#source.commands(this.#query), ...others]);
    this.#timer = setTimeout(() => this.#search(), this.#query ? SEARCH_MS : 0);
  }

  async #search() {
    const generation = ++this.#generation;
    const query = this.#query;
    const threads = await this.#source.search(query);
    if (generation !== this.#generation || !this.element.isConnected) return;
    const commands = this.#source.commands(query);
    // Recent conversations come first. What was found comes last, so that nothing moves.
    const found = threads ? [threads] : [];
    this.#draw(query ? [...commands, ...found] : [...found, ...commands], true);
  }

  // --- What is shown

  /** @param {Group[]} groups @param {boolean} [isComplete] */
  #draw(groups, isComplete = false) {
    const { noCommands, searchingCommands, commandsFailed } = this.#words;
    const shown = groups.filter(({ members }) => members.length);
    const held = this.#active && this.#listed[this.#active]?.key;
    this.#listed = shown.flatMap(({ members }) => members);
    const terms = termsOf(this.#query);
    let index = 0;
    this.#list.replaceChildren(
      ...shown.map(({ label, members }) =>
        h(
          "div", { role: "group", "aria-label": label },
          h("div", { class: "command-group", "aria-hidden": "true" }, label),
          ...members.map((command) => this.#option(command, index++, terms)),
        ),
      ),
    );
    const nothing = isComplete ? format(noCommands, { q: this.#query }) : searchingCommands;
    const text = this.#source.failed ? commandsFailed : this.#listed.length ? "" : nothing;
    setText(this.#notice, text);
    const place = held ? this.#listed.findIndex(({ key }) => key === held) : 0;
    this.#move(Math.max(0, place));
  }

  /** @param {Command} command @param {number} index @param {string[]} terms */
  #option({ label, icon: path, name, detail, excerpt, keys, run }, index, terms) {
    return h(
      "div",
      {
        class: "command", role: "option", id: `command-${index}`,
        onclick: () => this.#choose(run),
        onpointermove: () => this.#active !== index && this.#move(index, false),
      },
      icon(name, path),
      h("span", { class: "command-label", dir: "auto" }, ...marked(label, terms)),
      detail && h("span", { class: "command-detail" }, detail),
      keys && h("kbd", { dir: "ltr", "aria-hidden": "true" }, keyNames(keys)),
      excerpt && excerpt !== label && excerptOf(excerpt, terms),
    );
  }

  /** @param {number} place @param {boolean} [scrolls] */
  #move(place, scrolls = true) {
    const options = [...this.#list.querySelectorAll("[role=option]")];
    this.#active = place;
    for (const [index, option] of options.entries()) {
      option.setAttribute("aria-selected", String(index === place));
    }
    const active = options[place];
    if (!active) return this.#input.removeAttribute("aria-activedescendant");
    this.#input.setAttribute("aria-activedescendant", active.id);
    if (scrolls) active.scrollIntoView({ block: "nearest" });
    if (scrolls && !place) this.#list.scrollTop = 0; // with the name of its group
  }

  // --- Keys

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    event.stopPropagation();
    const { key, ctrlKey, metaKey, isComposing } = event;
    const { length } = this.#listed;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[/** @type {keyof typeof steps} */ (key)];
    if (isComposing) return;
    if (step && length) this.#move((this.#active + step + length) % length);
    else if (key === "Enter") this.#choose(this.#listed[this.#active]?.run);
    else if (key.toLowerCase() === "k" && (ctrlKey || metaKey)) this.element.close();
    else if (key !== "Tab") return; // Escape closes a dialog, and gives the focus back.
    event.preventDefault();
  }

  /** @param {(() => unknown) | undefined} run */
  #choose(run) {
    if (!run) return;
    clearTimeout(this.#timer);
    this.element.close();
    run();
  }
}
