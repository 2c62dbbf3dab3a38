// @ts-check
/**
 * What happens between the page and the server: opens threads, starts runs, follows them through
 * lost connections, answers questions. Holds the conversation; knows nothing of the DOM.
 */
import { HttpError } from "./client.js";
import { asksAgain, beginRun, emptyConversation, endsRun, fail, fromThread, isExpired, reduce, textOf } from "./conversation.js";

/** @typedef {import("./client.js").AgentClient} AgentClient */
/** @typedef {{ status: "resolved", payload: any } | { status: "cancelled" }} Decision as in AG-UI's ResumeEntry */

const MAX_TRIES = 8;
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Dispatches "change" after every change, "event" (detail: the AG-UI event), "end" when a run has ended and
 * "returned" (detail: the text) when the server did not take a message because a question is open.
 */
export class Session extends EventTarget {
  conversation = emptyConversation();
  /** @type {any} the open thread's id, or null before the first message */
  threadId = null;
  title = "";
  loading = false;
  reconnecting = false;
  stopping = false;
  /** @type {Map<string, Decision>} */
  decisions = new Map();

  #client;
  #abort = new AbortController();
  /** @type {any} the input that failed, until it is sent again or replaced */
  #unsent = null;
  /** @type {string | null} */
  #lastEventId = null;
  /** @type {any} */
  #expiry = 0;

  /** @param {AgentClient} client */
  constructor(client) {
    super();
    this.#client = client;
  }

  get busy() {
    return this.conversation.status === "running";
  }

  get empty() {
    return !this.loading && !this.conversation.messages.length && !this.conversation.error;
  }

  /** Leave the thread; a run goes on without us. */
  reset() {
    this.#leave(null);
    this.#changed();
  }

  /** Show a stored thread and, if a run is active, follow it. @param {string} threadId */
  async open(threadId) {
    const signal = this.#leave(threadId);
    this.loading = true;
    this.#changed();
    await this.#guard(signal, () => this.#load(signal));
  }

  /**
   * Send the user's text as a new turn; false when that isn't possible now.
   * @param {string} text
   */
  send(text) {
    const content = text.trim();
    if (!content || this.busy || this.loading || this.conversation.status === "waiting") return false;
    this.#dropUnsent();
    this.threadId ??= uuid();
    this.#run(this.#input({ messages: [{ id: uuid(), role: "user", content }] }));
    return true;
  }

  /**
   * Answer one question, or take an answer back; when the last one is answered, all answers go in one request.
   * @param {string} interruptId
   * @param {Decision | null} decision
   */
  decide(interruptId, decision) {
    if (decision) this.decisions.set(interruptId, decision);
    else if (!this.decisions.delete(interruptId)) return;
    const { interrupts } = this.conversation;
    this.#changed();
    if (!interrupts.length || !interrupts.every((one) => this.decisionOn(one))) return;
    this.#run(this.#input({ messages: [], resume: interrupts.map((one) => ({ interruptId: one.id, ...this.decisionOn(one) })) }));
  }

  /** What is decided and still counts: a question that has expired can only be put away. @param {any} interrupt */
  decisionOn(interrupt) {
    const decision = this.decisions.get(interrupt.id);
    return decision?.status === "resolved" && isExpired(interrupt) ? undefined : decision;
  }

  /** Tell of a failure of the page's own; trying again then opens the thread anew. @param {import("./conversation.js").Failure} error */
  fail(error) {
    this.conversation = fail(this.conversation, error);
    this.#changed();
  }

