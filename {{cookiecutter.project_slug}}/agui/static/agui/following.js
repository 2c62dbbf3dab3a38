// @ts-check
/** The events of a run to its end, over connections that are lost, fall silent or sleep. */
import { HttpError } from "./client.js";
import { endsRun, loadFor } from "./conversation.js";

const MAX_TRIES = 8;
/** How often a run is asked for that no server has taken: in eight seconds another one is there. */
const MAX_STARTS = 5;
const MAX_PAUSE_MS = 15_000;
/** How long to wait for the answer to a request: it may have gone into a connection that has died unnoticed. */
const ANSWER_MS = 10_000;
/** A connection this old in silence is not trusted when the page wakes up. */
const TRUSTED_MS = 5000;

/** The connection was given up before its first event, to find out at once what has become of the run. */
export class Woken extends Error {}

/** @typedef {{ id: string, event: any }} Numbered */

export class Following {
  #connect;
  #starts;
  #attempt = new AbortController();
  #heardAt = 0;
  #hurry = () => {};

  /**
   * @param {(lastEventId: string | null, signal: AbortSignal) => Promise<AsyncGenerator<Numbered> | null>} connect null when there
   *   is nothing to follow any more
   * @param {{ starts: boolean }} options does it start the run? Then it isn't repeated before the first event, unless with a
   *   503 the server says that it has not taken it: else nobody knows, and the caller decides
   */
  constructor(connect, { starts }) {
    this.#connect = connect;
    this.#starts = starts;
  }

  /**
   * Yield the events, and go on behind the last one seen after a loss; undefined instead of one when the log is gone.
   * @param {{ signal: AbortSignal, onLoss: (isLost: boolean) => void }} options told of losses, and when they are over
   * @returns {AsyncGenerator<Numbered | undefined>}
   */
  async *events({ signal, onLoss }) {
    /** @type {string | null} */
    let last = null;
    const abort = () => this.#attempt.abort(signal.reason);
    try {
      for (let tries = 0; ; ) {
        const attempt = (this.#attempt = new AbortController());
        this.#heardAt = Date.now();
        const isStart = () => this.#starts && last === null;
        const timer = isStart() ? 0 : setTimeout(() => attempt.abort(new Error("No answer.")), ANSWER_MS);
        try {
          // Whoever leaves now leaves a message behind that has to arrive.
          const events = await this.#connect(last, attempt.signal).finally(() => clearTimeout(timer));
          signal.throwIfAborted();
          signal.addEventListener("abort", abort);
          onLoss(false);
          if (!events) return yield undefined;
          for await (const numbered of events) {
            signal.throwIfAborted();
            attempt.signal.throwIfAborted();
            tries = 0;
            last = numbered.id;
            this.#heardAt = Date.now();
            const loading = loadFor(numbered.event);
            if (loading) await loading;
            yield numbered;
            if (endsRun(numbered.event)) return;
          }
        } catch (error) {
          const status = error instanceof HttpError ? error.status : 0;
          const refused = status && status < 500 && status !== 429;
          const mayStart = status === 503 && tries + 1 < MAX_STARTS;
          if (refused || signal.aborted || (isStart() && !mayStart)) throw error;
        }
        const isOffline = globalThis.navigator?.onLine === false;
        if (!isOffline && ++tries > MAX_TRIES) throw new TypeError("The connection was lost.");
        const isWoken = attempt.signal.reason instanceof Woken;
        if (!isWoken) onLoss(true);
        await this.#pause(isWoken ? 0 : isOffline ? MAX_PAUSE_MS : Math.min(500 * 2 ** (tries - 1), MAX_PAUSE_MS), signal);
      }
    } finally {
      signal.removeEventListener("abort", abort);
      this.#attempt.abort();
    }
  }

  /** The page is back, or the network: a connection that may be dead is replaced at once. @param {{ online: boolean }} wake */
  wake({ online }) {
    if (online || Date.now() - this.#heardAt > TRUSTED_MS) this.#attempt.abort(new Woken());
    this.#hurry();
  }

  /** Wait, but not longer than until the page wakes up. @param {number} ms @param {AbortSignal} signal */
  #pause(ms, signal) {
    return new Promise((resolve, reject) => {
      this.#hurry = () => resolve(clearTimeout(timer));
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
    });
  }
}

/**
 * Call back when the network is there again, or the page after it was hidden, frozen or kept aside.
 * @param {(wake: { online: boolean, awayMs: number }) => void} callback @param {AbortSignal} signal
 */
export function onWake(callback, signal) {
  let hiddenAt = Date.now();
  const shown = () => callback({ online: false, awayMs: Date.now() - hiddenAt });
  addEventListener("online", () => callback({ online: true, awayMs: 0 }), { signal });
  addEventListener("pageshow", ({ persisted }) => persisted && callback({ online: true, awayMs: Infinity }), { signal });
  document.addEventListener("visibilitychange", () => (document.hidden ? (hiddenAt = Date.now()) : shown()), { signal });
}
