// @ts-check
/** The list of conversations. It is beside the chat if there is room, and otherwise over it. */
import { closeOnBack } from "../dom/back.js";
import { h, iconButton, isTouch, setText } from "../dom/elements.js";
import { lazy } from "../dom/lazy.js";
import { format } from "../words/strings.js";
import { ThreadActions } from "./actions.js";
import { ThreadList } from "./list.js";
import { ThreadPages } from "./pages.js";
import { searchField } from "./search-field.js";

/** In English; the tables of other languages have these, too. */
export const THREADS_WORDS = {
  searchThreads: "Search conversations",
  threadsFound: "{count} found",
  noThreadsFound: "Nothing found for “{q}”.",
  noThreads: "No conversations yet.",
  threadsFailed: "The conversations could not be loaded.",
  loadMore: "Load more",
  archivedThreads: "Archived conversations",
  noArchivedThreads: "No archived conversations.",
};

/** @typedef {import("../words/strings.js").Strings & typeof THREADS_WORDS} Words */
/**
 * @typedef {{
 *   strings: import("../types.d.ts").Strings, client: import("../types.d.ts").AgentClient,
 *   memory: import("../session/thread-memory.js").ThreadMemory, panel: HTMLElement,
 *   href: (threadId: string) => string | null, open: (threadId: string) => void,
 *   showFound: import("../types.d.ts").ShowFound,
 *   newChat: () => void, focus: () => void, renamed: (threadId: string, title: string) => void,
 * }} Context
 */
/** @typedef {import("./pages.js").Thread} Thread */

const SEARCH_MS = 250;
const RUNNING_MS = 3000;
const ROOM_PIXELS = 1000;

export class ThreadsDrawer {
  #context;
  #list;
  #search;
  #notice = h("p", { class: "notice", role: "status" });
  #more;
  #pages;
  #archive;
  #actions;
  /** @type {string | null} */
  #current = null;
  #loading = false;
  /** @type {HTMLElement | null} */
  #opener = null;
  #timer = 0;
  #end;
  #release = () => {};
  /** @type {HTMLDialogElement} */
  element;