  /** Stop the run on the server; its stream then tells how it ended. */
  async stop() {
    if (!this.busy || this.stopping) return;
    this.stopping = true;
    this.#changed();
    // Before its first event the run may not exist on the server: then it is stopped with that event.
    if (this.#lastEventId !== null) await this.#cancel();
  }

  /** Try again what failed: never a second time what the server has already taken. */
  async retry() {
    if (this.busy) return;
    const input = this.#unsent;
    const reachedServer = this.#lastEventId !== null;
    // Answers count once: after them only the server knows what is still open.
    if (!input || (reachedServer && input.resume)) return this.threadId && this.open(this.threadId);
    if (!reachedServer) return this.#run(input, { mayBeKnown: true });
    // The same message again makes the server answer it anew, from there.
    const { messages } = this.conversation;
    const at = messages.findIndex((message) => message.id === input.messages[0].id);
    this.conversation = { ...this.conversation, messages: messages.slice(0, at) };
    await this.#run({ ...input, runId: uuid() });
  }

  /** Stop reading. */
  close() {
    this.#abort.abort();
    clearTimeout(this.#expiry);
  }

  // --- A run

  /** @param {any} turn */
  #input(turn) {
    const { state } = this.conversation;
    const ids = { threadId: this.threadId, runId: uuid(), protocolVersion: "1.0" };
    return { ...ids, state: state ?? {}, tools: [], context: [], forwardedProps: {}, ...turn };
  }

  /** @param {any} input @param {{ mayBeKnown?: boolean }} [options] */
  async #run(input, { mayBeKnown = false } = {}) {
    const { signal } = (this.#abort = new AbortController());
    this.#unsent = input;
    this.#lastEventId = null;
    this.conversation = beginRun(this.conversation, input);
    this.decisions = new Map();
    this.stopping = false;
    this.dispatchEvent(new CustomEvent("start", { detail: input }));
    this.#changed();
    await this.#guard(signal, async () => {
      if (mayBeKnown && (await this.#isKnown(input, signal))) return this.#load(signal);
      await this.#follow(() => this.#client.run(input, signal), signal);
      const { error } = this.conversation;
      if (asksAgain(error) && this.#client.hasThreads) await this.#reopen(input, error, signal);
    });
  }

  /** Show what is really open, with the failure that told so, and give back the message that was not taken. @param {any} input @param {any} error @param {AbortSignal} signal */
  async #reopen({ messages: [message] }, error, signal) {
    await this.#load(signal, error);
    if (!message || this.conversation.messages.some(({ id }) => id === message.id)) return;
    this.dispatchEvent(new CustomEvent("returned", { detail: textOf(message.content) }));
  }

  /** Has the server taken this input although we never saw its answer? @param {any} input @param {AbortSignal} signal */
  async #isKnown(input, signal) {
    try {
      const thread = await this.#client.thread(input.threadId, signal);
      const [message] = input.messages;
      if (message) return thread.messages.some((one) => one.id === message.id);
      return !thread.pending?.some((one) => one.id === input.resume?.[0].interruptId);
    } catch (error) {
      if (error instanceof HttpError && error.status === 404) return false;
      throw error;
    }
  }

