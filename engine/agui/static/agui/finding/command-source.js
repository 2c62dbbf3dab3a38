// @ts-check
/** What commands.js lists: the commands of the chat and the page, skills, and conversations. */
import { placesOf, termsOf } from "../messages/matching.js";

/** @typedef {import("../types.d.ts").PageContext} Context */
/** @typedef {import("../threads/pages.js").Thread} Thread */
/**
 * @typedef {import("../types.d.ts").Strings & typeof import("./commands.js").COMMAND_WORDS
 *   & typeof import("../words/find-words.js").FOUND_WORDS} Words
 */
/**
 * @typedef {{
 *   key: string, label: string, name: string, icon?: string, run: () => unknown, keys?: string,
 *   detail?: string, excerpt?: string, about?: string,
 * }} Command name and icon: of its picture; detail, excerpt: more to show; about: more to search in
 */
/** @typedef {{ label: string, members: Command[] }} Group */

const RECENT = 5;
const FOUND = 8;
export const MAGNIFIER = "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.3 15.3 20 20";
const BUBBLE = "M4.5 5h15v11H11l-4.5 4v-4h-2z";
const KEYBOARD = "M3 6.5h18v11H3zM7 10v.01M12 10v.01M17 10v.01M8 14h8";
const INPUT = "M4 7h16v10H4zM8 10v4";

export class CommandSource {
  #context;
  #words;
  /** @type {import("../types.d.ts").Skill[]} */
  #skills = [];
  /** @type {Promise<void> | undefined} */
  #loading;
  /** @type {Group | null} the conversations that were found last, and what was searched for */
  threads = null;
  query = "";
  failed = false;

  /** @param {Context} context @param {Words} words */
  constructor(context, words) {
    this.#context = context;
    this.#words = words;
  }

  /** The commands that fit; those whose name begins with it come first. @param {string} query */
  commands(query) {
    const terms = termsOf(query);
    /** @param {Command} command */
    const fits = ({ label, about = "" }) =>
      terms.every((term) => placesOf(`${label} ${about}`, [term]).length);
    const begins = (/** @type {Command} */ { label }) =>
      Number(placesOf(label, [query])[0]?.[0] === 0);
    const { commandGroup, pageGroup, skills } = this.#words;
    /** @type {[string, Command[]][]} */
    const groups = [
      [commandGroup, this.#own()],
      [skills, this.#skillCommands()],
      [pageGroup, this.#actions()],
    ];
    return groups.map(([label, all]) => {
      const members = all.filter(fits);
      if (query) members.sort((a, b) => begins(b) - begins(a));
      return { label, members };
    });
  }

  /**
   * Find conversations, the newest without a query.
   * @param {string} query @returns {Promise<Group | null>} null if there are none to search
   */
  async search(query) {
    const { host } = this.#context;
    const loading = (this.#loading ??= this.#loadSkills());
    let rows = null;
    this.failed = false;
    if (host.client.hasThreads) {
      try {
        const limit = query ? FOUND : RECENT;
        ({ threads: rows } = await host.client.threads({ q: query, limit }));
      } catch (error) {
        console.warn("agui-chat:", error);
        this.failed = true;
      }
    }
    await loading;
    const { recentThreads, threads: label } = this.#words;
    const members = rows?.map((/** @type {Thread} */ row) => this.#thread(row, query));
    this.query = query;
    this.threads = members ? { label: query ? label : recentThreads, members } : null;
    return this.threads;
  }

  async #loadSkills() {
    this.#skills = await this.#context.host.client.skills().catch(() => []);
  }

  // --- The commands

  /** @returns {Command[]} */
  #own() {
    const { host, load, composer, toggleThreads } = this.#context;
    const { newChat, goToInput, toggleThreads: list, findHere, showShortcuts } = this.#words;
    const { hasThreads } = host.client;
    const find = async () =>
      (await load(() => import("./find-bar.js")))?.openFindBar(this.#context);
    const help = async () =>
      (await load(() => import("./shortcuts.js")))?.showShortcuts(this.#context);
    const focus = () => composer.focus();
    const begin = () => host.newChat();
    /** @type {(Command | false)[]} */
    const commands = [
      { key: "new", label: newChat, name: "compose", keys: "Alt+Shift+N", run: begin },
      !host.session.empty && {
        key: "find", label: findHere, name: "search", icon: MAGNIFIER, keys: "Ctrl+F", run: find,
      },
      { key: "input", label: goToInput, name: "input", icon: INPUT, keys: "/", run: focus },
      hasThreads && { key: "threads", label: list, name: "threads", run: toggleThreads },
      { key: "help", label: showShortcuts, name: "keyboard", icon: KEYBOARD, keys: "?", run: help },
    ];
    return commands.filter((command) => command !== false);
  }

  /** @returns {Command[]} */
  #skillCommands() {
    const { composer } = this.#context;
    return this.#skills.map((skill) => ({
      key: `skill ${skill.name}`, label: skill.title, name: "slash", detail: `/${skill.name}`,
      about: `${skill.name} ${skill.description ?? ""}`, run: () => composer.use(skill),
    }));
  }

  /** The page's own buttons in the header. @returns {Command[]} */
  #actions() {
    const { catalog, host } = this.#context;
    const seams = /** @type {import("../agui-chat.d.ts").Action[]} */ ([...catalog.seams.values()]);
    const about = /** @type {import("../agui-chat.d.ts").About} */ ({ threadId: host.threadId });
    const isUsable = (/** @type {import("../agui-chat.d.ts").Action} */ action) =>
      action.on === "header" && (action.when?.(about) ?? true) && !action.disabled?.(about);
    return seams.filter(isUsable).map((action) => ({
      key: `action ${action.name}`, label: action.label, name: action.name, icon: action.icon,
      run: () => action.run(about),
    }));
  }

  /** @param {Thread} thread @param {string} query @returns {Command} */
  #thread(thread, query) {
    const { host, load } = this.#context;
    const { thread_id: id, title, preview, updated_at, excerpt, message_id } = thread;
    const open = () => (id === host.threadId ? host.focus() : host.openThread(id));
    return {
      key: `thread ${id}`, label: title || preview || this.#words.untitled,
      name: "bubble", icon: BUBBLE, excerpt, detail: this.#dateOf(updated_at),
      run: async () => {
        if (!message_id) return open();
        const module = await load(() => import("./found-message.js"));
        if (module) module.showFound(this.#context, thread, query);
        else open();
      },
    };
  }

  /** The hour of today's conversations, the day of others. @param {string} time */
  #dateOf(time) {
    const date = new Date(time);
    const now = new Date();
    const isToday = date.toDateString() === now.toDateString();
    const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
    /** @type {Intl.DateTimeFormatOptions} */
    const style = isToday ? { timeStyle: "short" } : { day: "numeric", month: "short", year };
    return new Intl.DateTimeFormat(this.#words.lang, style).format(date);
  }
}
