// @ts-check
/**
 * The server's list of what waits, which decides. It is read when a thread is opened, when the user
 * is back, when a run has ended, and when an event tells of a change. The run that begins with
 * messages that waited is followed.
 */
import { HttpError } from "../agui/http/client.js";

/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("../agui/session/session.js").Session} Session */
/** @typedef {import("./requests.js").Requests} Requests */

/** Several events come together. */
const SOON_MS = 120;
/** A run that begins by itself takes a moment. */
const BEGIN_MS = [250, 400, 700];

export class ServerList {
  #session;
  #requests;
  #rows;
  /** @type {string | null} */
  threadId = null;
  /** Messages of this tab. @type {Set<string>} */
  own = new Set();
  /** Messages that the list lacks, and that the thread does not have yet. @type {Set<string>} */
  leaving = new Set();
  /** So many requests of the user are on their way. A list from before their end is too old. */
  #changing = 0;
  #version = 0;
  /** How often the next run was looked for. */
  #looks = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Session} session @param {Requests} requests @param {import("./rows.js").Rows} rows */
  constructor(session, requests, rows) {
    this.#session = session;
    this.#requests = requests;
    this.#rows = rows;
    session.addEventListener("event", (event) => {
      this.#hear(/** @type {CustomEvent} */ (event).detail);
    });
    session.addEventListener("end", () => {
      this.#looks = 0;
      this.refreshSoon(0);
    });
  }

  /** @param {string | null} threadId */
  enter(threadId) {
    this.threadId = threadId;
    this.#version += 1;
    this.leaving.clear();
    if (threadId) this.refreshSoon(0);
  }

  /** A request of the user's begins or ends. @param {boolean} isBegun */
  count(isBegun) {
    this.#changing += isBegun ? 1 : -1;
    this.#version += 1;
  }

  /** Whether a run has a message that is not in the thread yet. @param {string} id */
  isLeaving(id) {
    if (this.#isInThread(id)) this.leaving.delete(id);
    return this.leaving.has(id);
  }

  refreshSoon(ms = SOON_MS) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), ms);
  }

  async #refresh() {
    const { threadId } = this;
    const version = this.#version;
    // A thread that is just beginning has no list.
    if (!threadId || this.#session.isUndelivered) return;
    const list = await this.#requests.list(threadId).catch((/** @type {unknown} */ error) => {
      const isNone = error instanceof HttpError && error.status === 404;
      return isNone ? { messages: [], run: null, held: null } : null;
    });
    if (!list || threadId !== this.threadId) return;
    if (version === this.#version && !this.#changing) this.#apply(list);
  }

  /** @param {Awaited<ReturnType<Requests["list"]>>} list */
  #apply({ messages, run, held }) {
    const before = this.#rows.all;
    const listed = new Set(messages.map((message) => message.message_id));
    for (const { id, isUnsent } of before) {
      if (!isUnsent && !listed.has(id)) this.leaving.add(id);
    }
    /** @type {Row[]} */
    const rows = [];
    for (const { message_id: id, message, mode } of messages) {
      if (message && !this.#isInThread(id)) rows.push({ id, message, mode });
    }
    const isBeginning = held === "finished" && rows.length > 0 && this.#looks < BEGIN_MS.length;
    if (isBeginning) this.refreshSoon(BEGIN_MS[this.#looks++]);
    this.#rows.held = run || isBeginning ? null : held;
    this.#rows.set([...rows, ...this.#rows.unsent.filter(({ id }) => !listed.has(id))]);
    const { busy, loading } = this.#session;
    if (busy || loading || !(run || [...this.leaving].some((id) => this.isLeaving(id)))) return;
    const [first] = before;
    this.follow(Boolean(first && !listed.has(first.id) && this.own.has(first.id)));
  }

  /**
   * Follow the next run. One tab does what it asks of the page: that of the first message.
   * @param {boolean} own
   */
  async follow(own) {
    this.#looks += 1;
    await this.#session.refresh({ quietly: false, own });
    if (this.#session.busy) return;
    this.leaving.clear();
    this.#rows.changed();
    if (this.#looks <= BEGIN_MS.length) this.refreshSoon();
  }

  /** @param {import("../agui/types.d.ts").AguiEvent} event */
  #hear(event) {
    if (event.type === "RUN_STARTED") this.#rows.clear();
    if (event.type !== "CUSTOM") return;
    const { messageId } = Object(event.value);
    if (event.name === "message_delivered") {
      this.leaving.add(messageId);
      if (this.#rows.drop(messageId)) this.#rows.tell("waitingRead");
    } else if (event.name === "message_removed") {
      this.leaving.delete(messageId);
      this.#rows.drop(messageId);
    } else if (/^message_(queued|changed)$/.test(event.name)) this.refreshSoon();
  }

  /** @param {string} id */
  #isInThread(id) {
    return this.#session.conversation.messages.some((message) => message.id === id);
  }
}
