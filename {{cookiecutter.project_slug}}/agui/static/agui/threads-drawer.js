// @ts-check
/** The list of conversations: open, rename, delete, load more. */
import { h, iconButton } from "./dom.js";
import { format } from "./strings.js";

/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, client: import("./client.js").AgentClient,
 *   open: (threadId: string) => void, removed: (threadId: string) => void, newChat: () => void,
 * }} Context
 */
/** @typedef {{ thread_id: string, title: string, preview: string, updated_at: string }} Thread */

export class ThreadsDrawer {
  #context;
  #list = h("ul", { class: "threads", part: "threads" });
  #notice = h("p", { class: "notice", role: "status" });
  #more;
  /** @type {string | null} */
  #next = null;
  /** @type {string | null} */
  #current = null;
  #generation = 0;
  element;

  /** @param {Context} context */
  constructor(context) {
    const { strings } = (this.#context = context);
    this.#more = h("button", { type: "button", class: "button quiet", onclick: () => this.#load(), hidden: true }, strings.loadMore);
    const head = h(
      "header", {}, h("h2", {}, strings.threads),
      iconButton("compose", strings.newChat, () => (this.close(), context.newChat())),
      iconButton("close", strings.close, () => this.close()),
    );
    const body = h("div", { class: "drawer-body" }, this.#list, this.#notice, this.#more);
    this.element = h("dialog", { class: "drawer", part: "drawer", "aria-label": strings.threads }, head, body);
    this.element.addEventListener("click", (event) => event.target === this.element && this.close());
  }

  /** @param {string | null} current */
  open(current) {
    this.#current = current;
    this.element.showModal();
    this.refresh();
  }

  close() {
    this.element.close();
  }

  refresh() {
    this.#next = null;
    return this.#load();
  }

  async #load() {
    const { client, strings } = this.#context;
    const generation = ++this.#generation;
    const cursor = this.#next;
    try {
      const { threads, next } = await client.threads({ cursor });
      if (generation !== this.#generation) return;
      const rows = threads.map((thread) => this.#row(thread));
      if (cursor) this.#list.append(...rows);
      else this.#list.replaceChildren(...rows);
      this.#next = next;
      this.#more.hidden = !next;
      this.#notice.textContent = this.#list.children.length ? "" : strings.noThreads;
      if (cursor) rows[0]?.querySelector("button").focus();
    } catch {
      if (generation === this.#generation) this.#notice.textContent = strings.threadsFailed;
    }
  }

  /** @param {Thread} thread */
  #row(thread) {
    const { strings } = this.#context;
    const title = thread.title || thread.preview || strings.untitled;
    const open = h(
      "button",
      { type: "button", class: "thread", "aria-current": thread.thread_id === this.#current && "true", onclick: () => this.#open(thread) },
      h("span", { class: "thread-title" }, title),
      h("time", { datetime: thread.updated_at, class: "muted" }, ago(thread.updated_at)),
    );
    const row = h(
      "li", {}, open,
      h(
        "span", { class: "thread-actions" },
        iconButton("edit", format(strings.rename, { title }), () => this.#rename(row, thread, title)),
        iconButton("trash", format(strings.remove, { title }), () => this.#confirmRemove(row, thread)),
      ),
    );
    return row;
  }

  /** @param {Thread} thread */
  #open({ thread_id }) {
    this.close();
    this.#context.open(thread_id);
  }

  /** @param {HTMLElement} row @param {Thread} thread @param {string} title */
  #rename(row, thread, title) {
    const input = h("input", { class: "thread-input", value: title, maxlength: "255", "aria-label": this.#context.strings.newTitle });
    let done = false;
    const finish = async (save) => {
      if (done) return;
      done = true;
      const text = input.value.trim();
      if (save && text && text !== title) await this.#change(() => this.#context.client.rename(thread.thread_id, text), () => (thread.title = text));
      this.#replace(row, thread);
    };
    input.addEventListener("keydown", (event) => {
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      finish(event.key === "Enter");
    });
    input.addEventListener("blur", () => finish(true));
    row.replaceChildren(input);
    input.select();
  }

  /** @param {any} row @param {Thread} thread */
  #confirmRemove(row, thread) {
    const { strings, client, removed } = this.#context;
    const yes = async () => {
      await this.#change(() => client.remove(thread.thread_id), () => {
        row.remove();
        removed(thread.thread_id);
        if (!this.#list.children.length) this.#notice.textContent = strings.noThreads;
        this.element.querySelector("button").focus();
      });
    };
    const no = () => this.#replace(row, thread);
    row.replaceChildren(
      h(
        "div", { class: "thread-confirm", role: "group" }, h("span", {}, strings.confirmRemove),
        h("button", { type: "button", class: "button danger", onclick: yes }, strings.removeYes),
        h("button", { type: "button", class: "button quiet", onclick: no }, strings.removeNo),
      ),
    );
    row.querySelector("button").focus();
  }

  /** @param {HTMLElement} row @param {Thread} thread */
  #replace(row, thread) {
    const fresh = this.#row(thread);
    row.replaceWith(fresh);
    fresh.querySelector("button").focus();
  }

  /** @param {() => Promise<any>} request @param {() => void} apply */
  async #change(request, apply) {
    try {
      await request();
      apply();
    } catch {
      this.refresh();
    }
  }
}

const UNITS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60],
]);

/** @param {string} iso */
function ago(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" }).format(
    unit === "second" ? 0 : Math.round(seconds / size), unit,
  );
}