  /** @param {Context} context */
  constructor(context) {
    const strings = { ...THREADS_WORDS, ...context.strings };
    this.#context = { ...context, strings };
    this.#pages = new ThreadPages(context.client);
    this.#list = new ThreadList({
      strings, href: context.href,
      open: (thread) => this.#open(thread),
      remove: (thread) => this.#actions.remove(thread),
      rename: (thread, title) => this.#actions.rename(thread, title),
      more: (thread, button) => this.#actions.openMenu(thread, button),
      leave: (down) => (down && !this.#more.hidden ? this.#more : this.#search).focus(),
    });
    this.#search = searchField(strings.searchThreads, {
      soon: () => this.#searchSoon(), now: () => this.#load(), down: () => this.#list.focus(),
    });
    const onclick = () => this.#load(true);
    this.#more = h("button", { type: "button", class: "button quiet", onclick, hidden: true });
    this.#archive = h("button", {
      type: "button", class: "button quiet archive", "aria-pressed": "false",
      onclick: () => this.#switchList(),
    }, strings.archivedThreads);
    this.#actions = new ThreadActions({
      ...this.#context, pages: this.#pages, list: this.#list, search: this.#search,
      notice: this.#notice,
      isOpen: () => this.element.open,
      isCurrent: (id) => id === this.#current,
      draw: () => this.#draw(),
      load: () => this.#load(),
    });
    const body = h(
      "div", { class: "drawer-body" },
      this.#notice, this.#list.element, this.#more, this.#archive,
    );
    this.element = h(
      "dialog", { class: "drawer", part: "drawer", tabindex: "-1", "aria-label": strings.threads },
      this.#head(), h("div", { class: "drawer-search", role: "search" }, this.#search), body,
    );
    this.#actions.appendTo(this.element);
    this.#end = new IntersectionObserver(
      ([{ isIntersecting }]) => isIntersecting && this.#reachEnd(),
      { root: body, rootMargin: "200px" },
    );
    this.#listen();
    context.panel.append(this.element);
  }

  #head() {
    const { strings, newChat } = this.#context;
    const compose = () => (this.#leave(), newChat());
    return h(
      "header", {}, h("h2", {}, strings.threads),
      iconButton("compose", strings.newChat, compose),
      iconButton("close", strings.close, () => this.#isBeside ? this.toggle() : this.close()),
    );
  }

  #listen() {
    const { element } = this;
    element.addEventListener("click", ({ target }) => target === element && this.#leave());
    element.addEventListener("close", () => this.#closed());
    element.addEventListener("keydown", (event) => this.#keydown(event));
    new ResizeObserver(() => this.#fit()).observe(this.#context.panel);
    const rows = this.#list.element;
    if (isTouch()) lazy(() => import("./touch.js")).then((it) => it?.followFingers(this, rows));
  }

  get #isBeside() {
    return this.element.classList.contains("beside");
  }

  get #hasRoom() {
    return this.#context.panel.clientWidth >= ROOM_PIXELS;
  }

  /** Open or close the list. */
  toggle() {
    if (this.#hasRoom) this.#context.memory.sidebar = !this.element.open;
    if (this.element.open) return this.close();
    this.#opener = this.#focused;
    this.#show(!this.#hasRoom);
    (isTouch() ? this.element : this.#search).focus();
  }

  close() {
    if (this.#isBeside) {
      this.element.open = false;
      this.#closed();
    } else {
      this.#release(); // A step back may come before the event of the dialog.
      this.element.close();
    }
  }

  /** Follow what happens in the chat. @param {string | null} current */
  update(current) {
    if (current === this.#current && !this.#isBeside) return;
    this.#current = current;
    this.#draw();
    if (this.#isBeside) this.#load();
  }

  /** The user has signed out. */
  forget() {
    this.#pages.clear();
    this.#actions.forget();
    this.#current = null;
    this.#search.value = "";
    this.#draw();
    if (this.element.open) this.close();
  }

  // --- Open and closed

  /** @param {boolean} modal */
  #show(modal) {
    const { panel } = this.#context;
    this.#actions.appendTo(this.element);
    panel.classList.remove("news"); // Here it is
    for (const element of [this.element, panel]) element.classList.toggle("beside", !modal);
    // This is not show(), because an open drawer must not take the focus.
    if (modal) {
      this.element.showModal();
      this.#release = closeOnBack(() => this.close());
    } else this.element.open = true;
    this.#load();
  }

  #closed() {
    const focused = this.#focused;
    this.#release();
    this.#actions.settle();
    clearTimeout(this.#timer);
    for (const element of [this.element, this.#context.panel]) element.classList.remove("beside");
    this.#search.value = "";
    if (!focused || this.element.contains(focused)) this.#opener?.focus();
  }

  #fit() {
    if (this.#isBeside && !this.#hasRoom) this.close();
    else if (!this.element.open && this.#hasRoom && this.#context.memory.sidebar) this.#show(false);
  }

  get #focused() {
    const { activeElement } = /** @type {ShadowRoot} */ (this.element.getRootNode());
    return /** @type {HTMLElement | null} */ (activeElement);
  }

  /** Close the drawer if it covers the chat, where the user continues. */
  #leave() {
    if (!this.#isBeside) this.close();
  }

  // --- What is listed

  #searchSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), SEARCH_MS);
  }

  async #load(more = false) {
    if (more && this.#loading) return;
    const { strings } = this.#context;
    this.#loading = true;
    clearTimeout(this.#timer);
    let failed = false;
    try {
      if (!(await this.#pages.load(this.#search.value.trim(), { more }))) return;
    } catch {
      failed = true;
    }
    this.#loading = false;
    this.#draw(failed);
    setText(this.#more, failed ? strings.retry : strings.loadMore);
    const isHeld = this.#focused === this.#more;
    this.#more.hidden = !failed && !this.#pages.next;
    if (isHeld && this.#more.hidden) this.#list.focusLast();
    if (failed) return;
    if (this.element.open && this.#pages.isRunning)
      this.#timer = setTimeout(() => this.#load(), RUNNING_MS);
    this.#end.disconnect(); // Observe it again, to learn whether the end is visible.
    this.#end.observe(this.#more);
  }

  /** The end of the list comes into view. */
  #reachEnd() {
    if (this.#pages.next && this.#focused !== this.#more) this.#load(true);
  }

  #draw(failed = false) {
    const { strings } = this.#context;
    const { shown, next, query } = this.#pages;
    this.#list.draw(shown, this.#current, query);
    const none = this.#pages.archived ? strings.noArchivedThreads : strings.noThreads;
    let text = query ? format(strings.noThreadsFound, { q: query }) : none;
    if (shown.length) {
      const count = `${shown.length}${next ? "+" : ""}`;
      text = query && format(strings.threadsFound, { count });
    }
    setText(this.#notice, failed ? strings.threadsFailed : text);
  }

  /** @param {Thread} thread */
  #open(thread) {
    this.#pages.markSeen(thread.thread_id);
    this.#leave();
    const { query } = this.#pages;
    if (query && thread.message_id) this.#context.showFound(thread, query);
    else if (thread.thread_id !== this.#current) this.#context.open(thread.thread_id);
    else this.#context.focus();
  }

  /** Show the archived conversations, or the others again. */
  #switchList() {
    this.#pages.clear();
    this.#pages.archived = !this.#pages.archived;
    this.#archive.setAttribute("aria-pressed", String(this.#pages.archived));
    this.#search.value = "";
    this.#load();
  }

  // --- Keys

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const isUndo = event.key === "z" && (event.ctrlKey || event.metaKey);
    if (isUndo && event.target !== this.#search && this.#actions.undo()) event.preventDefault();
    else if (event.key !== "Escape" || !this.#isBeside) return;
    else this.#context.focus();
    event.stopPropagation();
  }
}
