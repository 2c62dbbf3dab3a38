// @ts-check
/**
 * The rows of the list of conversations, by day. One row is a stop of the Tab key; arrows go from
 * one to the next.
 */
import { h, icon } from "../dom/elements.js";
import { dressMarks, excerptOf, marked } from "../messages/marks.js";
import { termsOf } from "../messages/matching.js";
import { FOUND_WORDS } from "../words/find-words.js";
import { format } from "../words/strings.js";

/** In English; the tables of other languages have these, too. */
export const LIST_WORDS = {
  today: "Today",
  yesterday: "Yesterday",
  lastWeek: "Last 7 days",
  pinned: "Pinned",
  unread: "New answer",
  waits: "Waiting for you",
  untitled: "Untitled",
  newTitle: "New title",
  more: "More for “{title}”",
};

/** @typedef {import("./pages.js").Thread} Thread */
/**
 * @typedef {{
 *   strings: import("../words/strings.js").Strings, href: (threadId: string) => string | null,
 *   open: (thread: Thread) => void, remove: (thread: Thread) => void,
 *   rename: (thread: Thread, title: string) => void,
 *   more: (thread: Thread, button: HTMLElement) => void, leave: (down: boolean) => void,
 * }} Context leave: go to what is above or below the rows
 */

const DAY = 86_400_000;
const MORE = "M6 12v.01M12 12v.01M18 12v.01";

