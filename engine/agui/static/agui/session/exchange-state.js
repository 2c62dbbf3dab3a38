// @ts-check
/**
 * How the exchange of one thread with the server stands. It is in one phase at a time.
 *
 *                open               the thread is there
 *      idle ──────────────▶ loading ───────────────────▶ idle
 *                              │ and its run is on
 *                              ▼
 *      idle ──▶ posting ──▶ following ──▶ calling ──▶ posting ...
 *         send     │   the     │   the run   │  results are
 *                  │  server   │  has left   │  there
 *                  │ has the   │  calls to   │
 *                  │   turn    │  the page   │
 *                  ▼           ▼             ▼
 *                idle: the run has ended, failed, was stopped, or waits for the user
 *
 * A lost connection is not a phase: `Following` handles it.
 */
import { callTools, goesRound, hasPageCalls } from "../conversation/calls.js";
import { openCalls, withResults } from "../conversation/calls.js";
import { beginRun, emptyConversation, fromThread, reduce } from "../conversation/conversation.js";
import { uuid, versionsOf } from "./turns.js";

/** @typedef {import("../types.d.ts").Conversation} Conversation */
/** @typedef {import("../types.d.ts").RunInput} RunInput */
/** @typedef {"idle" | "loading" | "posting" | "following" | "calling"} Phase */
/**
 * A request for a run: the body, the number of versions that its message had before, the
 * conversation without it, and whether the server has the body.
 * @typedef {{
 *   input: import("../types.d.ts").RunInput, versions: number, before?: Conversation, isDelivered?:
 * boolean,
 * }} Turn
 */
/**
 * How an exchange informs its session.
 * @typedef {{
 *   changed: () => void, started: (input: import("../types.d.ts").RunInput) => void, received:
 *     (event: import("../types.d.ts").AguiEvent) => void, ended: ()
 * => void,
 *   settled: () => void, delivered: () => void, save: () => void,
 *   queue: (message: import("./outbox.js").Queued) => void,
 *   returned: (message: import("../types.d.ts").Returned) => void, refused: () => void, gone: () =>
 *     void, hasQueued: () =>
 * boolean,
 *   getContext: () => unknown, getForwardedProps: () => Record<string, unknown>,
 *   draws: (event: string) => unknown,
 * }} Listener settled: what follows an end may begin; refused: nobody is signed in; gone: there is
 * no such thread
 */

export class ExchangeState {
  conversation = emptyConversation();
  /** @type {Phase} */
  phase = "idle";
  /** Whether the user wants the run to stop. */
  stopping = false;
  /** @type {Turn | null} the turn that failed, until the user sends it again or replaces it */
  turn = null;
  /** Whether this tab has begun the run. Only that tab may call the page's tools. */
  isOurs = false;
  /** How often the server has refused the turn because another run was on. */
  conflicts = 0;
  #thread;
  #calls;
  #session;

  /**
   * @param {import("./stored-thread.js").StoredThread} thread
   * @param {import("./page-calls.js").PageCalls} calls
   * @param {Listener} session
   */
  constructor(thread, calls, session) {
    this.#thread = thread;
    this.#calls = calls;
    this.#session = session;
  }

  get busy() {
    return this.conversation.status === "running" || this.phase === "calling";
  }

  get isUndelivered() {
    return this.turn !== null && !this.turn.isDelivered;
  }

  /** The work that this tab must finish after a reload; null if there is none. */
  get unfinished() {
    const { results, begun } = this.#calls;
    const { input, versions } = this.turn ?? {};
    const turn = this.isUndelivered ? { input, versions } : null;
    return turn || this.isOurs || results.length
      ? { turn, own: this.isOurs, results, begun }
      : null;
  }

  /** The calls that the page has to do. */
  get leftCalls() {
    return this.#calls.left(this.conversation, this.#thread.pendingCalls);
  }

