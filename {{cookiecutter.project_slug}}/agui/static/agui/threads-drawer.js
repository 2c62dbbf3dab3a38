// @ts-check
/** The list of conversations: search, open, rename, delete. The list is beside the chat if there is room, and otherwise over it. */
import { h, iconButton, isTouch, setText } from "./dom.js";
import { lazy } from "./lazy.js";
import { format } from "./strings.js";
import { ThreadList } from "./thread-list.js";
import { ThreadPages } from "./thread-pages.js";
import { UndoBar } from "./undo.js";

/** In English; the tables of other languages have these, too. */
export const THREADS_WORDS = {
  searchThreads: "Search conversations",
  threadsFound: "{count} found",
  noThreadsFound: "Nothing found for “{q}”.",
  today: "Today",
  yesterday: "Yesterday",
  lastWeek: "Last 7 days",
  unread: "New answer", waits: "Waits for you",
  noThreads: "No conversations yet.",
  threadsFailed: "The conversations could not be loaded.",
  untitled: "Untitled",
  loadMore: "Load more",
  rename: "Rename “{title}”",
  remove: "Delete “{title}”",
  newTitle: "New title",
  renameFailed: "“{title}” could not be renamed.",
  removed: "“{title}” was deleted.",
  removeFailed: "“{title}” could not be deleted.",
  undo: "Undo",
  undoHint: "Ctrl+Z brings it back.",
  restored: "“{title}” is back.",
  more: "More for “{title}”",
  pinned: "Pinned",
  archivedThreads: "Archived conversations",
  noArchivedThreads: "Nothing is archived.",
};

/** @typedef {import("./strings.js").Strings & typeof THREADS_WORDS} Words */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, client: import("./client.js").AgentClient, panel: HTMLElement,
 *   memory: import("./thread-memory.js").ThreadMemory,
 *   href: (threadId: string) => string | null, open: (threadId: string) => void, newChat: () => void, focus: () => void,
 *   renamed: (threadId: string, title: string) => void,
 * }} Context
 */
/** @typedef {import("./thread-pages.js").Thread} Thread */

const SEARCH_MS = 250;
const RUNNING_MS = 3000;
const ROOM_PIXELS = 1000;

export class ThreadsDrawer {
  #context;
  #list;
  #search;
  #notice = h("p", { class: "notice", role: "status" });
  #said = h("p", { class: "visually-hidden", role: "status" });
  #more;
  #undo;
  #pages;
  #archive;
  /** @type {import("./thread-menu.js").ThreadMenu | undefined} */
  #menu;
  /** @type {string | null} */
  #current = null;
  #loading = false;
  /** @type {any} */
  #opener = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #end;
  /** @type {HTMLDialogElement} */
  element;

