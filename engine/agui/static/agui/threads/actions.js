// @ts-check
/** What users do with a conversation of the list: rename it, delete it, and take that back. */
import { h, setText } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";
import { format } from "../words/strings.js";
import { UndoBar } from "./undo.js";

/** In English; the tables of other languages have these, too. */
export const ACTION_WORDS = {
  renameFailed: "“{title}” could not be renamed.",
  removed: "“{title}” was deleted.",
  removeFailed: "“{title}” could not be deleted.",
  undo: "Undo",
  undoHint: "Ctrl+Z brings it back.",
  restored: "“{title}” is back.",
};

/** @typedef {import("./pages.js").Thread} Thread */
/**
 * @typedef {{
 *   strings: import("./drawer.js").Words, client: import("../http/client.js").AgentClient,
 *   memory: import("../session/thread-memory.js").ThreadMemory, panel: HTMLElement,
 *   search: HTMLElement,
 *   notice: HTMLElement, pages: import("./pages.js").ThreadPages,
 *   list: import("./list.js").ThreadList, isOpen: () => boolean,
 *   isCurrent: (threadId: string) => boolean, draw: () => void, load: () => void,
 *   open: (threadId: string) => void, newChat: () => void,
 *   renamed: (threadId: string, title: string) => void,
 * }} Context isOpen: is the list open? isCurrent: is this conversation open?
 */

export class ThreadActions {
  #context;
  #words;
  #undo;
  #said = h("p", { class: "visually-hidden", role: "status" });
  /** @type {import("./menu.js").ThreadMenu | undefined} */
  #menu;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#words = { ...ACTION_WORDS, ...context.strings };
    this.#undo = new UndoBar(this.#words.undo);
  }

  /** Put the bar that takes an action back into this element. @param {HTMLElement} parent */
  appendTo(parent) {
    parent.append(this.#undo.element, this.#said);
  }

  /** Take the last action back; false if there is none. */
  undo() {
    return this.#undo.undo();
  }

  /** The time to take the last action back is over. */
  settle() {
    this.#undo.settle();
  }

  /** The user has signed out. */
  forget() {
    this.#undo.drop();
    setText(this.#said, "");
  }

  /** @param {Thread} thread @param {string} title */
  async rename({ thread_id: id, title: before }, title) {
    const { client, pages, draw, renamed } = this.#context;
    const show = (/** @type {string} */ text) => {
      pages.setTitle(id, text);
      draw();
    };
    show(title);
    try {
      await client.rename(id, title);
      renamed(id, title);
    } catch {
      show(before);
      this.#tell(format(this.#words.renameFailed, { title: before }));
    }
  }

  /** @param {Thread} thread */
  remove(thread) {
    const { pages, list, search, isCurrent, draw, open, newChat } = this.#context;
    const { removed, restored } = this.#words;
    const { thread_id: id } = thread;
    const title = list.titleOf(thread);
    const wasOpen = isCurrent(id);
    this.#undo.settle();
    const next = list.besides(id);
    pages.hide(id);
    draw();
    if (wasOpen) newChat();
    if (!list.focus(next)) search.focus();
    const undo = () => {
      pages.unhide(id);
      if (wasOpen) open(id);
      draw();
      list.focus(id);
      setText(this.#said, format(restored, { title }));
    };
    this.#offer(format(removed, { title }), undo, () => this.#delete(id, title));
  }

  /** @param {string} id @param {string} title */
  async #delete(id, title) {
    const { memory, pages, draw } = this.#context;
    try {
      await pages.remove(id);
    } catch {
      pages.unhide(id);
      draw();
      return this.#tell(format(this.#words.removeFailed, { title }));
    }
    memory.keepDraft(id, "");
  }

  /** @param {Thread} thread @param {HTMLElement} button */
  async openMenu(thread, button) {
    const { strings, client, pages, list, search, notice, draw, load } = this.#context;
    const missing = () => setText(notice, strings.threadsFailed);
    const module = await lazy(() => import("./menu.js"), missing);
    if (!module || !button.isConnected) return;
    this.#menu ??= new module.ThreadMenu({
      strings, client, pages, list, search,
      tell: (text) => this.#tell(text),
      remove: (thread) => this.remove(thread),
      offer: (text, undo) => this.#offer(text, undo),
      changed: () => {
        draw();
        load();
      },
    });
    this.#menu.open(thread, button);
  }

  /** @param {string} text @param {() => void} undo @param {() => void} [over] */
  #offer(text, undo, over = () => {}) {
    this.#undo.offer(text, undo, over);
    setText(this.#said, `${text} ${this.#words.undoHint}`);
  }

  /** Show an error, even if the list is closed. @param {string} text */
  #tell(text) {
    const { notice, panel, isOpen } = this.#context;
    if (isOpen()) return setText(notice, text);
    this.appendTo(panel);
    this.#undo.tell(text);
    setText(this.#said, text);
  }
}
