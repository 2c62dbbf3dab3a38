// @ts-check
/** One thread as the page has it: what the server has stored of it, what is on its way there, and what this tab has to finish. */
import { HttpError } from "./client.js";
import { emptyConversation, fail, fromThread, hasPageCalls, openCalls, withResults } from "./conversation.js";
import { failure } from "./turns.js";

/** @typedef {import("./client.js").AgentClient} AgentClient */
/** @typedef {import("./uploads.js").Attachment} Attachment */
/** @typedef {import("./tabs.js").Message} Message */
/** @typedef {{ status: "resolved", payload: any } | { status: "cancelled" }} Decision as in AG-UI's ResumeEntry */
/** @typedef {{ id: string, text: string, current: boolean }} Branch a version of a message; `id` is what to switch to */
/**
 * What a run is asked for: the body, how many versions of its message there were before, and the conversation without it.
 * @typedef {{ input: any, versions: number, before?: import("./conversation.js").Conversation }} Turn
 */

const MAX_TIMER_MS = 2 ** 31 - 1;

export class Thread extends EventTarget {
  conversation = emptyConversation();
  /** @type {any} the open thread's id, or null before the first message */
  threadId = null;
  title = "";
  /** Has an answer ended that nobody has said to have seen? */
  unread = false;
  loading = false;
  reconnecting = false;
  stopping = false;
  /** @type {Map<string, Decision>} */
  decisions = new Map();
  /** @type {Record<string, Branch[]>} the versions of the user's messages that have several, by message */
  branches = {};
  /** @type {Record<string, { value: number, comment: string }>} what the user thinks of answers, by message */
  feedback = {};
  /** @type {{ id: string, text: string, attachments: Attachment[] } | null} to be sent when the run has ended well */
  queued = null;
  /** @type {(() => any) | null} what the page tells of itself with each run */
  getContext = null;

  _client;
  _memory;
  _tabs;
  _abort = new AbortController();
  /** @type {import("./following.js").Following | null} */
  _following = null;
  /** @type {Turn | null} what failed, until it is sent again or replaced */
  _unsent = null;
  /** Has the server taken it? */
  _reached = false;
  /** Is the run one of this page, whose tools it may then call? */
  _own = false;
  _ran = false;
  /** @type {Map<string, import("./frontend-tools.js").FrontendTool>} */
  _pageTools = new Map();
  /** @type {import("./frontend-tools.js").FrontendTools | null} */
  _frontendTools = null;
  /** @type {string[] | null} the calls that the thread waits for, if it has just said so */
  _pendingCalls = null;
  _calling = false;
  /** @type {string[]} the calls that were begun: should the page be left meanwhile, they don't begin again */
  _begun = [];
  /** @type {any[]} what they gave, until the server has it */
  _results = [];
  _conflicts = 0;
  _updatedAt = "";
  /** @type {any} */
  _expiry = 0;

  /**
   * @param {AgentClient} client
   * @param {{ memory?: import("./thread-memory.js").ThreadMemory, tabs?: import("./tabs.js").Tabs }} [options]
   */
  constructor(client, { memory, tabs } = {}) {
    super();
    this._client = client;
    this._memory = memory;
    this._tabs = tabs;
    client.addEventListener?.("refused", () => this.signOut());
    client.addEventListener?.("done", (event) => {
      const { detail } = /** @type {CustomEvent<Message>} */ (event);
      this.hear(detail);
      tabs?.tell(detail);
    });
  }

  get busy() {
    return this.conversation.status === "running" || this._calling;
  }

  get empty() {
    return !this.loading && !this.conversation.messages.length && !this.conversation.error;
  }

  /** Tell of a failure of the page's own; trying again then opens the thread anew. @param {import("./conversation.js").Failure} error */
  fail(error) {
    this.conversation = fail(this.conversation, error);
    this._changed();
  }

  /** End what is being read or done, which does not know of what begins now. */
  _takeOver() {
    this._abort.abort();
    this._abort = new AbortController();
    return this._abort.signal;
  }

  /** Stop reading. */
  close() {
    this._abort.abort();
    clearTimeout(this._expiry);
  }

  // --- The stored thread

  /** @param {any} thread */
  _show(thread) {
    this.loading = false;
    this._describe(thread);
    const conversation = fromThread(thread);
    const open = openCalls(conversation).map(({ id }) => id);
    this.conversation = withResults(conversation, this._results.filter((one) => open.includes(one.toolCallId)));
    this._changed();
  }

  /** @param {any} thread */
  _describe({ title, unread, branches, feedback, updated_at, pending_calls }) {
    this.title = title ?? "";
    this.unread = Boolean(unread);
    this._pendingCalls = pending_calls ?? null;
    this.branches = branches ?? {};
    this.feedback = feedback ?? {};
    this._updatedAt = updated_at;
  }