  /** @param {Context} context */
  constructor(context) {
    const { strings, panel } = (this.#context = { ...context, strings: { ...THREADS_WORDS, ...context.strings } });
    this.#pages = new ThreadPages(context.client);
    this.#undo = new UndoBar(strings.undo);
    this.#list = new ThreadList({
      strings, href: context.href, open: (thread) => this.#open(thread), remove: (thread) => this.#remove(thread),
      rename: (thread, title) => this.#rename(thread, title),
      more: (thread, button) => this.#openMenu(thread, button), leave: (down) => (down && !this.#more.hidden ? this.#more : this.#search).focus(),
    });
    this.#search = h("input", {
      class: "entry", type: "search", maxlength: "200", enterkeyhint: "search", placeholder: strings.searchThreads,
      "aria-label": strings.searchThreads, oninput: () => this.#searchSoon(), onkeydown: (event) => this.#searchKey(event),
    });
    this.#more = h("button", { type: "button", class: "button quiet", onclick: () => this.#load(true), hidden: true });
    const look = { type: "button", class: "button quiet archive", "aria-pressed": "false" };
    this.#archive = h("button", { ...look, onclick: () => this.#switchList() }, strings.archivedThreads);
    const head = h(
      "header", {}, h("h2", {}, strings.threads),
      iconButton("compose", strings.newChat, () => (this.#leave(), context.newChat())),
      iconButton("close", strings.close, () => this.#isBeside ? this.toggle() : this.close()),
    );
    const body = h("div", { class: "drawer-body" }, this.#notice, this.#list.element, this.#more);
    body.append(this.#archive);
    this.element = h(
      "dialog", { class: "drawer", part: "drawer", tabindex: "-1", "aria-label": strings.threads }, head,
      h("div", { class: "drawer-search", role: "search" }, this.#search), body, this.#undo.element, this.#said,
    );
    this.element.addEventListener("click", (event) => event.target === this.element && !this.#isBeside && this.close());
    this.element.addEventListener("close", () => this.#closed());
    this.element.addEventListener("keydown", (event) => this.#keydown(event));
    this.#end = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.#pages.next && this.#focused !== this.#more && this.#load(true), { root: body, rootMargin: "200px" });
    new ResizeObserver(() => this.#fit()).observe(panel);
    panel.append(this.element);
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
    } else this.element.close();
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
    this.#undo.drop();
    this.#current = null;
    this.#search.value = "";
    setText(this.#said, "");
    this.#draw();
    if (this.element.open) this.close();
  }

  // --- Open and closed

  /** @param {boolean} modal */
  #show(modal) {
    this.element.append(this.#undo.element, this.#said);
    this.#context.panel.classList.remove("news"); // Here it is
    for (const element of [this.element, this.#context.panel]) element.classList.toggle("beside", !modal);
    // This is not show(), because an open drawer must not take the focus.
    if (modal) this.element.showModal();
    else this.element.open = true;
    this.#load();
  }

  #closed() {
    this.#undo.settle();
    clearTimeout(this.#timer);
    for (const element of [this.element, this.#context.panel]) element.classList.remove("beside");
    this.#search.value = "";
    if (!this.#focused || this.element.contains(this.#focused)) this.#opener?.focus();
  }

  #fit() {
    if (this.#isBeside && !this.#hasRoom) this.close();
    else if (!this.element.open && this.#hasRoom && this.#context.memory.sidebar) this.#show(false);
  }

  get #focused() {
    return /** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement;
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
    if (this.element.open && this.#pages.isRunning) this.#timer = setTimeout(() => this.#load(), RUNNING_MS);
    this.#end.disconnect(); // Observe it again, to learn whether the end is visible.
    this.#end.observe(this.#more);
  }

  #draw(failed = false) {
    const { strings } = this.#context;
    const { shown, next, query } = this.#pages;
    this.#list.draw(shown, this.#current);
    const none = this.#pages.archived ? strings.noArchivedThreads : strings.noThreads;
    let text = query ? format(strings.noThreadsFound, { q: query }) : none;
    if (shown.length) text = query && format(strings.threadsFound, { count: `${shown.length}${next ? "+" : ""}` });
    setText(this.#notice, failed ? strings.threadsFailed : text);
  }

  // --- Actions on a conversation

  /** @param {Thread} thread */
  #open(thread) {
    this.#pages.markSeen(thread.thread_id);
    this.#leave();
    if (thread.thread_id !== this.#current) this.#context.open(thread.thread_id);
    else this.#context.focus();
  }

  /** @param {Thread} thread @param {string} title */
  async #rename({ thread_id: id, title: before }, title) {
    const show = (/** @type {string} */ text) => {
      this.#pages.setTitle(id, text);
      this.#draw();
    };
    show(title);
    try {
      await this.#context.client.rename(id, title);
      this.#context.renamed(id, title);
    } catch {
      show(before);
      this.#tell(format(this.#context.strings.renameFailed, { title: before }));
    }
  }

  /** @param {Thread} thread */
  #remove(thread) {
    const { strings, open, newChat } = this.#context;
    const { thread_id: id } = thread;
    const title = this.#list.titleOf(thread);
    const wasOpen = id === this.#current;
    this.#undo.settle();
    const next = this.#list.besides(id);
    this.#pages.hide(id);
    this.#draw();
    if (wasOpen) newChat();
    if (!this.#list.focus(next)) this.#search.focus();
    const undo = () => {
      this.#pages.unhide(id);
      if (wasOpen) open(id);
      this.#draw();
      this.#list.focus(id);
      setText(this.#said, format(strings.restored, { title }));
    };
    this.#undo.offer(format(strings.removed, { title }), undo, () => this.#delete(thread, title));
    setText(this.#said, `${format(strings.removed, { title })} ${strings.undoHint}`);
  }

  /** @param {Thread} thread @param {string} title */
  async #delete({ thread_id: id }, title) {
    try {
      await this.#pages.remove(id);
    } catch {
      this.#pages.unhide(id);
      this.#draw();
      return this.#tell(format(this.#context.strings.removeFailed, { title }));
    }
    this.#context.memory.keepDraft(id, "");
  }

  /** @param {Thread} thread @param {HTMLElement} button */
  async #openMenu(thread, button) {
    const { strings, client } = this.#context;
    const missing = () => setText(this.#notice, strings.threadsFailed);
    const module = await lazy(() => import("./thread-menu.js"), missing);
    if (!module || !button.isConnected) return;
    this.#menu ??= new module.ThreadMenu({
      strings, client, pages: this.#pages, list: this.#list, tell: (text) => this.#tell(text),
      changed: () => (this.#draw(), this.#load()), search: this.#search,
      offer: (text, undo) => {
        this.#undo.offer(text, undo, () => {});
        setText(this.#said, `${text} ${strings.undoHint}`);
      },
    });
    this.#menu.open(thread, button);
  }

  /** Show the archived conversations, or the others again. */
  #switchList() {
    this.#pages.clear();
    this.#pages.archived = !this.#pages.archived;
    this.#archive.setAttribute("aria-pressed", String(this.#pages.archived));
    this.#search.value = "";
    this.#load();
  }

  /** Show an error, even if the drawer is closed. @param {string} text */
  #tell(text) {
    if (this.element.open) return setText(this.#notice, text);
    this.#context.panel.append(this.#undo.element, this.#said);
    this.#undo.tell(text);
    setText(this.#said, text);
  }

  // --- Keys

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && event.target !== this.#search && this.#undo.undo()) event.preventDefault();
    else if (event.key !== "Escape" || !this.#isBeside) return;
    else this.#context.focus();
    event.stopPropagation();
  }

  /** @param {KeyboardEvent} event */
  #searchKey(event) {
    if (event.key === "Escape" && this.#search.value) this.#search.value = "";
    else if (event.key === "ArrowDown") return event.preventDefault(), void this.#list.focus();
    else if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    this.#load();
  }
}
