// @ts-check
/** Reads the run of a thread: a new one that begins with a body, or the active one. */
import { Following } from "./following.js";

/** @typedef {import("../types.d.ts").AguiEvent} AguiEvent */

export class RunReader {
  #client;
  #thread;
  /** @type {Following | null} */
  #following = null;

  /**
   * @param {import("../http/client.js").AgentClient} client
   * @param {import("./stored-thread.js").StoredThread} thread
   */
  constructor(client, thread) {
    this.#client = client;
    this.#thread = thread;
  }

  get isLost() {
    return this.#following?.isLost ?? false;
  }

  /**
   * Check the connection after the page woke up; false if there is none.
   * @param {{ online: boolean }} wake
   */
  wake(wake) {
    this.#following?.wake(wake);
    return this.#following !== null;
  }

  /**
   * Read a run to its end: the one that this body begins, or the active one.
   * @param {AbortSignal} signal @param {import("../types.d.ts").RunInput | undefined} input
   * @param {{ apply: (event: AguiEvent) => void, gone: () => Promise<unknown>, changed: () => void
   *   }} page
   *   gone: the run is over, and its log is no longer kept
   */
  async read(signal, input, { apply, gone, changed }) {
    /** @param {string | null} last @param {AbortSignal} attempt */
    const connect = (last, attempt) => {
      if (input && last === null) return this.#client.run(input, attempt);
      return this.#client.follow(/** @type {string} */ (this.#thread.id), last, attempt);
    };
    const following = new Following(connect, { starts: Boolean(input) });
    this.#following = following;
    try {
      for await (const numbered of following.events({ signal, changed })) {
        if (numbered) apply(numbered.event);
        else await gone();
      }
    } finally {
      if (this.#following === following) this.#following = null;
    }
  }
}
