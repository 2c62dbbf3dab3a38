// @ts-check
/**
 * A conversation as plain data, and how each AG-UI event changes it. Every change makes a new
 * object, and leaves untouched messages identical. `calls` has what AG-UI's messages can't carry.
 */
import { beginCall, finishCall, setCall, settle, wait } from "./calls.js";
import { fetchModule } from "../dom/lazy.js";
import { appendText, beginMessage, clean, endMessage, withMessages } from "./messages.js";
import { patchCall, withMetadata } from "./patches.js";

/** @typedef {{ payload?: { editedArgs?: object } | null }} Edited a decision of the user */
/** @typedef {import("../types.d.ts").Conversation} Conversation */
/** @typedef {import("../types.d.ts").AguiEvent} AguiEvent */
/** @typedef {import("../types.d.ts").Events} Events */
/** @typedef {import("../types.d.ts").Failure} Failure */
/** @typedef {import("../types.d.ts").Interrupt} Interrupt */

/** @returns {Conversation} */
export function emptyConversation() {
  return {
    messages: [], calls: {}, interrupts: [], state: {}, status: "idle", runId: null, error: null,
    failures: {}, steps: [], usage: [], begun: {}, chunks: [],
  };
}

/**
 * Build the conversation that the server has stored.
 * @param {import("../types.d.ts").Thread} thread
 * @returns {Conversation}
 */
export function fromThread({ messages, state, pending, running, failures = {} }) {
  const stored = withMessages(
    { ...emptyConversation(), state: state ?? {}, failures },
    messages ?? [],
  );
  /** @type {Conversation} */
  const conversation = running ? { ...stored, status: "running" } : settle(stored, "stopped");
  if (pending?.length) return wait(conversation, pending);
  const error = failures[promptOf(conversation)];
  return error && !running ? { ...conversation, error, status: "failed" } : conversation;
}

/**
 * Show the user's turn, or an answer to questions, before the server has confirmed it.
 * @param {Conversation} conversation
 * @param {Pick<import("../types.d.ts").RunInput, "runId" | "messages" | "resume">} input
 * @returns {Conversation}
 */
export function beginRun(conversation, { runId, messages, resume }) {
  // If the conversation already has this message, the agent answers it again, and what follows it
  // goes.
  /** @param {import("../types.d.ts").Message} message */
  const isPrompt = ({ id, role }) => role === "user" && id === messages[0]?.id;
  const again = conversation.messages.findIndex(isPrompt);
  const kept = again < 0 ? conversation.messages : conversation.messages.slice(0, again);
  const known = new Set(kept.map((message) => message.id));
  const added = messages.filter((message) => !known.has(message.id));
  const calls = { ...conversation.calls };
  for (const { id, toolCallId = "" } of conversation.interrupts) {
    const entry = resume?.find(({ interruptId }) => interruptId === id);
    const edited = /** @type {Edited | undefined} */ (entry)?.payload?.editedArgs;
    if (!calls[toolCallId]) continue;
    calls[toolCallId] = {
      status: "running",
      ...(edited && { edited: { json: JSON.stringify(edited) } }),
    };
  }
  return {
    ...conversation, calls, runId, status: "running", ...settled(conversation, messages[0]?.id),
    interrupts: [], begun: {}, messages: [...kept, ...added],
  };
}

/** Find the id of the user's last message. @param {Conversation} conversation */
function promptOf({ messages }) {
  return messages.findLast(({ role }) => role === "user")?.id ?? "";
}

/**
 * Keep a failure with its turn, unless the turn is tried again.
 * @param {Conversation} c @param {string} [again]
 */
function settled(c, again = "") {
  const all = c.error?.runId ? { ...c.failures, [promptOf(c)]: c.error } : c.failures;
  const { [again]: _, ...failures } = all;
  return { error: null, failures };
}

/**
 * End the run on this page, for a reason that no event has named.
 * @param {Conversation} c @param {Failure} error @returns {Conversation}
 */
export function fail(c, error) {
  return { ...settle(c, "stopped"), status: "failed", error };
}

