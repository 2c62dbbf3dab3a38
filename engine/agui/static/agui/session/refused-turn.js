// @ts-check
/** A turn that the server has not taken: another run is on, or other questions are open. */
import { failure, isKnown } from "./turns.js";

/** @typedef {import("../types.d.ts").Message & { content: string }} Prompt */
/** @typedef {import("./exchange-state.js").Turn} Turn */
/** @typedef {import("../types.d.ts").Failure} Failure */
/** @typedef {import("../types.d.ts").Thread} Thread */
/**
 * What the exchange does for it.
 * @typedef {{
 *   find: () => Promise<Thread | null>, load: (error: Failure | null) => Promise<unknown>,
 *   follow: (thread: Thread) => Promise<unknown>,
 * }} Exchange
 */

const MAX_CONFLICTS = 3;

export class RefusedTurn {
  #state;
  #session;
  #exchange;

  /**
   * @param {import("./exchange-state.js").ExchangeState} state
   * @param {import("./exchange-state.js").Listener} session
   * @param {Exchange} exchange
   */
  constructor(state, session, exchange) {
    this.#state = state;
    this.#session = session;
    this.#exchange = exchange;
  }

  /**
   * Another run is on: follow it, and keep the message until it has ended.
   * @param {Turn} turn @param {unknown} error
   */
  async waitForOther(turn, error) {
    const state = this.#state;
    const [message] = turn.input.messages;
    if (message?.role !== "user" || turn.versions || state.stopping) {
      state.stopping = false; // it was meant for the run that was refused
      return this.reopen(turn.input, failure(error));
    }
    state.conflicts += 1;
    if (this.#session.hasQueued() || state.conflicts > MAX_CONFLICTS) throw error;
    const thread = await this.#exchange.find();
    if (!thread) throw error;
    state.turn = null;
    state.isOurs = false;
    const { id, content: text, metadata } = /** @type {Prompt} */ (message);
    if (!isKnown(thread, turn))
      this.#session.queue({ id, text, attachments: metadata?.attachments ?? [] });
    await this.#exchange.follow(thread);
  }

  /**
   * Show what is really there, with the failure that told so, and give back the message that was
   * not taken.
   * @param {Turn["input"]} input @param {Failure | null} error
   */
  async reopen({ messages: [message] }, error) {
    await this.#exchange.load(error);
    const { messages } = this.#state.conversation;
    const isThere = messages.some(
      ({ id, content }) => id === message?.id && content === message.content,
    );
    if (message?.role === "user" && !isThere) this.#session.returned(message);
  }
}
