// @ts-check
/** The events of a run to its end, even if connections are lost, fall silent or sleep. */
import { HttpError } from "../http/client.js";
import { endsRun, loadFor } from "../conversation/conversation.js";

const MAX_TRIES = 8;
/** How often to ask for a run that no server has begun: for eight seconds. */
const MAX_STARTS = 5;
const MAX_PAUSE_MS = 15_000;
/** How long to wait for the answer to a request, which may be on a dead connection. */
const ANSWER_MS = 10_000;
/** When the page wakes up, it replaces a connection that was silent for this long. */
const TRUSTED_MS = 5000;

/** The page dropped the connection to find out at once what has become of the run. */
export class Woken extends Error {}

/** @typedef {{ id: string, event: import("../types.d.ts").AguiEvent }} Numbered */

export class Following {
  #connect;
  #starts;
  #attempt = new AbortController();
  #heardAt = 0;
  #hurry = () => {};
  /** Whether the connection is lost, and the page connects again. */
  isLost = false;

  /**
   * @param {(lastEventId: string | null, signal: AbortSignal) => Promise<AsyncGenerator<Numbered> |
   *   null>} connect null if there is nothing to follow any more
   * @param {{ starts: boolean }} options whether the request starts a run. It isn't
   *   repeated before the first event, except after a 503: the server has then begun nothing
   */
  constructor(connect, { starts }) {
    this.#connect = connect;
    this.#starts = starts;
  }

  /**
   * Yield the events. After a loss, continue behind the last event; undefined means that the log is
   * gone.
   * @param {{ signal: AbortSignal, changed: () => void }} options called when the connection is
   *   lost, and when it is back
   * @returns {AsyncGenerator<Numbered | undefined>}
   */
  async *events({ signal, changed }) {
    /** @type {string | null} */
    let last = null;
    const abort = () => this.#attempt.abort(signal.reason);
    /** @param {boolean} isLost */
    const tell = (isLost) => {
      this.isLost = isLost;
      changed();
    };
    try {
      for (let tries = 0; ; ) {
        const attempt = (this.#attempt = new AbortController());
        this.#heardAt = Date.now();
        const isStart = () => this.#starts && last === null;
        const timer = isStart()
          ? 0
          : setTimeout(() => attempt.abort(new Error("No answer.")), ANSWER_MS);
        try {
          // The message must arrive even if the user leaves now.
          const events = await this.#connect(last, attempt.signal).finally(() =>
            clearTimeout(timer),
          );
          signal.throwIfAborted();
          signal.addEventListener("abort", abort);
          tell(false);
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
        if (!isWoken) tell(true);
        await this.#pause(
          isWoken ? 0 : isOffline ? MAX_PAUSE_MS : Math.min(500 * 2 ** (tries - 1), MAX_PAUSE_MS),
          signal,
        );
      }
    } finally {
      signal.removeEventListener("abort", abort);
      this.#attempt.abort();
    }
  }

  /**
   * Replace a connection that may be dead at once, because the page or the network is back.
   * @param {{ online: boolean }} wake
   */
  wake({ online }) {
    if (online || Date.now() - this.#heardAt > TRUSTED_MS) this.#attempt.abort(new Woken());
    this.#hurry();
  }

  /**
   * Wait, or until the page wakes up.
   * @param {number} ms @param {AbortSignal} signal
   */
  #pause(ms, signal) {
    return new Promise((resolve, reject) => {
      this.#hurry = () => resolve(clearTimeout(timer));
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), {
        once: true,
      });
    });
  }
}

/**
 * Call back when the network returns, or the page after it was hidden or frozen.
 * @param {(wake: { online: boolean, awayMs: number }) => void} callback @param {AbortSignal} signal
 */
export function onWake(callback, signal) {
  let hiddenAt = Date.now();
  const shown = () => callback({ online: false, awayMs: Date.now() - hiddenAt });
  addEventListener("online", () => callback({ online: true, awayMs: 0 }), { signal });
  addEventListener(
    "pageshow",
    ({ persisted }) => persisted && callback({ online: true, awayMs: Infinity }),
    { signal },
  );
  document.addEventListener(
    "visibilitychange",
    () => (document.hidden ? (hiddenAt = Date.now()) : shown()),
    { signal },
  );
}
