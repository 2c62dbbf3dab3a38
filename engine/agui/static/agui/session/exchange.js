// @ts-check
/** The exchange of one thread with the server: post turns, follow runs, call the page's tools. */
import { openCalls, settle } from "../conversation/calls.js";
import { HttpError } from "../http/client.js";
import { asksAgain, fail } from "../conversation/conversation.js";
import { ExchangeState } from "./exchange-state.js";
import { Woken } from "./following.js";
import { fetchModule } from "../dom/lazy.js";
import { RunReader } from "./run-reader.js";
import { failure, isKnown, readContext, sameMessages } from "./turns.js";

/** @typedef {import("./exchange-state.js").Turn} Turn */
/** @typedef {import("./page-calls.js").PageCalls} PageCalls */
/** @typedef {import("../types.d.ts").Failure} Failure */
/** @typedef {import("../types.d.ts").RunInput} RunInput */
/** @typedef {import("../types.d.ts").Thread} Thread */

export class Exchange {
  state;
  reader;
  #client;
  #thread;
  #calls;
  #session;
  #abort = new AbortController();

  /**
   * @param {import("../http/client.js").AgentClient} client
   * @param {import("./stored-thread.js").StoredThread} thread
   * @param {PageCalls} calls @param {import("./exchange-state.js").Listener} session
   */
  constructor(client, thread, calls, session) {
    this.state = new ExchangeState(thread, calls, session);
    this.reader = new RunReader(client, thread);
    this.#client = client;
    this.#thread = thread;
    this.#calls = calls;
    this.#session = session;
  }

  /** Stop reading. */
  close() {
    this.#abort.abort();
  }

  /** Leave the thread to other tabs. */
  leave() {
    this.close();
    this.#calls.release();
  }

  // --- Requests

