// @ts-check
/**
 * Messages that the server does not have yet. The tab keeps them, and sends them in their order as
 * soon as it can; the id of each makes it safe to send it again.
 */
import { HttpError } from "../agui/http/client.js";

/** @typedef {import("./rows.js").Row} Row */
/** @typedef {Awaited<ReturnType<import("./requests.js").Requests["post"]>>} Answer */
/**
 * What the open thread does for it. `refused` is for good; after `failed` it tries again.
 * @typedef {{
 *   next: () => Row | undefined, mayPost: () => boolean, threadId: () => string | null,
 *   posting: (isBegun: boolean) => void, sent: (row: Row, answer: Answer) => void,
 *   refused: (row: Row, error: HttpError) => void, failed: (error: unknown) => void,
 * }} Thread
 */
/** @typedef {Pick<import("../agui/types.d.ts").ThreadMemory, "note" | "noted">} Memory */

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

export class Unsent {
  #requests;
  #memory;
  #storage;
  #thread;
  #isPosting = false;
  #pauseMs = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {import("./requests.js").Requests} requests @param {Memory} memory
   * @param {Thread} thread @param {Storage} [storage]
   */
  constructor(requests, memory, thread, storage = globalThis.sessionStorage) {
    this.#requests = requests;
    this.#memory = memory;
    this.#thread = thread;
    this.#storage = storage;
  }

  /** Send them, unless that has just failed. */
  async flush() {
    if (this.#isPosting || this.#timer || !this.#thread.mayPost()) return;
    this.#isPosting = true;
    for (let row = this.#thread.next(); row; row = this.#thread.next()) {
      if (!(await this.#post(row))) break;
    }
    this.#isPosting = false;
  }

  /** Send them now, because the network may be back. @param {{ anew?: boolean }} [options] */
  tryAgain({ anew = true } = {}) {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (anew) this.#pauseMs = 0;
    this.flush();
  }

  /** Return whether the next one may follow. @param {Row} row */
  async #post(row) {
    const { id, message, mode } = row;
    const threadId = /** @type {string} */ (this.#thread.threadId());
    const isOpen = () => threadId === this.#thread.threadId();
    this.#thread.posting(true);
    try {
      const answer = await this.#requests.post(threadId, { message, mode });
      this.#pauseMs = 0;
      this.#forget(threadId, id);
      if (isOpen()) this.#thread.sent(row, answer);
    } catch (error) {
      const { status = 0 } = error instanceof HttpError ? error : {};
      const isPassing = !status || status === 429 || status >= 500;
      if (isPassing) this.#pause();
      else this.#forget(threadId, id);
      if (!isOpen()) return true;
      if (isPassing) this.#thread.failed(error);
      else this.#thread.refused(row, /** @type {HttpError} */ (error));
      return !isPassing;
    } finally {
      this.#thread.posting(false);
    }
    return true;
  }

  #pause() {
    this.#pauseMs = Math.min(2 * this.#pauseMs || FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#timer = setTimeout(() => this.tryAgain({ anew: false }), this.#pauseMs);
  }

  // --- What the tab keeps, should it be reloaded

  /** @param {string} threadId @param {Row[]} rows */
  keep(threadId, rows) {
    const text = rows.length ? JSON.stringify(rows) : "";
    this.#memory.note(`waiting:${threadId}`, text, this.#storage);
  }

  /** @param {string} threadId @returns {Row[]} */
  kept(threadId) {
    return JSON.parse(this.#memory.noted(`waiting:${threadId}`, this.#storage) ?? "[]");
  }

  /** @param {string} threadId @param {string} id */
  #forget(threadId, id) {
    this.keep(threadId, this.kept(threadId).filter((row) => row.id !== id));
  }
}