  /** @param {AbortSignal} signal @returns {Promise<any>} null if there is no such thread */
  async _find(signal) {
    try {
      const thread = await this._client.thread(this.threadId, signal);
      signal.throwIfAborted();
      return thread;
    } catch (error) {
      if (error instanceof HttpError && error.status === 404) return null;
      throw error;
    }
  }

  /** A run has made a version. @param {AbortSignal} signal */
  async _readBranches(signal) {
    const thread = await this._find(signal).catch(() => null);
    signal.throwIfAborted();
    if (thread) this._describe(thread);
  }

  /** Is the open thread the newest, and as we know it? Most threads are, and then that is all to be read. */
  async _isFresh() {
    const { threads } = await this._client.threads({ limit: 1 });
    return threads[0]?.thread_id === this.threadId && threads[0].updated_at === this._updatedAt;
  }

  /** Keep what this tab has to finish, should it be closed or loaded anew. */
  _note() {
    if (!this.threadId) return;
    const { queued } = this;
    const turn = this._isUndelivered ? { input: this._unsent?.input, versions: this._unsent?.versions } : null;
    const work = { turn, own: this._own, queued, results: this._results, begun: this._begun };
    this._memory?.finishLater(this.threadId, turn || this._own || queued || this._results.length ? work : null);
  }

  /** @param {string} threadId */
  _takeUp(threadId) {
    const work = this._memory?.unfinished(threadId) ?? {};
    this._own = Boolean(work.own);
    return work;
  }

  // --- Small pieces

  /**
   * Run an exchange with the server and leave the conversation in an honest state, however it ends.
   * @param {AbortSignal} signal @param {() => Promise<unknown>} exchange @param {{ quietly?: boolean }} [options]
   */
  async _guard(signal, exchange, { quietly = false } = {}) {
    try {
      await exchange();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof HttpError && error.status === 401) return this.signOut();
      if (this.loading && error instanceof HttpError && error.status === 404) return this.hear({ kind: "removed", threadId: this.threadId });
      if (!quietly || this.busy) this.conversation = fail(this.conversation, failure(error));
    }
    if (!signal.aborted) this._end();
  }

  _end(conversation = this.conversation) {
    Object.assign(this, { conversation, loading: false, reconnecting: false, stopping: false });
    // A call of a tool that the page may still register is left to this tab.
    this._own &&= conversation.error?.code === "connection_lost" || (["idle", "waiting"].includes(conversation.status) && hasPageCalls(conversation));
    this._calling = false;
    this._note();
    this.unread ||= this._ran && this._reached;
    if (this._ran) this.dispatchEvent(new CustomEvent("end"));
    this._ran = false;
    this._changed();
    this._goOn();
  }

  /** @param {{ id: string, text: string, attachments: Attachment[] } | null} message */
  _queue(message) {
    this.queued = message;
    this._note();
    this._changed();
  }

  _returnQueued() {
    if (!this.queued) return;
    const { text, attachments } = this.queued;
    this._queue(null);
    const detail = { content: text, ...(attachments.length && { metadata: { attachments } }) };
    this.dispatchEvent(new CustomEvent("returned", { detail }));
  }

  get _isUndelivered() {
    return this._unsent !== null && !this._reached;
  }

  /** A message that never arrived disappears when another one takes its place. */
  _dropUndelivered() {
    if (this._isUndelivered) this.conversation = { ...(this._unsent?.before ?? this.conversation), state: this.conversation.state };
  }

  /** @param {Message["kind"]} kind */
  _tell(kind) {
    this._tabs?.tell({ kind, threadId: this.threadId });
  }

  /** @param {string | null} threadId */
  _leave(threadId) {
    this._returnQueued();
    this._takeOver();
    Object.assign(this, { threadId, title: "", branches: {}, feedback: {}, loading: false, reconnecting: false, stopping: false });
    this.conversation = emptyConversation();
    this.decisions = new Map();
    this._unsent = this._following = this._pendingCalls = null;
    this._conflicts = 0;
    this._reached = this._own = this._calling = this._ran = false;
    this._results = this._begun = [];
    this._frontendTools?.release();
    return this._abort.signal;
  }

  _changed() {
    clearTimeout(this._expiry);
    const left = this.conversation.interrupts.map(({ expiresAt }) => Date.parse(expiresAt) - Date.now()).filter((ms) => ms > 0);
    if (left.length) this._expiry = setTimeout(() => this._changed(), Math.min(...left, MAX_TIMER_MS));
    this.dispatchEvent(new CustomEvent("change"));
  }

  // --- What Session does

  /** What comes by itself after a run. */
  _goOn() {}

  /** @param {Message} message */
  hear(message) {}

  signOut() {}
}
