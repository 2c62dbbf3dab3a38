// @ts-check
/**
 * What the user does with messages that wait: it shows at once, and the server hears of it. This
 * module doesn't use the DOM.
 */
import { lazy } from "../agui/dom/lazy.js";
import { HttpError } from "../agui/http/client.js";
import { namesOf, problemOf, Rows } from "./rows.js";
import { Requests } from "./requests.js";
import { ServerList } from "./server-list.js";
import { Unsent } from "./unsent.js";

/** @typedef {import("../agui/types.d.ts").Message} Message */
/** @typedef {import("../agui/session/session.js").Session} Session */
/** @typedef {import("../agui/session/outbox.js").Queued} Queued */
/** @typedef {import("./rows.js").Mode} Mode */
/** @typedef {import("./rows.js").Row} Row */

/**
 * @param {import("./attend.js").Later} later
 * @param {import("../agui/types.d.ts").PageContext} context @param {number} max
 */
export function begin(later, context, max) {
  const { host, composer, memory } = context;
  const { session } = host;
  const waiting = new Waiting(session, new Requests(host), memory, max);
  const look = () => document.hidden || !host.isConnected || waiting.list.refreshSoon();
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  addEventListener("online", () => waiting.tryAgain());
  /** @type {Promise<unknown> | undefined} */
  let loading;
  const show = () => {
    const { all, problem } = waiting.rows;
    if (loading || !(all.length || problem || (session.busy && composer.text))) return;
    loading = lazy(() => import("./panel.js")).then((module) => {
      if (module) new module.Panel(waiting, later, context);
      else loading = undefined;
    });
  };
  waiting.rows.addEventListener("change", show);
  composer.input.addEventListener("input", show);
  show();
  return waiting;
}

export class Waiting {
  rows;
  list;
  #session;
  #requests;
  #unsent;
  /** Whether the server keeps no messages. */
  isOff = false;