/** @param {{ type: string }} event */
export function endsRun(event) {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

/**
 * Whether the failure says that the open questions are not those that were answered.
 * @param {Failure | null} error
 */
export function asksAgain(error) {
  const codes = ["interrupt_pending", "interrupt_unknown", "interrupt_expired", "invalid_resume"];
  return codes.includes(error?.code ?? "");
}

/**
 * Whether the interrupt asks for an answer, not only for approval of a tool call.
 * @param {Interrupt} interrupt
 */
export function asksInput({ reason }) {
  return reason === "input_required";
}

/**
 * Whether the interrupt has expired. The user can then only cancel it.
 * @param {Interrupt} interrupt
 */
export function isExpired({ expiresAt = "" }) {
  return Date.parse(expiresAt) <= Date.now();
}

/** @type {Partial<typeof import("./chunks.js") & typeof import("./rare-events.js")>} */
const loaded = {};

/**
 * Load what `reduce` needs for an event. Returns undefined if nothing is missing.
 * @param {{ type?: string }} event @returns {Promise<void> | undefined}
 */
export function loadFor({ type = "" }) {
  /** @param {typeof loaded} module */
  const keep = (module) => void Object.assign(loaded, module);
  if (/_CHUNK$/.test(type)) {
    if (!loaded.expandChunk) return fetchModule(() => import("./chunks.js")).then(keep);
  } else if (!table[type] && !loaded.RARE_EVENTS) {
    return fetchModule(() => import("./rare-events.js")).then(keep);
  }
}

/**
 * Apply one event, after `loadFor` it. Unknown or invalid events change nothing.
 * @param {Conversation} conversation
 * @param {AguiEvent} event
 * @returns {Conversation}
 */
export function reduce(conversation, event) {
  const { chunks } = conversation;
  const { events, open } = loaded.expandChunk?.(chunks, event) ?? { events: [event], open: chunks };
  const next = events.reduce(apply, conversation);
  return next.chunks === open ? next : { ...next, chunks: open };
}

/** @param {Conversation} conversation @param {import("../types.d.ts").AnyEvent} event */
function apply(conversation, event) {
  const reducer = table[event.type] ?? loaded.RARE_EVENTS?.[event.type];
  return reducer?.(conversation, event) ?? conversation;
}

/**
 * What most runs have; the others are in rare-events.js.
 * @type {Partial<import("../types.d.ts").Reducers>}
 */
const reducers = {
  // @ts-ignore: without a prototype, "toString" is not an event type
  __proto__: null,

  RUN_STARTED: (c, { runId, input }) => {
    const known = new Set(c.messages.map((message) => message.id));
    const echoed = clean(input?.messages ?? []).filter((message) => !known.has(message.id));
    const messages = echoed.length ? [...c.messages, ...echoed] : c.messages;
    const anew = { interrupts: [], steps: [], usage: [], begun: {} };
    return { ...c, messages, runId, status: "running", ...settled(c), ...anew };
  },
  RUN_FINISHED: (c, { outcome, usage = [] }) => {
    const ended = settle({ ...c, usage, steps: [] }, "stopped");
    if (outcome?.type === "interrupt") return wait(ended, outcome.interrupts ?? []);
    return { ...ended, status: outcome?.type === "cancelled" ? "stopped" : "idle" };
  },
  RUN_ERROR: (c, { message, code = "run_error", metadata }) => {
    const { runId = c.runId, resets_at: until, debug } = metadata ?? {};
    return fail(
      { ...c, steps: [] },
      { message, code, runId, ...(until && { until }), ...(debug && { debug }) },
    );
  },

  TEXT_MESSAGE_START: (c, event) => beginMessage(c, event, event.role ?? "assistant"),
  TEXT_MESSAGE_CONTENT: appendText,
  TEXT_MESSAGE_END: endMessage,
  REASONING_MESSAGE_START: (c, event) => beginMessage(c, event, "reasoning"),
  REASONING_MESSAGE_CONTENT: appendText,
  REASONING_MESSAGE_END: endMessage,

  TOOL_CALL_START: beginCall,
  TOOL_CALL_ARGS: (c, event) =>
    patchCall(c, event.toolCallId, (call) => {
      const json = call.function.arguments + event.delta;
      return withMetadata({ ...call, function: { ...call.function, arguments: json } }, event);
    }),
  TOOL_CALL_END: (c, event) => {
    const next = patchCall(c, event.toolCallId, (call) => withMetadata(call, event));
    const isStreaming = c.calls[event.toolCallId]?.status === "streaming";
    return isStreaming ? setCall(next, event.toolCallId, "running") : next;
  },
  TOOL_CALL_RESULT: finishCall,

  STATE_SNAPSHOT: (c, { snapshot }) => ({ ...c, state: snapshot }),
};

/**
 * Events are not validated on arrival: a type that is not in the table changes nothing.
 * @type {import("../types.d.ts").ReducerTable}
 */
const table = reducers;
