// @ts-check
/** Runs on the open thread: brought to the server once, followed to their end, and gone on with by what the page itself can do. */
import { HttpError } from "./client.js";
import { asksAgain, beginRun, callTools, goesRound, openCalls, reduce, wait, withResults } from "./conversation.js";
import { Following, Woken } from "./following.js";
import { Thread } from "./thread.js";
import { failure, isKnown, readContext, sameMessages, uuid, versionsOf } from "./turns.js";

/** @typedef {import("./thread.js").Turn} Turn */
/** @typedef {import("./conversation.js").Conversation} Conversation */
/** @typedef {import("./frontend-tools.js").FrontendTools} FrontendTools */

const MAX_CONFLICTS = 3;
const NO_PARAMETERS = { type: "object", properties: {} };

export class Runs extends Thread {
  /** @param {any} turn */
  _input(turn) {
    const { state } = this.conversation;
    const ids = { threadId: this.threadId, runId: uuid(), protocolVersion: "1.0" };
    const tools = [...this._pageTools.values()].map(({ name, description = "", parameters = NO_PARAMETERS }) => ({ name, description, parameters }));
    return { ...ids, state: state ?? {}, tools, forwardedProps: {}, ...turn };
  }

  /** @param {any} input @param {{ turn?: Turn }} [options] the turn, if it has been tried before */
  _run(input, { turn } = {}) {
    const signal = this._takeOver();
    this.stopping = false;
    const first = { input, versions: versionsOf(this, input), before: this.conversation };
    return this._guard(signal, () => this._post(turn ?? first, signal, { again: Boolean(turn) }));
  }

  /**
   * Bring a turn to the server and follow its run; with `again`, only if the server does not know it.
   * @param {Turn} turn @param {AbortSignal} signal @param {{ again?: boolean }} [options]
   */
  async _post(turn, signal, { again = false } = {}) {
    const { input } = turn;
    this._unsent = turn; // Kept from now on, should even the thread be out of reach
    this._reached = false;
    if (!this.loading) this._begin(turn);
    for (; ; again = true) {
      if (again && this._client.hasThreads) {
        const thread = await this._find(signal);
        if (thread && isKnown(thread, turn)) return this._take(thread, signal);
        if (thread) this._show(thread);
        this._begin((turn = { ...turn, before: this.conversation }));
      }
      try {
        if (!input.context) await this._addContext(input, signal);
        await this._follow((last, attempt) => this._connect(last, attempt, input), signal, { starts: true });
        break;
      } catch (error) {
        if (error instanceof HttpError && error.status === 409 && this._client.hasThreads) return this._giveWay(turn, error, signal);
        if (!(error instanceof Woken)) throw error;
      }
    }
    const { error } = this.conversation;
    if (asksAgain(error) && this._client.hasThreads) return this._reopen(input, error, signal);
    if (turn.versions) await this._readBranches(signal);
    await this._callTools(signal);
  }

  /** Once: the very same body again makes the server follow the run that it has begun with it. @param {any} input @param {AbortSignal} signal */
  async _addContext(input, signal) {
    input.context = this.getContext ? await readContext(this.getContext) : [];
    signal.throwIfAborted();
    this._note();
  }

  /** Show the turn before the server has it. @param {Turn} turn */
  _begin(turn) {
    const { conversation } = this;
    this._unsent = turn;
    this._own = this._ran = true;
    this.loading = false;
    this.decisions = new Map();
    /** @type {Conversation} */
    this.conversation = beginRun(conversation, turn.input);
    this._note();
    this.dispatchEvent(new CustomEvent("start", { detail: turn.input }));
    this._changed();
  }

  /** @param {string | null} last @param {AbortSignal} signal @param {any} [input] */
  _connect(last, signal, input) {
    return input && last === null ? this._client.run(input, signal) : this._client.follow(this.threadId, last, signal);
  }

  /** @param {(last: string | null, attempt: AbortSignal) => Promise<AsyncGenerator<any> | null>} connect @param {AbortSignal} signal @param {{ starts?: boolean }} [options] */
  async _follow(connect, signal, { starts = false } = {}) {
    const following = (this._following = new Following(connect, { starts }));
    const onLoss = (isLost) => {
      this.reconnecting = isLost;
      this._changed();
    };
    try {
      for await (const numbered of following.events({ signal, onLoss })) {
        if (numbered) this._apply(numbered.event);
        else await this._afterTheLog(signal);
      }
    } finally {
      if (this._following === following) this._following = null;
    }
  }

  /** The run is over and its log is gone: the stored thread has everything. @param {AbortSignal} signal */
  async _afterTheLog(signal) {
    this._show({ ...(await this._client.thread(this.threadId, signal)), running: false });
    this._unsent = null;
  }

  /** @param {any} event */
  _apply(event) {
    if (!this._reached) this._arrived();
    this.reconnecting = false;
    this.conversation = reduce(this.conversation, { timestamp: Date.now(), ...event });
    if (event.type === "TOOL_CALL_START" && this._pageTools.has(event.toolCallName)) this._loadTools().catch(() => {}); // tried again when the run has ended
    if (event.type === "RUN_FINISHED") {
      this._unsent = this._pendingCalls = null;
      this._results = this._begun = [];
    }
    this.dispatchEvent(new CustomEvent("event", { detail: event }));
    this._changed();
  }

  /** The server has the turn. */
  _arrived() {
    this._reached = true;
    this._conflicts = 0;
    this._frontendTools?.release();
    this._note();
    if (this._own) this._tell("changed");
    if (this.stopping) this._cancel();
  }