  /**
   * @param {Session} session @param {Requests} requests
   * @param {import("./unsent.js").Memory} memory
   * @param {number} max @param {Storage} [storage]
   */
  constructor(session, requests, memory, max, storage) {
    this.#session = session;
    this.#requests = requests;
    const rows = (this.rows = new Rows(max));
    this.list = new ServerList(session, requests, rows);
    const thread = {
      next: () => rows.unsent[0],
      mayPost: () => !session.isUndelivered && !this.isOff,
      threadId: () => this.list.threadId,
      posting: (/** @type {boolean} */ isBegun) => this.list.count(isBegun),
      sent: this.#sent.bind(this),
      refused: this.#refused.bind(this),
      failed: (/** @type {unknown} */ error) => rows.say(problemOf(error, "unsent")),
    };
    this.#unsent = new Unsent(requests, memory, thread, storage);
    rows.addEventListener("change", () => {
      const { threadId } = this.list;
      if (threadId) this.#unsent.keep(threadId, rows.unsent);
      // Who waits for the end of a message's run asks whether it still waits.
      session.dispatchEvent(new Event("change"));
    });
    session.addEventListener("change", () => this.#follow());
    this.#follow();
  }

  // --- What the session asks

  /** Add a message that the user has sent. @param {Row} row */
  add(row) {
    this.rows.problem = null;
    this.list.own.add(row.id);
    if (!this.rows.find(row.id)) this.rows.set([...this.rows.all, row]);
    this.rows.tell("waitingAdded");
    this.#unsent.flush();
  }

  /** @param {string} id */
  has(id) {
    return this.list.isLeaving(id) || Boolean(this.rows.find(id));
  }

  /** Tell the user if no more messages can wait. @param {string | null} next its mode */
  refuse(next) {
    const isOther = !this.#session.busy || next === "stop" || this.isOff;
    if (isOther || !this.rows.isFull) return false;
    this.rows.say({ code: "full" });
    return true;
  }

  // --- What the user does with one

  /** @param {string} id @param {{ text?: string, mode?: Mode }} change */
  async change(id, { text, mode }) {
    const row = this.rows.find(id);
    if (!row) return;
    const { content, metadata } = row.message;
    const message = { ...row.message, content: text?.trim() || namesOf(metadata?.attachments) };
    const isNew = text !== undefined && message.content && message.content !== content;
    const change = { ...(isNew && { message }), ...(mode && mode !== row.mode && { mode }) };
    if (!Object.keys(change).length) return;
    this.rows.replace(id, change);
    if (row.isUnsent) return;
    const isDone = await this.#ask((threadId) => {
      return this.#requests.change(threadId, { message_id: id, ...change });
    });
    if (isDone !== false) return;
    this.rows.drop(id);
    // The agent has read the old words: the new ones must not be lost.
    if (isNew) this.#giveBack(message);
    this.rows.say({ code: "too_late" });
  }

  /** @param {string} id @param {number} position */
  async move(id, position) {
    const { rows } = this;
    const row = rows.find(id);
    const place = Math.min(Math.max(position, 0), rows.all.length - 1);
    if (!row || rows.all[place] === row) return;
    rows.move(row, place);
    rows.tell("waitingMoved", { place: place + 1, count: rows.all.length });
    if (row.isUnsent) return;
    // The server does not know the others.
    const before = rows.all.slice(0, place).filter(({ isUnsent }) => !isUnsent).length;
    await this.#ask((threadId) => {
      return this.#requests.change(threadId, { message_id: id, position: before });
    });
  }

  /** @param {string} id */
  async remove(id) {
    const row = this.rows.drop(id);
    if (!row) return;
    this.rows.tell("waitingRemoved");
    if (!row.isUnsent) await this.#ask((threadId) => this.#requests.remove(threadId, id));
  }

  /** Begin a run with all that waits. */
  async send() {
    const { rows } = this;
    rows.clear();
    this.#unsent.tryAgain();
    if (rows.unsent.length === rows.all.length) return;
    const answer = await this.#ask((threadId) => this.#requests.post(threadId, {}));
    if (!answer) return;
    rows.explain(answer);
    if (answer.run && !this.#session.busy) this.list.follow(true);
  }

  /** The network may be back. */
  tryAgain() {
    this.#unsent.tryAgain();
    this.list.refreshSoon();
  }

  // --- Around it

  /** Another thread may be open, or the server may have the turn for which these wait. */
  #follow() {
    const { threadId } = this.#session;
    if (threadId !== this.list.threadId) this.#enter(threadId);
    else if (this.rows.unsent.length) this.#unsent.flush();
  }

  /** @param {string | null} threadId */
  #enter(threadId) {
    this.rows.all = threadId ? this.#unsent.kept(threadId) : [];
    this.list.enter(threadId);
    this.rows.clear();
  }

  /**
   * Ask for something; false if it is too late, undefined if it failed.
   * @template T @param {(threadId: string) => Promise<T>} request
   */
  async #ask(request) {
    const threadId = /** @type {string} */ (this.list.threadId);
    this.list.count(true);
    try {
      return await request(threadId);
    } catch (error) {
      const { status = 0, code = "" } = error instanceof HttpError ? error : {};
      if (status === 404 || code === "already_read") return false;
      // The list says that another run is on, or that a question is open.
      const isOpen = threadId === this.list.threadId && code !== "conflict" && code !== "paused";
      if (isOpen) this.rows.say(problemOf(error, "connection_lost"));
      return undefined;
    } finally {
      this.list.count(false);
      this.list.refreshSoon();
    }
  }

  /** @param {Row} sent @param {import("./unsent.js").Answer} answer */
  #sent({ id, message, mode }, answer) {
    const row = this.rows.find(id);
    // One that a run has begun with stays until the list, which knows the run, lacks it.
    if (answer.state === "taken_back") this.rows.drop(id);
    // The user may have taken it back or changed it on its way.
    else if (!row) this.#ask((threadId) => this.#requests.remove(threadId, id));
    else {
      this.rows.replace(id, { isUnsent: false, message, mode });
      this.change(id, { text: String(row.message.content), mode: row.mode });
    }
    this.rows.explain(answer);
    this.list.refreshSoon(this.#session.busy ? undefined : 0);
  }

  /** @param {Row} row @param {HttpError} error */
  #refused({ id }, error) {
    const row = this.rows.drop(id);
    // The thread may have it already.
    this.list.refreshSoon();
    if (!row || error.code === "conflict") return;
    if (error.status === 404) return this.#turnOff([row]);
    this.#giveBack({ ...row.message, isSignedOut: error.status === 401 });
    this.rows.say(error.code === "queue_full" ? { code: "full" } : problemOf(error, ""));
  }

  /** The server keeps no messages: the tab does. @param {Row[]} refused */
  #turnOff(refused) {
    const all = [...refused, ...this.rows.all];
    this.isOff = true;
    this.rows.set([]);
    for (const { id, message } of all) {
      const attachments = message.metadata?.attachments ?? [];
      if (!this.#session.send(String(message.content), attachments, id)) this.#giveBack(message);
    }
  }

  /** Put a message back into the input. @param {import("../agui/types.d.ts").Returned} message */
  #giveBack(message) {
    this.#session.dispatchEvent(new CustomEvent("returned", { detail: message }));
  }
}
