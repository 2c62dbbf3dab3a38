// @ts-check
/** A session with the server, without the DOM. It has one open thread (thread-work.js). */
import { fail } from "../conversation/conversation.js";
import { Surroundings } from "./surroundings.js";
import { ThreadWork } from "./thread-work.js";

/** @typedef {import("../http/client.js").AgentClient} AgentClient */
/** @typedef {import("./outbox.js").Outbox} Verbs */
/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").Failure} Failure */
/** @typedef {import("./thread-memory.js").ThreadMemory} ThreadMemory */

/**
 * Dispatches "change" after every change, "event" (detail: the AG-UI event), "start" and "end" of a
 * run, "kept" (detail: the message) when `later` has taken a message, "returned" (the same) when
 * the server did not take one, "left" when the open thread is gone, "heard" when another tab has
 * changed a thread, and "signed-out".
 */
export class Session extends EventTarget {
  /** @type {(() => unknown) | null} the page's context, sent with each run */
  getContext = null;
  /** Whether the page draws CUSTOM events of a name. @type {(name: string) => unknown} */
  draws = () => {};
  /** @type {import("../types.d.ts").Later | null} keeps messages during a run, not this tab */
  later = null;
  /** @type {Record<string, unknown>} what each run brings for the server, such as a model */
  forwardedProps = {};
  #client;
  #memory;
  #surroundings;
  /** @type {Map<string, import("../agui-chat.d.ts").PageTool>} */
  #pageTools = new Map();
  /** @type {ThreadWork} */
  #work;

  /**
   * @param {AgentClient} client
   * @param {{ memory?: ThreadMemory, tabs?: import("./tabs.js").Tabs }} [options]
   */
  constructor(client, { memory, tabs } = {}) {
    super();
    this.#client = client;
    this.#memory = memory;
    this.#work = this.#enter(null);
    const inside = {
      /** @param {import("./surroundings.js").Wake} wake */
      wakeReader: (wake) => this.#work.exchange.reader.wake(wake),
      /** @param {string} title */
      rename: (title) => {
        this.#work.thread.title = title;
        this.#changed();
      },
      abandon: () => this.#abandon(),
      /** @param {string} type @param {unknown} [detail] */
      dispatch: (type, detail) => this.#dispatch(type, detail),
    };
    this.#surroundings = new Surroundings(this, inside, client, tabs);
  }

