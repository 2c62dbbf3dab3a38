// @ts-check
/** The list of conversations: search, open, rename, delete. Beside the chat where there is room, else over it. */
import { h, iconButton, isTouch, setText } from "./dom.js";
import { format } from "./strings.js";
import { ThreadList } from "./thread-list.js";
import { UndoBar } from "./undo.js";

/** In English; the tables of other languages have these, too. */
export const THREADS_WORDS = {
  searchThreads: "Search conversations",
  threadsFound: "{count} found",
  noThreadsFound: "Nothing found for “{q}”.",
  today: "Today",
  yesterday: "Yesterday",
  lastWeek: "Last 7 days",
  unread: "New answer",
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
/** @typedef {{ thread_id: string, title: string, preview: string, updated_at: string, unread?: boolean, running?: boolean }} Thread */

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
  /** @type {Thread[]} as listed: newest first */
  #threads = [];
  /** @type {string | null} */
  #next = null;
  /** @type {string | null} */
  #current = null;
  #query = "";
  #loading = false;
  #generation = 0;
  /** Deleted, or about to be. @type {Set<string>} */
  #gone = new Set();
  /** @type {any} */
  #opener = null;
  /** @type {any} */
  #timer = 0;
  #end;
  element;

  /** @param {Context} context */
  constructor(context) {
    const { strings, panel } = (this.#context = { ...context, strings: { ...THREADS_WORDS, ...context.strings } });
    this.#undo = new UndoBar(strings.undo);
    this.#list = new ThreadList({
      strings, href: context.href, open: (thread) => this.#open(thread), remove: (thread) => this.#remove(thread),
      rename: (thread, title) => this.#rename(thread, title), leave: (down) => (down && !this.#more.hidden ? this.#more : this.#search).focus(),
    });
    this.#search = h("input", {
      class: "entry", type: "search", maxlength: "200", enterkeyhint: "search", placeholder: strings.searchThreads,
      "aria-label": strings.searchThreads, oninput: () => this.#searchSoon(), onkeydown: (event) => this.#searchKey(event),
    });
    this.#more = h("button", { type: "button", class: "button quiet", onclick: () => this.#load(true), hidden: true });
    const head = h(
      "header", {}, h("h2", {}, strings.threads),
      iconButton("compose", strings.newChat, () => (this.#leave(), context.newChat())),
      iconButton("close", strings.close, () => this.#isBeside ? this.toggle() : this.close()),
    );
    const body = h("div", { class: "drawer-body" }, this.#notice, this.#list.element, this.#more);
    this.element = h(
      "dialog", { class: "drawer", part: "drawer", tabindex: "-1", "aria-label": strings.threads }, head,
      h("div", { class: "drawer-search", role: "search" }, this.#search), body, this.#undo.element, this.#said,
    );
    this.element.addEventListener("click", (event) => event.target === this.element && !this.#isBeside && this.close());
    this.element.addEventListener("close", () => this.#closed());
    this.element.addEventListener("keydown", (event) => this.#keydown(event));
    this.#end = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.#next && this.#focused !== this.#more && this.#load(true), { root: body, rootMargin: "200px" });
    new ResizeObserver(() => this.#fit()).observe(panel);
    panel.append(this.element);
  }

  get #isBeside() {
    return this.element.classList.contains("beside");
  }

  get #hasRoom() {
    return this.#context.panel.clientWidth >= ROOM_PIXELS;
  }

  /** What the button does. */
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

  /** Nobody is signed in any more. */
  forget() {
    this.#generation++; // what is still on its way is not shown
    this.#undo.drop();
    this.#threads = [];
    this.#next = this.#current = null;
    this.#gone.clear();
    this.#search.value = this.#query = "";
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
    // Not show(): what is open from before must not take the focus.
    if (modal) this.element.showModal();
    else this.element.open = true;
    this.#load();
  }

  #closed() {
    this.#undo.settle();
    clearTimeout(this.#timer);
    for (const element of [this.element, this.#context.panel]) element.classList.remove("beside");
    if (this.#search.value) this.#search.value = this.#query = "";
    if (!this.#focused || this.element.contains(this.#focused)) this.#opener?.focus();
  }

  #fit() {
    if (this.#isBeside && !this.#hasRoom) this.close();
    else if (!this.element.open && this.#hasRoom && this.#context.memory.sidebar) this.#show(false);
  }

  get #focused() {
    return /** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement;
  }

  /** What lies under a drawer is what one goes on with. */
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
    const { client, strings } = this.#context;
    const generation = ++this.#generation;
    const q = this.#search.value.trim();
    this.#loading = true;
    clearTimeout(this.#timer);
    let failed = false;
    try {
      const { threads, next } = await client.threads({ q, cursor: more ? this.#next : null });
      if (generation !== this.#generation) return;
      this.#take(threads, next, more, q);
    } catch {
      if (generation !== this.#generation) return;
      failed = true;
    }
    this.#loading = false;
    this.#draw(failed);
    setText(this.#more, failed ? strings.retry : strings.loadMore);
    const held = this.#focused === this.#more;
    this.#more.hidden = !failed && !this.#next;
    if (held && this.#more.hidden) this.#list.focusLast();
    if (failed) return;
    if (this.element.open && this.#threads.some((thread) => thread.running)) this.#timer = setTimeout(() => this.#load(), RUNNING_MS);
    this.#end.disconnect(); // so that it looks again whether the end is in sight
    this.#end.observe(this.#more);
  }

  /** The list may have shifted meanwhile: nobody is listed twice. @param {Thread[]} threads @param {string | null} next @param {boolean} more @param {string} q */
  #take(threads, next, more, q) {
    const ids = new Set(threads.map((thread) => thread.thread_id));
    const known = q === this.#query ? this.#threads.filter((thread) => !ids.has(thread.thread_id)) : [];
    this.#query = q;
    if (more) {
      this.#threads = [...known, ...threads];
      this.#next = next;
      return;
    }
    // The first page again: what was loaded beyond it stays.
    const last = next ? Date.parse(/** @type {Thread} */ (threads.at(-1)).updated_at) : Infinity;
    const beyond = known.filter((thread) => Date.parse(thread.updated_at) <= last && next);
    this.#threads = [...threads, ...beyond];
    if (!beyond.length) this.#next = next;
  }

  #draw(failed = false) {
    const { strings } = this.#context;
    const threads = this.#threads.filter((thread) => !this.#gone.has(thread.thread_id));
    this.#list.draw(threads, this.#current);
    const count = `${threads.length}${this.#next ? "+" : ""}`;
    const found = threads.length ? this.#query && format(strings.threadsFound, { count }) : this.#query ? format(strings.noThreadsFound, { q: this.#query }) : strings.noThreads;
    setText(this.#notice, failed ? strings.threadsFailed : found);
  }

  // --- What is done with one

  /** @param {Thread} thread */
  #open(thread) {
    thread.unread = false;
    this.#leave();
    if (thread.thread_id !== this.#current) this.#context.open(thread.thread_id);
    else this.#context.focus();
  }

  /** @param {Thread} thread @param {string} title */
  async #rename({ thread_id: id, title: before }, title) {
    // The list may have come anew while the title was written.
    const name = (text) => {
      for (const thread of this.#threads) if (thread.thread_id === id) thread.title = text;
      this.#draw();
    };
    name(title);
    try {
      await this.#context.client.rename(id, title);
      this.#context.renamed(id, title);
    } catch {
      name(before);
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
    this.#gone.add(id);
    this.#draw();
    if (wasOpen) newChat();
    if (!this.#list.focus(next)) this.#search.focus();
    const undo = () => {
      this.#gone.delete(id);
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
      await this.#context.client.remove(id);
    } catch (error) {
      if (/** @type {any} */ (error).status !== 404) {
        this.#gone.delete(id);
        this.#draw();
        return this.#tell(format(this.#context.strings.removeFailed, { title }));
      }
    }
    this.#threads = this.#threads.filter((thread) => thread.thread_id !== id);
    this.#context.memory.keepDraft(id, "");
  }

  /** Say what went wrong, also when the drawer is closed. @param {string} text */
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
