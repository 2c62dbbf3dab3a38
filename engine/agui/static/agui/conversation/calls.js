// @ts-check
/** The tool calls of a conversation: the status of each, and which ones the page must do. */
import { patchCall, patchMessage, withMetadata } from "./patches.js";

/** @typedef {import("../types.d.ts").Call} Call */
/** @typedef {import("../types.d.ts").CallResult} CallResult */
/** @typedef {import("../types.d.ts").CallStatus} CallStatus */
/** @typedef {import("../types.d.ts").Conversation} Conversation */
/** @typedef {import("../types.d.ts").Interrupt} Interrupt */
/** @typedef {import("../types.d.ts").Message} Message */
/** @typedef {import("../types.d.ts").ToolCall} ToolCall */

/** The server limits each run, but each result of a page's tool begins another run. */
const MAX_ROUNDS = 50;
const OPEN = ["streaming", "running", "waiting"];

// --- Which calls there are

/** The messages since the user's last one. @param {Message[]} messages */
function lastTurn(messages) {
  return messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
}

/**
 * The calls of the last turn that have neither a result nor a question about them.
 * @param {Pick<Conversation, "messages" | "interrupts">} c @returns {ToolCall[]}
 */
export function openCalls({ messages, interrupts }) {
  const turn = lastTurn(messages);
  const others = new Set([...turn, ...interrupts].map(({ toolCallId }) => toolCallId));
  return turn.flatMap(({ toolCalls }) => toolCalls ?? []).filter(({ id }) => !others.has(id));
}

/**
 * Whether the agent has called so many tools since the user's last message that it may never end.
 * @param {Conversation} c
 */
export function goesRound({ messages }) {
  return lastTurn(messages).filter(({ toolCalls }) => toolCalls).length > MAX_ROUNDS;
}

/** Whether the page has a call to do, or asks about one. @param {Conversation} c */
export function hasPageCalls(c) {
  return openCalls(c).length > 0 || c.interrupts.some(({ isPages }) => isPages);
}

// --- How calls change

/**
 * @param {Conversation} c @param {import("../types.d.ts").CallStart} event @returns {Conversation}
 */
export function beginCall(c, event) {
  const { toolCallId: id, toolCallName: name, parentMessageId, subagentRunId, timestamp } = event;
  const begun = { ...c, begun: { ...c.begun, [id]: /** @type {const} */ (true) } };
  const next = setCall(
    begun,
    id,
    "streaming",
    undefined,
    timestamp ? { startedAt: timestamp } : {},
  );
  if (c.messages.some((message) => message.toolCalls?.some((call) => call.id === id))) {
    const restart = c.begun[id] ? {} : { arguments: "" };
    return patchCall(next, id, (call) =>
      withMetadata({ ...call, function: { ...call.function, ...restart, name } }, event),
    );
  }
  /** @type {ToolCall} */
  const call = withMetadata({ id, type: "function", function: { name, arguments: "" } }, event);
  const parent = c.messages.find((message) => message.id === parentMessageId);
  if (parent?.role === "assistant") {
    return patchMessage(next, parent.id, (message) => {
      return { ...message, toolCalls: [...(message.toolCalls ?? []), call] };
    });
  }
  const messageId = parent ? id : (parentMessageId ?? id);
  const message = {
    id: messageId,
    role: "assistant",
    toolCalls: [call],
    ...(subagentRunId && { subagentRunId }),
  };
  return { ...next, messages: [...c.messages, message] };
}

/** @param {Conversation} c @param {CallResult} event @returns {Conversation} */
export function finishCall(c, event) {
  const { messageId: id, toolCallId, content, role = "tool", subagentRunId } = event;
  const { error } = event; // only for the page's own calls
  const rest = { ...(subagentRunId && { subagentRunId }), ...(error && { error }) };
  const message = withMetadata({ id, toolCallId, role, content, ...rest }, event);
  const messages = c.messages.filter((other) => other.id !== id);
  const owner = messages.findIndex(({ toolCalls }) =>
    toolCalls?.some((call) => call.id === toolCallId),
  );
  let at = owner < 0 ? messages.length : owner + 1;
  while (messages[at]?.role === "tool") at += 1;
  messages.splice(at, 0, message);
  return setCall({ ...c, messages }, toolCallId, outcomeOf(message), content, aboutCall(message));
}

/**
 * Find the status of the calls in these messages. `known` has some of them.
 * @param {Message[]} messages @param {Record<string, Call>} known
 */
export function callsOf(messages, known) {
  /** @type {Record<string, Call>} */
  const calls = {};
  for (const { id } of messages.flatMap(({ toolCalls }) => toolCalls ?? [])) {
    calls[id] = known[id] ?? { status: "running" };
  }
  for (const message of messages) {
    if (message.role !== "tool" || message.toolCallId === undefined) continue;
    calls[message.toolCallId] = {
      status: outcomeOf(message),
      result: message.content,
      ...aboutCall(message),
    };
  }
  return calls;
}

/**
 * Read from a result how long its call took, and what the user had changed.
 * @param {Message} message @returns {Partial<Call>}
 */
function aboutCall({ metadata }) {
  const { duration_ms, editedArguments: json, editedBy: by } = metadata ?? {};
  return {
    ...(duration_ms !== undefined && { duration_ms }),
    ...(typeof json === "string" && { edited: { json, by } }),
  };
}

/** @param {Message} message @returns {CallStatus} */
function outcomeOf({ metadata, error }) {
  const outcome = metadata?.outcome;
  if (outcome === "denied") return "denied";
  return outcome === "failed" || error ? "failed" : "success";
}

/**
 * Give these calls of page tools a status.
 * @param {Conversation} c @param {{ id?: string }[]} calls @param {CallStatus} [status]
 */
export function callTools(c, calls, status = "running") {
  return calls.reduce(
    (state, { id = "" }) => (state.calls[id] ? setCall(state, id, status) : state),
    c,
  );
}

/** @param {Conversation} c @param {Message[]} results tool messages */
export function withResults(c, results) {
  return results.reduce((state, { id, ...result }) => {
    return finishCall(state, /** @type {CallResult} */ ({ messageId: id, ...result }));
  }, c);
}

/**
 * No tool call stays "running" after its run.
 * @param {Conversation} c @param {CallStatus} status
 */
export function settle(c, status) {
  const open = Object.keys(c.calls).filter((id) => OPEN.includes(c.calls[id].status));
  return open.reduce((state, id) => setCall(state, id, status), c);
}

/**
 * Pause the run until the user has answered.
 * @param {Conversation} c @param {Interrupt[]} interrupts @returns {Conversation}
 */
export function wait(c, interrupts) {
  const ids = interrupts.map(({ toolCallId }) => toolCallId ?? "").filter((id) => c.calls[id]);
  const waiting = ids.reduce((state, id) => setCall(state, id, "waiting"), c);
  return { ...waiting, interrupts, status: interrupts.length ? "waiting" : "idle" };
}

/**
 * @param {Conversation} c @param {string} id @param {CallStatus} status @param {unknown} [result]
 * @param {Partial<Call>} [about] @returns {Conversation}
 */
export function setCall(c, id, status, result, about) {
  const { startedAt, duration_ms } = c.calls[id] ?? {};
  const known = { ...(startedAt && { startedAt }), ...(duration_ms && { duration_ms }), ...about };
  const call = { status, ...(result !== undefined && { result }), ...known };
  return { ...c, calls: { ...c.calls, [id]: call } };
}