  get #state() {
    return this.#work.state;
  }

  // --- What views read

  get conversation() {
    return this.#state.conversation;
  }

  /** The open thread's id, or null before the first message. */
  get threadId() {
    return this.#work.thread.id;
  }

  get title() {
    return this.#work.thread.title;
  }

  get branches() {
    return this.#work.thread.branches;
  }

  /** When messages were sent, by their ids. */
  get times() {
    return this.#work.thread.times;
  }

  /** What parts tell of the open thread. */
  get details() {
    return this.#work.thread.details;
  }

  get loading() {
    return this.#state.phase === "loading";
  }

  get busy() {
    return this.#state.busy;
  }

  get reconnecting() {
    return this.#work.exchange.reader.isLost;
  }

  /** Whether the server has not got the last turn. */
  get isUndelivered() {
    return this.#state.isUndelivered;
  }

  get stopping() {
    return this.#state.stopping;
  }

  /** The message that is sent after a successful run. */
  get queued() {
    return this.#work.outbox.queued;
  }

  get empty() {
    const { messages, error } = this.conversation;
    return !this.loading && !messages.length && !error;
  }

  // --- Threads

  /** Leave the thread; its run continues on the server. */
  reset() {
    this.#leave(null);
    this.#changed();
  }

  /**
   * Show a stored thread, follow its run if there is one, and finish what this tab has begun.
   * @param {string} threadId
   */
  async open(threadId) {
    this.#leave(threadId);
    const { queued = null, ...unfinished } = this.#memory?.unfinished(threadId) ?? {};
    this.#work.outbox.queued = queued;
    await this.#work.exchange.open(unfinished);
  }

  /**
   * Load the open thread again, in its place. A run that is on is this tab's if it is `own`.
   * @param {{ quietly?: boolean, own?: boolean }} [options]
   */
  async refresh({ quietly = true, own = false } = {}) {
    const { busy, loading, threadId } = this;
    if (!threadId || busy || loading || !this.#client.hasThreads || this.#state.isUndelivered)
      return;
    this.#state.isOurs ||= own;
    await this.#work.exchange.refresh({ quietly });
  }

  /** Show another version of a message and what followed it. @param {string} branchId */
  async switchBranch(branchId) {
    if (!this.busy && !this.loading) await this.#work.exchange.switchBranch(branchId);
  }

  /** Change the shared state. The next run sends it to the agent. @param {unknown} state */
  setState(state) {
    this.#state.update({ state });
  }

  /** Show a failure of the page. Trying again loads the thread anew. @param {Failure} error */
  fail(error) {
    this.#state.update(fail(this.conversation, error));
  }

  /** Mark the answer as seen; tell the server if it was unread. */
  async see() {
    const thread = this.#work.thread;
    if (!thread.isUnread || this.busy || !this.#client.hasThreads) return false;
    const isNews = (await thread.markSeen()) && thread === this.#work.thread;
    if (isNews) this.#changed();
    return isNews;
  }

  /** Stop reading. */
  close() {
    this.#work.exchange.close();
    this.#work.answers.stopWatching();
  }

  // --- What the user does

  /** @type {Verbs["send"]} */
  send = (...message) => this.#work.outbox.send(...message);

  /** @type {Verbs["unqueue"]} */
  unqueue = () => this.#work.outbox.unqueue();

  /** @type {Verbs["regenerate"]} */
  regenerate = (promptId) => this.#work.outbox.regenerate(promptId);

  /** @type {Verbs["edit"]} */
  edit = (promptId, text) => this.#work.outbox.edit(promptId, text);

  /** @type {Verbs["retry"]} */
  retry = () => this.#work.outbox.retry();

  /**
   * Answer one question, or take an answer back. After the last one, all answers go in one request.
   * @param {string} interruptId @param {Decision | null} decision
   */
  decide(interruptId, decision) {
    if (!this.#work.answers.decide(interruptId, decision)) return;
    this.#changed();
    this.#work.answer();
  }

  /** The decision that is still valid. @param {import("../types.d.ts").Interrupt} interrupt */
  decisionOn(interrupt) {
    return this.#work.answers.on(interrupt);
  }

  /** Stop the run on the server. Its stream then says how it ended. */
  stop() {
    return this.#work.exchange.stop();
  }

  /** Change what a part tells of the open thread. @param {Record<string, unknown>} details */
  detail(details) {
    this.#work.thread.details = { ...this.details, ...details };
    this.#changed();
  }

  /**
   * The tools of the page that the agent may call.
   * @param {Map<string, import("../agui-chat.d.ts").PageTool>} tools
   */
  offer(tools) {
    this.#pageTools = tools;
    this.#work.exchange.offer(tools);
  }

  // --- Events of the browser and of other tabs

  /** @type {Surroundings["wake"]} */
  wake = (wake) => this.#surroundings.wake(wake);

  /** @type {Surroundings["hear"]} */
  hear = (message) => this.#surroundings.hear(message);

  /** Another tab tells something. @param {import("../types.d.ts").ThreadChange} message */
  hearTab(message) {
    this.hear(message);
    if (message.kind !== "here") this.#dispatch("heard");
  }

  /** @type {Surroundings["signOut"]} */
  signOut = (options) => this.#surroundings.signOut(options);

  // --- Small pieces

  /** @param {string | null} threadId */
  #leave(threadId) {
    this.#work.leave();
    this.#work = this.#enter(threadId);
  }

  /** @param {string | null} threadId */
  #enter(threadId) {
    return new ThreadWork(this.#client, threadId, this.#pageTools, {
      changed: () => this.#changed(),
      save: (work) => this.#memory?.finishLater(work.thread.id, work.unfinished),
      started: (input) => this.#dispatch("start", input),
      draws: (name) => this.draws(name),
      later: () => this.later,
      received: (event) => this.#dispatch("event", event),
      returned: (message) => this.#dispatch("returned", message),
      ended: () => this.#dispatch("end"),
      delivered: () => this.#surroundings.tell("changed"),
      refused: () => this.signOut(),
      gone: () => this.hear({ kind: "removed", threadId: this.threadId }),
      getContext: () => this.getContext?.(),
      getForwardedProps: () => this.forwardedProps,
      refresh: () => this.refresh({ quietly: false }),
      open: (id) => this.open(id),
    });
  }

  #abandon() {
    const message = this.#work.abandon();
    this.#work = this.#enter(null);
    return message;
  }

  /** An interrupt that expires while it is shown is a change, too. */
  #changed() {
    this.#work.answers.watch(this.conversation.interrupts, () => this.#changed());
    this.#dispatch("change");
  }

  /** @param {string} type @param {unknown} [detail] */
  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
