// @ts-check
/**
 * Messages that wait on the server while the agent works. This small module is loaded with the
 * first conversation, and looks whether some wait. What works with them is loaded when there are
 * some, or when the user writes during a run.
 */
import { lazy } from "../agui/dom/lazy.js";

/** @typedef {import("../agui/types.d.ts").PageContext} Context */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./rows.js").Mode} Mode */
/** @typedef {import("./waiting.js").Waiting} Waiting */

/** @param {Context} context */
export function attend(context) {
  const { host, panel, composer } = context;
  const { session } = host;
  const { modes, max } = JSON.parse(host.dataset.queue || "{}");
  if (!modes?.length || !host.client.hasThreads) return;
  const later = new Later(context, modes, max);
  session.later = later;
  session.addEventListener("change", () => later.enter());
  session.addEventListener("end", () => later.look());
  session.addEventListener("event", (event) => {
    const { type, name } = /** @type {CustomEvent} */ (event).detail;
    if (type === "CUSTOM" && name.startsWith("message_")) later.load();
  });
  const look = () => document.hidden || !host.isConnected || later.look();
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  addEventListener("online", look);
  composer.input.addEventListener("input", () => session.busy && later.load());
  host.addEventListener("ag-ui-submit", (event) => {
    if (later.waiting?.refuse(later.next)) event.preventDefault();
  });
  // Ctrl+Enter sends in the other mode. This hears of it before the input does.
  /** @param {KeyboardEvent} event */
  const press = ({ key, ctrlKey, metaKey }) => {
    const isOther = key === "Enter" && (ctrlKey || metaKey) && composer.hasFocus;
    later.next = (isOther && modes[1]) || null;
  };
  panel.addEventListener("keydown", press, { capture: true });
  panel.addEventListener("pointerdown", () => (later.next = null), { capture: true });
  later.enter();
}

export class Later {
  /** What the user wants of the next message; null: what is usual. @type {Mode | "stop" | null} */
  next = null;
  /** @type {Waiting | undefined} */
  waiting;
  modes;
  #max;
  #context;
  /** @type {Promise<unknown> | undefined} */
  #loading;
  /** @type {string | null} */
  #threadId = null;
  /** What the user has sent before the rest is there. @type {Row[]} */
  #rows = [];

  /** @param {Context} context @param {Mode[]} modes @param {number} max */
  constructor(context, modes, max) {
    this.#context = context;
    this.modes = modes;
    this.#max = max;
  }

  /** Keep a message; false if the tab has to. @param {import("./waiting.js").Queued} message */
  take(message) {
    const { session } = this.#context.host;
    const mode = this.next ?? this.modes[0];
    this.next = null;
    if (mode === "stop") {
      message.stops = true;
      queueMicrotask(() => session.stop());
      return false;
    }
    if (this.waiting?.isOff) return false;
    const { id, text, attachments } = message;
    const content = text.trim() || attachments.map(({ name }) => name).join(", ");
    const metadata = attachments.length ? { metadata: { attachments } } : {};
    /** @type {Row} */
    const row = { id, message: { id, role: "user", content, ...metadata }, mode, isUnsent: true };
    session.dispatchEvent(new CustomEvent("kept", { detail: row.message }));
    if (this.waiting) this.waiting.add(row);
    else this.#rows.push(row);
    this.load();
    return true;
  }

  /** Whether a message still waits. @param {string} id */
  has(id) {
    return this.#rows.some((row) => row.id === id) || Boolean(this.waiting?.has(id));
  }

  /** Look into a thread that was opened. */
  enter() {
    const { threadId } = this.#context.host.session;
    if (threadId === this.#threadId) return;
    this.#threadId = threadId;
    this.look();
  }

  /** Load the rest if something waits, or if a run is on that this page does not follow. */
  async look() {
    const { host, memory } = this.#context;
    const { client, session } = host;
    const id = this.#threadId;
    // A thread that is just beginning has no list.
    if (this.waiting || !id || session.isUndelivered) return;
    if (memory.noted(`waiting:${id}`, sessionStorage)) return this.load();
    const asking = client.send(client.address(id, "messages/"), {}).then((found) => found.json());
    const list = await asking.catch(() => null);
    const isUnseen = list?.run && !session.busy && !session.loading;
    if (isUnseen || list?.messages?.length) this.load();
  }

  load() {
    this.#loading ??= lazy(() => import("./waiting.js")).then((module) => {
      this.#loading = module ? this.#loading : undefined;
      if (module) this.waiting ??= module.begin(this, this.#context, this.#max);
      for (const row of this.#rows) this.waiting?.add(row);
      const rows = this.#rows.splice(0); // Not before: each of them waits all the time.
      if (!module) this.#giveUp(rows);
    });
  }

  /** What keeps them could not be loaded: the tab keeps one. @param {Row[]} rows */
  #giveUp(rows) {
    const { session } = this.#context.host;
    session.later = null;
    for (const { id, message } of rows) {
      const isKept = session.send(String(message.content), message.metadata?.attachments, id);
      if (!isKept) session.dispatchEvent(new CustomEvent("returned", { detail: message }));
    }
    session.later = this;
  }
}

/** @param {import("../agui/types.d.ts").Strings} strings */
export async function shortcuts(strings) {
  return (await lazy(() => import("./keys.js")))?.keysOf(strings) ?? [];
}