  /**
   * Run a turn. With `again`, do so only if the server doesn't have the turn.
   * @param {RunInput} input @param {Turn} [again]
   */
  run(input, again) {
    const turn = again ?? this.state.turnOf(input);
    return this.#alone((signal) => {
      this.state.stopping = false;
      return this.#post(turn, signal, { again: Boolean(again) });
    });
  }

  /**
   * Show the stored thread, and go on with what a tab has left unfinished.
   * @param {import("../types.d.ts").Unfinished} unfinished
   */
  open(unfinished) {
    const { turn } = unfinished;
    this.state.load(unfinished);
    return this.#alone((signal) =>
      turn ? this.#post(turn, signal, { again: true }) : this.#load(signal),
    );
  }

  /**
   * Load the open thread again, and keep what the user sees in its place.
   * @param {{ quietly: boolean }} options
   */
  refresh({ quietly }) {
    /** @param {AbortSignal} signal */
    const load = async (signal) =>
      (quietly && (await this.#thread.isFresh())) || this.#load(signal, { inPlace: true });
    return this.#alone(load, { quietly });
  }

  /** @param {string} branchId */
  switchBranch(branchId) {
    return this.#alone(async (signal) => {
      this.state.show(await this.#thread.switchBranch(branchId, signal));
      this.#session.delivered();
    });
  }

  /** Answer all open questions, and send what the user says beside that.
   * @param {import("./answers.js").Answers} answers @param {RunInput["messages"]} [prompts] */
  answer(answers, prompts = []) {
    const { state } = this;
    const { interrupts } = state.conversation;
    const servers = interrupts.filter(({ isPages }) => !isPages);
    const resume = answers.entries(servers);
    const calls = openCalls({ ...state.conversation, interrupts: servers });
    const messages = [...prompts, ...this.#calls.results];
    if (!calls.length) return this.run(state.input({ messages, resume }));
    const decisions = answers.byCall(interrupts);
    state.call(interrupts);
    return this.#alone(async (signal) => {
      await (await this.#pageTurn(signal)).answer(calls, { decisions, resume });
    });
  }

  /**
   * Offer the page's tools. A thread that waits for one of them continues.
   * @param {PageCalls["registered"]} tools
   */
  offer(tools) {
    this.#calls.registered = tools;
    const { busy, phase, leftCalls } = this.state;
    if (busy || phase === "loading" || !leftCalls.length) return;
    this.#alone((signal) => this.#callTools(signal), { signal: this.#abort.signal });
  }

  /** Stop the run on the server. Its stream then says how it ended. */
  async stop() {
    const { state } = this;
    if (!state.busy || state.stopping) return;
    if (state.phase === "calling") {
      this.#abort.abort(); // The agent waits for the page, and no run is active.
      return state.end(settle({ ...state.conversation, status: "stopped" }, "stopped"));
    }
    state.stopping = true;
    this.#session.changed();
    // Before its first event the run may not exist on the server, so the first event stops it.
    if (state.phase !== "posting") await this.#cancel();
  }

  // --- From phase to phase

  /**
   * Do this work and abort what was in progress. Afterwards nothing looks busy without a reason.
   * @param {(signal: AbortSignal) => Promise<unknown>} work
   * @param {{ quietly?: boolean, signal?: AbortSignal }} [options]
   */
  async #alone(work, { quietly = false, signal = this.#giveUp() } = {}) {
    const { state } = this;
    try {
      await work(signal);
    } catch (error) {
      if (signal.aborted) return;
      const status = error instanceof HttpError && error.status;
      if (status === 401) return this.#session.refused();
      if (status === 404 && state.phase === "loading") return this.#session.gone();
      if (!quietly || state.busy) state.conversation = fail(state.conversation, failure(error));
    }
    if (!signal.aborted) state.end();
  }

  #giveUp() {
    this.#abort.abort();
    this.#abort = new AbortController();
    return this.#abort.signal;
  }

  /**
   * Post a turn and follow its run. With `again`, do so only if the server doesn't have the turn.
   * @param {Turn} turn @param {AbortSignal} signal @param {{ again?: boolean }} [options]
   */
  async #post(turn, signal, { again = false } = {}) {
    const { state } = this;
    const { input } = turn;
    const { hasThreads } = this.#client;
    // From now on the turn is kept, even if the thread can't be loaded.
    state.turn = { ...turn, isDelivered: false };
    if (state.phase !== "loading" || !hasThreads) state.begin(turn);
    for (; ; again = true) {
      if (again && hasThreads) {
        const thread = await this.#thread.find(signal);
        if (thread && isKnown(thread, turn)) return this.#showAndFollow(thread, signal);
        if (thread) state.show(thread);
        state.begin({ ...turn, before: state.conversation });
      }
      try {
        if (!input.context) await this.#addContext(input, signal);
        await this.#follow(signal, input);
        break;
      } catch (error) {
        const isConflict = error instanceof HttpError && error.status === 409 && hasThreads;
        if (isConflict) return (await this.#refused(signal)).waitForOther(turn, error);
        if (!(error instanceof Woken)) throw error;
      }
    }
    const { error } = state.conversation;
    if (asksAgain(error) && hasThreads) return (await this.#refused(signal)).reopen(input, error);
    if (turn.versions) await this.#thread.readBranches(signal);
    await this.#callTools(signal);
  }

  /**
   * Only once: the server follows the run that it has begun with the very same body.
   * @param {RunInput} input @param {AbortSignal} signal
   */
  async #addContext(input, signal) {
    input.forwardedProps = this.#session.getForwardedProps();
    input.context = await readContext(this.#session.getContext);
    signal.throwIfAborted();
    this.#session.save();
  }

  /** @param {AbortSignal} signal @param {RunInput} [input] of the run, if it is not on */
  #follow(signal, input) {
    // The run is over and its log is gone: the stored thread has everything.
    const gone = async () => {
      this.state.show({ ...(await this.#thread.read(signal)), running: false });
      this.state.turn = null;
    };
    return this.reader.read(signal, input, {
      gone,
      apply: (event) => {
        if (this.state.phase === "posting") this.#arrive();
        this.state.apply(event);
      },
      changed: this.#session.changed,
    });
  }

  #arrive() {
    this.state.arrive();
    if (this.state.stopping) this.#cancel();
  }

  async #cancel() {
    try {
      await this.#client.cancel(this.#thread.knownId);
    } catch {
      this.state.stopping = false; // The button comes back, so the user can try again.
      this.#session.changed();
    }
  }

  /** What to do with a turn that the server has not taken. @param {AbortSignal} signal */
  async #refused(signal) {
    const { RefusedTurn } = await fetchModule(() => import("./refused-turn.js"));
    signal.throwIfAborted();
    return new RefusedTurn(this.state, this.#session, {
      find: () => this.#thread.find(signal),
      load: (error) => this.#load(signal, { error }),
      follow: (thread) => this.#showAndFollow(thread, signal),
    });
  }

  /**
   * @param {AbortSignal} signal @param {{ error?: Failure | null, inPlace?: boolean }} [options]
   */
  async #load(signal, { error = null, inPlace = false } = {}) {
    const { state } = this;
    const thread = await this.#thread.read(signal);
    const isLost = state.conversation.error?.code === "connection_lost"; // The retry has ended.
    const isSame =
      inPlace && !isLost && !thread.running && sameMessages(state.conversation, thread);
    if (isSame) return this.#thread.describe(thread);
    await this.#showAndFollow(thread, signal);
    const status = thread.pending?.length ? "waiting" : "failed";
    if (error && !thread.running) state.conversation = { ...state.conversation, error, status };
  }

  /** @param {Thread} thread @param {AbortSignal} signal */
  async #showAndFollow(thread, signal) {
    this.state.show(thread);
    this.state.turn = null;
    if (thread.running) {
      this.#arrive();
      await this.#follow(signal);
    }
    await this.#callTools(signal);
  }

  // --- Tools of the page

  /** @param {AbortSignal} signal */
  #callTools(signal) {
    return this.#calls.callLeft(this.state, () => this.#pageTurn(signal));
  }

  /** @param {AbortSignal} signal */
  async #pageTurn(signal) {
    const { PageTurn } = await this.#calls.load();
    signal.throwIfAborted();
    return new PageTurn(this.state, this.#calls, {
      signal,
      threadId: this.#thread.knownId,
      giveUp: () => this.#load(signal),
      post: (turn) => {
        const before = this.state.conversation;
        return this.#post({ input: this.state.input(turn), versions: 0, before }, signal);
      },
    });
  }
}