  async _cancel() {
    try {
      await this._client.cancel(this.threadId);
    } catch {
      this.stopping = false; // the button comes back, and with it the chance to try again
      this._changed();
    }
  }

  /** Another run is on: follow it, and keep the message until it has ended. @param {Turn} turn @param {HttpError} error @param {AbortSignal} signal */
  async _giveWay(turn, error, signal) {
    const { input, versions } = turn;
    const [message] = input.messages;
    if (message?.role !== "user" || versions || this.stopping) {
      this.stopping = false; // it was meant for the run that was refused
      return this._reopen(input, failure(error), signal);
    }
    if (this.queued || ++this._conflicts > MAX_CONFLICTS) throw error;
    const thread = await this._find(signal);
    if (!thread) throw error;
    this._unsent = null;
    this._own = false;
    if (!isKnown(thread, turn)) this._queue({ id: message.id, text: message.content, attachments: message.metadata?.attachments ?? [] });
    await this._take(thread, signal);
  }

  /** Show what is really there, with the failure that told so, and give back the message that was not taken. @param {any} input @param {any} error @param {AbortSignal} signal */
  async _reopen({ messages: [message] }, error, signal) {
    await this._load(signal, { error });
    const isThere = this.conversation.messages.some(({ id, content }) => id === message?.id && content === message.content);
    if (message?.role === "user" && !isThere) this.dispatchEvent(new CustomEvent("returned", { detail: message }));
  }

  // --- The stored thread

  /** @param {AbortSignal} signal @param {{ error?: any, inPlace?: boolean }} [options] */
  async _load(signal, { error = null, inPlace = false } = {}) {
    const thread = await this._client.thread(this.threadId, signal);
    signal.throwIfAborted();
    const isLost = this.conversation.error?.code === "connection_lost"; // that is over now
    if (inPlace && !isLost && !thread.running && sameMessages(this.conversation, thread)) return this._describe(thread);
    await this._take(thread, signal);
    if (error && !thread.running) this.conversation = { ...this.conversation, error, status: thread.pending?.length ? "waiting" : "failed" };
  }

  /** @param {any} thread @param {AbortSignal} signal */
  async _take(thread, signal) {
    this._show(thread);
    this._unsent = null;
    if (thread.running) {
      this._ran = true;
      this._arrived();
      await this._follow((last, attempt) => this._connect(last, attempt), signal);
    }
    await this._callTools(signal);
  }

  // --- Tools of the page

  /** What of the page the agent may call; a thread that has waited for it goes on. @param {Map<string, import("./frontend-tools.js").FrontendTool>} tools */
  offer(tools) {
    this._pageTools = tools;
    const { signal } = this._abort;
    if (!this.busy && !this.loading && !this._calling && this._leftCalls().length) this._guard(signal, () => this._callTools(signal));
  }

  /** @returns {Promise<FrontendTools>} */
  async _loadTools() {
    const { FrontendTools } = await import("./frontend-tools.js");
    return (this._frontendTools ??= new FrontendTools(this._pageTools));
  }

  _leftCalls() {
    return openCalls(this.conversation).filter(({ id }) => this._pendingCalls?.includes(id) ?? true);
  }

  /** Do what the agent has left to the page, but ask first where that is needed. @param {AbortSignal} signal */
  async _callTools(signal) {
    const { status } = this.conversation;
    const calls = this._leftCalls();
    if (!calls.length || !["idle", "waiting"].includes(status)) return;
    const isKnown = calls.some((call) => this._pageTools.has(call.function.name));
    if (status === "idle" && !(this._own && isKnown && !goesRound(this.conversation))) {
      this.conversation = callTools(this.conversation, calls, "left");
      return;
    }
    this._calling ||= status === "idle"; // Between the run and its tools the page looks as busy as during them
    const tools = await this._loadTools();
    signal.throwIfAborted();
    const questions = tools.questions(calls.filter(({ id }) => !this._begun.includes(id)));
    if (questions.length) this.conversation = wait(this.conversation, [...this.conversation.interrupts, ...questions]);
    // What nobody has to be asked about is done at once, but only by the tab whose run it was.
    const others = this._leftCalls();
    if (!this._own) this.conversation = callTools(this.conversation, others, "streaming");
    else if (others.length) await this._answerCalls(others, signal);
  }

  /**
   * Run tools of the page, and tell the agent what came of that, together with what else is answered.
   * @param {any[]} calls @param {AbortSignal} signal @param {{ decisions?: Map<string, any>, resume?: any[] }} [answers]
   */
  async _answerCalls(calls, signal, { decisions = new Map(), resume = [] } = {}) {
    const tools = await this._loadTools();
    if (!(await tools.hold(this.threadId))) {
      this._own = false;
      return this._load(signal);
    }
    signal.throwIfAborted();
    const { threadId, conversation } = this;
    const begun = this._begun;
    const done = (message) => {
      if (signal.aborted) return;
      this._results = [...this._results, message];
      this.conversation = withResults(this.conversation, [message]);
      this._note();
      this._changed();
    };
    this._calling = true;
    this._begun = [...begun, ...calls.map(({ id }) => id)];
    this.conversation = { ...callTools(conversation, calls), ...(conversation.status === "idle" && { status: "running" }) };
    this._note();
    this._changed();
    await tools.answer(calls, { signal, threadId, state: conversation.state, decisions, begun, done });
    signal.throwIfAborted();
    this._calling = false;
    if (this.conversation.status === "waiting") return; // The rest is answered together with these
    const input = this._input({ messages: this._results, ...(resume.length && { resume }) });
    await this._post({ input, versions: 0, before: this.conversation }, signal);
  }
}
