// @ts-check
/** The open thread as the server has stored it: its title, its versions, and what parts add. */
import { HttpError } from "../http/client.js";

/** @typedef {import("../types.d.ts").Thread} Thread */
/**
 * @typedef {{ id: string, text: string, current: boolean }} Branch a version of a message; `id` is
 *   what to switch to
 */

export class StoredThread {
  /** @type {string | null} null before the first message */
  id;
  title = "";
  /** Whether the thread has a complete answer that the user has not seen. */
  isUnread = false;
  /**
   * @type {Record<string, Branch[]>} the versions of the user's messages that have several, by
   *   message
   */
  branches = {};
  /** @type {Map<string, string | number>} when messages were sent, by their ids, for `Date` */
  times = new Map();
  /** @type {Record<string, unknown>} what parts tell of it, as the server sends it */
  details = {};
  /** @type {string[] | null} the calls that the thread waits for, if the server has just said so */
  pendingCalls = null;
  #client;
  /** @type {string | undefined} */
  #updatedAt = "";

  /** @param {import("../http/client.js").AgentClient} client @param {string | null} id */
  constructor(client, id) {
    this.#client = client;
    this.id = id;
  }

  get knownId() {
    return /** @type {string} */ (this.id);
  }

  /** @param {AbortSignal} signal @returns {Promise<Thread>} */
  async read(signal) {
    const thread = await this.#client.thread(this.knownId, signal);
    signal.throwIfAborted();
    return thread;
  }

  /** @param {AbortSignal} signal @returns {Promise<Thread | null>} null if there is none */
  async find(signal) {
    try {
      return await this.read(signal);
    } catch (error) {
      if (error instanceof HttpError && error.status === 404) return null;
      throw error;
    }
  }

  /**
   * Make another version of a message the current one.
   * @param {string} branchId @param {AbortSignal} signal
   */
  async switchBranch(branchId, signal) {
    const thread = await this.#client.switchBranch(this.knownId, branchId, signal);
    signal.throwIfAborted();
    return thread;
  }

  /** Load the versions again, because a run has made one. @param {AbortSignal} signal */
  async readBranches(signal) {
    const thread = await this.find(signal).catch(() => null);
    signal.throwIfAborted();
    if (thread) this.describe(thread);
  }

  /** Keep the server's data about the thread. @param {Thread} thread */
  describe({ messages, times = {}, state, pending, running, failures, ...about }) {
    const { title, unread, branches, updated_at, pending_calls, ...details } = about;
    this.title = title ?? "";
    this.isUnread = Boolean(unread);
    this.pendingCalls = pending_calls ?? null;
    this.branches = branches ?? {};
    for (const [id, time] of Object.entries(times)) this.times.set(id, time);
    this.details = details;
    this.#updatedAt = updated_at;
  }

  /** Note when a message was sent, unless that is known. @param {string} id */
  sent(id, time = Date.now()) {
    if (!this.times.has(id)) this.times.set(id, time);
  }

  /**
   * Whether it is the newest thread and has not changed. This is true of most threads, and needs
   * one row only.
   */
  async isFresh() {
    const { threads } = await this.#client.threads({ limit: 1 });
    return threads[0]?.thread_id === this.id && threads[0].updated_at === this.#updatedAt;
  }

  /**
   * Tell the server that the user has seen the answers; false if that failed, and the mark stays.
   */
  async markSeen() {
    this.isUnread = false;
    const row = await this.#client.mark(this.knownId, { unread: false }).catch(() => null);
    if (row) this.title = row.title;
    return Boolean(row);
  }
}