  /**
   * Whether the page has a tool for some of these calls.
   * @param {import("../types.d.ts").ToolCall[]} calls
   */
  mayCall(calls) {
    const isKnown = calls.some((call) => this.#calls.registered.has(call.function.name));
    return this.isOurs && isKnown && !goesRound(this.conversation);
  }

  /**
   * The body of a run.
   * @param {Partial<RunInput> & Pick<RunInput, "messages">} turn @returns {RunInput}
   */
  input(turn) {
    const ids = { threadId: this.#thread.id, runId: uuid(), protocolVersion: "1.0" };
    const { state } = this.conversation;
    return { ...ids, state: state ?? {}, tools: this.#calls.offered, forwardedProps: {}, ...turn };
  }

  /** @param {RunInput} input @returns {Turn} */
  turnOf(input) {
    const { conversation } = this;
    const versions = versionsOf({ branches: this.#thread.branches, conversation }, input);
    return { input, versions, before: conversation };
  }

  /** @param {Partial<Conversation>} change */
  update(change) {
    this.conversation = { ...this.conversation, ...change };
    this.#session.changed();
  }

  /** Show a conversation that this tab has to finish. @param {Conversation} conversation */
  keep(conversation) {
    this.conversation = conversation;
    this.#session.save();
    this.#session.changed();
  }

  /**
   * Begin to load the thread, with the unfinished work of a tab.
   * @param {import("../types.d.ts").Unfinished} unfinished
   */
  load({ own = false, results = [], begun = [] }) {
    this.phase = "loading";
    this.isOurs = own;
    Object.assign(this.#calls, { results, begun });
    this.#session.changed();
  }

  /** Show the stored thread. @param {import("../types.d.ts").Thread} thread */
  show(thread) {
    if (this.phase === "loading") this.phase = "idle";
    this.#thread.describe(thread);
    const conversation = fromThread(thread);
    const open = openCalls(conversation).map(({ id }) => id);
    const results = this.#calls.results.filter(({ toolCallId = "" }) => open.includes(toolCallId));
    this.conversation = withResults(conversation, results);
    this.#session.changed();
  }

  /** Show a turn before the server has it. @param {Turn} turn */
  begin(turn) {
    this.turn = { ...turn, isDelivered: false };
    this.isOurs = true;
    this.phase = "posting";
    this.conversation = beginRun(this.conversation, turn.input);
    for (const { id } of turn.input.messages) this.#thread.sent(id);
    this.#session.save();
    this.#session.started(turn.input);
    this.#session.changed();
  }

  /** The server has the turn. */
  arrive() {
    this.phase = "following";
    this.conflicts = 0;
    if (this.turn) this.turn.isDelivered = true;
    this.#calls.release();
    this.#session.save();
    if (this.isOurs) this.#session.delivered();
  }

  /**
   * The page does the calls that these questions were about, with the answers.
   * @param {import("../types.d.ts").Interrupt[]} interrupts
   */
  call(interrupts) {
    const calls = interrupts.map(({ toolCallId: id }) => ({ id }));
    this.isOurs = true;
    this.phase = "calling";
    this.conversation = {
      ...callTools(this.conversation, calls),
      interrupts: [],
      status: "running",
    };
  }

  /** @param {import("../types.d.ts").AguiEvent} event */
  apply(event) {
    const { timestamp = Date.now() } = event;
    if ("messageId" in event) this.#thread.sent(event.messageId, timestamp);
    this.conversation = reduce(this.conversation, { ...event, timestamp });
    if (event.type === "CUSTOM" && this.#session.draws(event.name)) {
      this.conversation = reduce(this.conversation, cardOf(event));
    }
    if (event.type === "TOOL_CALL_START" && this.#calls.registered.has(event.toolCallName)) {
      this.#calls.load().catch(() => {}); // The page tries again when the run has ended.
    }
    if (event.type === "RUN_FINISHED") {
      this.turn = this.#thread.pendingCalls = null;
      this.#calls.clear();
    }
    this.#session.received(event);
    this.#session.changed();
  }

  /** @param {Conversation} [conversation] */
  end(conversation = this.conversation) {
    const { phase } = this;
    Object.assign(this, { conversation, phase: "idle", stopping: false });
    // The page may still register the tool of a call, so this tab keeps the call.
    const isLeft = ["idle", "waiting"].includes(conversation.status) && hasPageCalls(conversation);
    this.isOurs &&= isLeft || conversation.error?.code === "connection_lost";
    this.#session.save();
    if (phase === "following" || phase === "calling") this.#thread.isUnread = true;
    if (phase !== "idle" && phase !== "loading") this.#session.ended();
    this.#session.changed();
    this.#session.settled();
    if (!this.busy) this.#calls.release();
  }

  /** Remove a message that never arrived, because the user sends another one. */
  dropUndelivered() {
    if (!this.isUndelivered) return;
    const { state } = this.conversation;
    this.conversation = { ...(this.turn?.before ?? this.conversation), state };
  }
}

/**
 * Turn an event that the page draws into an activity. Events whose values have the same `id` share
 * a card.
 * @param {import("../types.d.ts").Events["CUSTOM"]} event
 * @returns {import("../types.d.ts").AguiEvent}
 */
function cardOf({ name, value }) {
  const id = /** @type {{ id?: unknown } | null} */ (value)?.id ?? uuid();
  const activityType = `event ${name}`;
  const messageId = `${activityType} ${id}`;
  return { type: "ACTIVITY_SNAPSHOT", messageId, activityType, content: value };
}