  /** @param {AbortSignal} signal @param {any} [error] */
  async #load(signal, error = null) {
    const threadId = (this.threadId);
    const thread = await this.#client.thread(threadId, signal);
    signal.throwIfAborted();
    this.loading = false;
    this.title = thread.title ?? "";
    this.conversation = fromThread(thread);
    if (error && !thread.running) this.conversation = { ...this.conversation, error, status: thread.pending?.length ? "waiting" : "failed" };
    this.#unsent = null;
    this.#changed();
    if (thread.running) await this.#follow(() => this.#client.follow(threadId, null, signal), signal);
  }

  /**
   * Read events until the run has ended; after a lost connection go on behind the last event seen.
   * @param {() => Promise<AsyncGenerator<{ id: string, event: any }> | null>} connect
   * @param {AbortSignal} signal
   */
  async #follow(connect, signal) {
    for (let tries = 0; ; ) {
      try {
        const events = await connect();
        if (!events) return await this.#afterTheLog(signal);
        for await (const { id, event } of events) {
          signal.throwIfAborted();
          tries = 0;
          this.#apply(id, event);
          if (endsRun(event)) return;
        }
      } catch (error) {
        const refused = error instanceof HttpError && error.status < 500;
        // Without a first event nobody knows whether the server has the message: the user decides.
        if (refused || signal.aborted || this.#lastEventId === null) throw error;
      }
      if (++tries > MAX_TRIES) throw new TypeError("The connection was lost.");
      this.reconnecting = true;
      this.#changed();
      await pause(Math.min(500 * 2 ** (tries - 1), 15000), signal);
      const threadId = (this.threadId);
      connect = () => this.#client.follow(threadId, this.#lastEventId, signal);
    }
  }

  /** The run is over and its log is gone: the stored thread has everything. @param {AbortSignal} signal */
  async #afterTheLog(signal) {
    const thread = await this.#client.thread((this.threadId), signal);
    signal.throwIfAborted();
    this.conversation = fromThread({ ...thread, running: false });
    this.#unsent = null;
  }

  /** @param {string} id @param {any} event */
  #apply(id, event) {
    const first = this.#lastEventId === null;
    this.#lastEventId = id;
    this.reconnecting = false;
    this.conversation = reduce(this.conversation, event);
    if (event.type === "RUN_FINISHED") this.#unsent = null;
    this.dispatchEvent(new CustomEvent("event", { detail: event }));
    this.#changed();
    if (first && this.stopping && !endsRun(event)) this.#cancel();
  }

  async #cancel() {
    try {
      await this.#client.cancel((this.threadId));
    } catch {
      this.stopping = false; // the button comes back, and with it the chance to try again
      this.#changed();
    }
  }

  /** Run an exchange with the server and leave the conversation in an honest state, however it ends. @param {AbortSignal} signal @param {() => Promise<unknown>} exchange */
  async #guard(signal, exchange) {
    try {
      await exchange();
    } catch (error) {
      if (signal.aborted) return;
      if (this.loading && error instanceof HttpError && error.status === 404) return this.reset();
      this.conversation = fail(this.conversation, failure(error));
    }
    if (signal.aborted) return;
    Object.assign(this, { loading: false, reconnecting: false, stopping: false });
    this.dispatchEvent(new CustomEvent("end"));
    this.#changed();
  }

  // --- Small pieces

  /** @param {string | null} threadId */
  #leave(threadId) {
    this.#abort.abort();
    this.#abort = new AbortController();
    Object.assign(this, { threadId, title: "", loading: false, reconnecting: false, stopping: false });
    this.conversation = emptyConversation();
    this.decisions = new Map();
    this.#unsent = null;
    this.#lastEventId = null;
    return this.#abort.signal;
  }

  /** A message that never arrived disappears when another one takes its place. */
  #dropUnsent() {
    if (!this.#unsent || this.#lastEventId !== null) return;
    const ids = this.#unsent.messages.map((message) => message.id);
    const messages = this.conversation.messages.filter((message) => !ids.includes(message.id));
    this.conversation = { ...this.conversation, messages };
  }

  #changed() {
    clearTimeout(this.#expiry);
    const left = this.conversation.interrupts.map(({ expiresAt }) => Date.parse(expiresAt) - Date.now()).filter((ms) => ms > 0);
    if (left.length) this.#expiry = setTimeout(() => this.#changed(), Math.min(...left, MAX_TIMER_MS));
    this.dispatchEvent(new CustomEvent("change"));
  }
}

/** @param {any} error */
function failure(error) {
  if (error instanceof HttpError) return { code: error.code, message: error.message };
  if (!(error instanceof TypeError) && error?.name !== "Error") console.error("agui-chat:", error);
  return { code: "connection_lost" };
}

/** Wait, but not longer than until the network is back. @param {number} ms @param {AbortSignal} signal */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const done = () => (clearTimeout(timer), globalThis.removeEventListener?.("online", done), resolve(undefined));
    const timer = setTimeout(done, ms);
    globalThis.addEventListener?.("online", done);
    signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

/** A random UUID, also where the page isn't served securely and `randomUUID` is missing. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