export class ThreadList {
  #context;
  #words;
  /** @type {Thread[]} */
  #threads = [];
  /** @type {string | null} the row that the Tab key comes to */
  #stop = null;
  /** @type {string | null} */
  #current = null;
  /** @type {string | null} */
  #renaming = null;
  /** @type {string[]} what the user searches for */
  #terms = [];
  element;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#words = { ...FOUND_WORDS, ...LIST_WORDS, ...context.strings };
    this.element = h("div", {
      class: "threads", part: "threads",
      onkeydown: (event) => this.#keydown(event),
      onfocusin: (event) => this.#setStop(idOf(event.target)),
    });
  }

  /** @param {Thread[]} threads @param {string | null} current @param {string} [query] */
  draw(threads, current, query = "") {
    this.#terms = termsOf(query);
    const moved = current !== this.#current;
    this.#threads = threads;
    this.#current = current;
    // A row that the user writes in, or whose menu is open, stays until that is done.
    if (this.#renaming || this.element.querySelector(":popover-open")) return;
    const focused = /** @type {any} */ (this.element.getRootNode()).activeElement;
    const held = this.element.contains(focused) && idOf(focused);
    const stops = held ? [...focused.closest("li").querySelectorAll(".stop")] : [];
    const place = Math.max(0, stops.indexOf(focused)); // not in a title's input
    const groups = new Map();
    for (const thread of threads) {
      const name = this.#dayOf(thread);
      groups.set(name, [...(groups.get(name) ?? []), this.#row(thread)]);
    }
    const sections = [...groups].map(([name, rows]) => {
      return h("section", {}, h("h3", {}, name), h("ul", { "aria-label": name }, ...rows));
    });
    this.element.replaceChildren(...sections);
    if (query) dressMarks(this.element);
    const wanted = [!moved && this.#stop, current].find((id) => id && this.#find(id));
    this.#setStop(wanted || threads[0]?.thread_id);
    if (held && !this.focus(held, place)) this.focus();
  }

  /**
   * Go to a row, by default to the one that Tab comes to; false when it isn't there.
   * @param {string | null} [id] @param {number} [place]
   */
  focus(id = this.#stop, place = 0) {
    const row = id && this.#find(id);
    if (row) /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll(".stop"))[place].focus();
    return Boolean(row);
  }

  focusLast() {
    this.focus(this.#threads.at(-1)?.thread_id);
  }

  /** The row to focus when this one is removed. @param {string} id */
  besides(id) {
    const at = this.#threads.findIndex((thread) => thread.thread_id === id);
    return (this.#threads[at + 1] ?? this.#threads[at - 1])?.thread_id ?? null;
  }

  /** @param {Thread} thread */
  titleOf({ title, preview }) {
    return title || preview || this.#words.untitled;
  }

  // --- A row

  /** @param {Thread} thread */
  #row(thread) {
    const { href, open } = this.#context;
    const { thread_id: id, updated_at, excerpt } = thread;
    const title = this.titleOf(thread);
    const url = href(id);
    const date = this.#format(thread, { dateStyle: "medium", timeStyle: "short" });
    const onclick = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab or window of its own
      event.preventDefault();
      open(thread);
    };
    return h(
      "li", { "data-id": id },
      h(
        url ? "a" : "button",
        {
          class: "thread stop", title: `${title}\n${date}`, onclick,
          "aria-current": id === this.#current && "true",
          ...(url ? { href: url } : { type: "button" }),
        },
        h("span", { class: "thread-title", dir: "auto" }, ...marked(title, this.#terms)),
        h("time", { class: "thread-time", datetime: updated_at }, this.#timeOf(thread)),
        excerpt && excerpt !== title && excerptOf(excerpt, this.#terms),
        this.#mark(thread),
      ),
      h("span", { class: "thread-actions" }, this.#moreButton(thread, title)),
    );
  }

  /** The sign of a conversation that is answering, waits or has news. @param {Thread} thread */
  #mark({ thread_id: id, unread, running, waiting }) {
    const { answering, waits, unread: news } = this.#words;
    const isNew = unread && id !== this.#current;
    const state = running ? answering : waiting ? waits : isNew && news;
    const kind = running ? "running" : waiting ? "waiting" : "";
    const text = state && h("span", { class: "visually-hidden" }, state);
    const look = { class: `thread-mark ${kind}`, title: state };
    return state && h("span", look, kind === "waiting" && icon("pause"), text);
  }

  /** @param {Thread} thread @param {string} title @returns {HTMLElement} */
  #moreButton(thread, title) {
    const label = format(this.#words.more, { title });
    const button = h(
      "button",
      {
        type: "button", class: "icon-button stop", "aria-label": label, title: label,
        "aria-haspopup": "menu", "aria-expanded": "false",
      },
      icon("more", MORE),
    );
    button.addEventListener("click", () => this.#context.more(thread, button));
    return button;
  }

  /** Let the user write another title. @param {Thread} thread */
  rename(thread) {
    const title = this.titleOf(thread);
    const row = this.#find(thread.thread_id);
    if (!row) return;
    const input = h("input", {
      class: "thread-input", value: title, maxlength: "255", dir: "auto",
      "aria-label": this.#words.newTitle,
    });
    /** @param {boolean} save @param {boolean} stay */
    const finish = (save, stay) => {
      if (!this.#renaming) return;
      this.#renaming = null;
      const text = input.value.trim();
      if (save && text && text !== title) this.#context.rename(thread, text);
      else this.draw(this.#threads, this.#current, this.#terms.join(" "));
      if (stay) this.focus(thread.thread_id);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (!["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      finish(event.key === "Enter", true);
    });
    input.addEventListener("blur", () => finish(true, false));
    this.#renaming = thread.thread_id;
    row.replaceChildren(input);
    input.focus();
    input.select();
  }

  // --- Keys

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const id = idOf(event.target);
    const at = this.#threads.findIndex((thread) => thread.thread_id === id);
    const thread = this.#threads[at];
    if (!thread || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.#threads.length - 1 }[key];
    if (to !== undefined) {
      this.focus(this.#threads[to]?.thread_id ?? null) || this.#context.leave(to > 0);
    } else if (key === "F2") this.rename(thread);
    else if (key === "Delete" || key === "Backspace") this.#context.remove(thread);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string | undefined} id */
  #setStop(id) {
    this.#stop = id ?? null;
    /** @type {NodeListOf<HTMLElement>} */
    const stops = this.element.querySelectorAll(".stop");
    for (const stop of stops) stop.tabIndex = idOf(stop) === id ? 0 : -1;
  }

  /** @param {string} id @returns {HTMLElement | undefined} */
  #find(id) {
    return [...this.element.querySelectorAll("li")].find((row) => row.dataset.id === id);
  }

  // --- Days

  /**
   * The hour of today's rows, the day of others: rows of the same title differ in it.
   * @param {Thread} thread
   */
  #timeOf(thread) {
    const { today, yesterday } = this.#words;
    const isRecent = [today, yesterday].includes(this.#dayOf(thread));
    /** @type {Intl.DateTimeFormatOptions} */
    const style = isRecent ? { timeStyle: "short" } : { day: "numeric", month: "short" };
    return this.#format(thread, style);
  }

  /** @param {Thread} thread @param {Intl.DateTimeFormatOptions} style */
  #format({ updated_at }, style) {
    return new Intl.DateTimeFormat(this.#words.lang, style).format(new Date(updated_at));
  }

  /** @param {Thread} thread */
  #dayOf({ updated_at, pinned }) {
    const words = this.#words;
    if (pinned) return words.pinned;
    const date = new Date(updated_at);
    const now = new Date();
    const midnights = [now, date].map((day) => new Date(day).setHours(0, 0, 0, 0));
    const days = Math.round((midnights[0] - midnights[1]) / DAY);
    if (days < 2) return days < 1 ? words.today : words.yesterday;
    if (days < 7) return words.lastWeek;
    const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
    return new Intl.DateTimeFormat(words.lang, { month: "long", year }).format(date);
  }
}

/** @param {any} element */
function idOf(element) {
  return element.closest("li")?.dataset.id;
}
