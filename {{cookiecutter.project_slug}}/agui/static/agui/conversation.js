// @ts-check
/**
 * Events to state: one conversation as plain data, and how each AG-UI event changes it.
 * Pure: every change gives a new object and leaves untouched messages identical, so that a view
 * finds what changed with `!==`. The messages are AG-UI's own; `calls` holds what they can't carry.
 */

/**
 * @typedef {{ id: string, role: string, content?: any, [key: string]: any }} Message
 * @typedef {"streaming" | "running" | "waiting" | "success" | "failed" | "denied" | "stopped" | "left"} CallStatus left: to a page that did not do it
 * @typedef {{ status: CallStatus, result?: any, startedAt?: number, duration_ms?: number, step?: string, percent?: number, edited?: { json: string, by?: string } }} Call times as far as they are known; edited: by the user who approved it
 * @typedef {{ code: string, message?: string, runId?: string | null, until?: string, debug?: { hint: string, cause?: string } }} Failure runId, of a run of the server: its short one
 * @typedef {{
 *   messages: Message[], calls: Record<string, Call>, interrupts: any[], state: any,
 *   status: "idle" | "running" | "waiting" | "failed" | "stopped",
 *   runId: string | null, error: Failure | null, failures: Record<string, Failure>, steps: string[], usage: any[],
 *   begun: Record<string, true>, chunks: import("./chunks.js").Open[],
 * }} Conversation
 */

/** A server limits what one run does: each result of a page's tool begins another one. */
const MAX_ROUNDS = 50;

/** @returns {Conversation} */
export function emptyConversation() {
  return {
    messages: [], calls: {}, interrupts: [], state: {}, status: "idle", runId: null, error: null,
    failures: {}, // of earlier turns, by the user's message
    steps: [], usage: [],
    begun: {}, // ids that began in this run: a replay starts them afresh instead of appending
    chunks: [], // the messages and calls that *_CHUNK events are filling
  };
}

/**
 * Build the conversation that the server has stored.
 * @param {{ messages?: any[], state?: any, pending?: any[] | null, running?: boolean, failures?: Record<string, Failure> }} thread
 * @returns {Conversation}
 */
export function fromThread({ messages, state, pending, running, failures = {} }) {
  let conversation = withMessages({ ...emptyConversation(), state: state ?? {}, failures }, messages ?? []);
  const interrupts = pending ?? [];
  conversation = running ? { ...conversation, status: "running" } : settle(conversation, "stopped");
  if (interrupts.length) return wait(conversation, interrupts);
  const error = failures[promptOf(conversation)];
  return error && !running ? { ...conversation, error, status: "failed" } : conversation;
}

/**
 * Show the user's turn, or an answer to questions, before the server has confirmed it.
 * @param {Conversation} conversation
 * @param {{ runId: string, messages: Message[], resume?: any[] }} input
 * @returns {Conversation}
 */
export function beginRun(conversation, { runId, messages, resume }) {
  // A message of the user that is there already is answered anew, from there.
  const again = conversation.messages.findIndex(({ id, role }) => role === "user" && id === messages[0]?.id);
  const kept = again < 0 ? conversation.messages : conversation.messages.slice(0, again);
  const known = new Set(kept.map((message) => message.id));
  const added = messages.filter((message) => !known.has(message.id));
  const calls = { ...conversation.calls };
  for (const { id, toolCallId } of conversation.interrupts) {
    const { editedArgs } = resume?.find((one) => one.interruptId === id)?.payload ?? {};
    if (calls[toolCallId]) calls[toolCallId] = { status: "running", ...(editedArgs && { edited: { json: JSON.stringify(editedArgs) } }) };
  }
  return {
    ...conversation, calls, runId, status: "running", ...settled(conversation, messages[0]?.id), interrupts: [], begun: {},
    messages: [...kept, ...added],
  };
}

/** The id of the user's last message. @param {Conversation} conversation */
function promptOf({ messages }) {
  return messages.findLast(({ role }) => role === "user")?.id ?? "";
}

/** What failed stays with its turn, unless that is tried again. @param {Conversation} conversation @param {string} [again] */
function settled(conversation, again) {
  const { error, failures } = conversation;
  const { [again ?? ""]: _, ...others } = error?.runId ? { ...failures, [promptOf(conversation)]: error } : failures;
  return { error: null, failures: others };
}

/** The calls of the last turn that have no result, and no question about them either. @param {Conversation} conversation @returns {any[]} */
export function openCalls({ messages, interrupts }) {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const others = new Set([...turn, ...interrupts].map(({ toolCallId }) => toolCallId));
  return turn.flatMap(({ toolCalls }) => toolCalls ?? []).filter(({ id }) => !others.has(id));
}

/** Has the agent called tools so often since the user's last message that it may never end? @param {Conversation} conversation */
export function goesRound({ messages }) {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  return turn.filter(({ toolCalls }) => toolCalls).length > MAX_ROUNDS;
}

/** Is there a call that the page has to do, or asks about? @param {Conversation} conversation */
export function hasPageCalls(conversation) {
  return openCalls(conversation).length > 0 || conversation.interrupts.some(({ isPages }) => isPages);
}

/** The page does these calls itself, or leaves them. @param {Conversation} conversation @param {{ id: string }[]} calls @param {CallStatus} [status] @returns {Conversation} */
export function callTools(conversation, calls, status = "running") {
  return calls.reduce((state, { id }) => (state.calls[id] ? setCall(state, id, status) : state), { ...conversation });
}

/** @param {Conversation} conversation @param {any[]} results tool messages @returns {Conversation} */
export function withResults(conversation, results) {
  return results.reduce((state, { id, ...result }) => finishCall(state, { messageId: id, ...result }), conversation);
}

/**
 * End the run in the page's eyes, for a reason that no event told.
 * @param {Conversation} conversation
 * @param {Failure} error
 * @returns {Conversation}
 */
export function fail(conversation, error) {
  return { ...settle(conversation, "stopped"), status: "failed", error };
}

/** @param {{ type: string }} event */
export function endsRun(event) {
  return event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
}

/** Does the failure say that other questions are open than were answered? @param {Failure | null} error */
export function asksAgain(error) {
  return ["interrupt_pending", "interrupt_unknown", "interrupt_expired", "invalid_resume"].includes(error?.code ?? "");
}

/** Does it ask for an answer, and not only for a yes or no to a tool call? @param {any} interrupt */
export function asksInput({ reason }) {
  return reason === "input_required";
}

/** Past its time an interrupt can only be cancelled. @param {any} interrupt */
export function isExpired({ expiresAt }) {
  return Date.parse(expiresAt) <= Date.now();
}

/** The text of a message whose content is a string or a list of parts. @param {any} content @returns {string} */
export function textOf(content) {
  if (Array.isArray(content)) return content.map((part) => part?.text ?? "").join("");
  return typeof content === "string" ? content : "";
}

/** @type {Partial<typeof import("./chunks.js") & typeof import("./json-patch.js")>} what `reduce` needs for few events */
const loaded = {};

/** Load what `reduce` needs for an event, unless it is there. @param {any} event @returns {Promise<void> | undefined} */
export function loadFor({ type = "" }) {
  if (/_CHUNK$/.test(type) && !loaded.expandChunk) return import("./chunks.js").then((module) => void Object.assign(loaded, module));
  if (/_DELTA$/.test(type) && !loaded.applyPatch) return import("./json-patch.js").then((module) => void Object.assign(loaded, module));
}

/**
 * Apply one event, after `loadFor` it. What is unknown or doesn't fit changes nothing.
 * @param {Conversation} conversation
 * @param {any} event
 * @returns {Conversation}
 */
export function reduce(conversation, event) {
  const { events, open } = loaded.expandChunk?.(conversation.chunks, event) ?? { events: [event], open: conversation.chunks };
  const next = events.reduce((state, one) => reducers[one.type]?.(state, one) ?? state, conversation);
  return next.chunks === open ? next : { ...next, chunks: open };
}

/** @param {any} value @param {any} patch */
function patched(value, patch) {
  if (!loaded.applyPatch) throw new Error("loadFor() has not been called.");
  return loaded.applyPatch(value, patch);
}

/** @type {Record<string, (c: Conversation, event: any) => Conversation>} */
const reducers = {
  // @ts-ignore: without a prototype, "toString" is not an event type
  __proto__: null,

  RUN_STARTED: (c, event) => {
    const known = new Set(c.messages.map((message) => message.id));
    const echoed = clean(event.input?.messages ?? []).filter((message) => !known.has(message.id));
    const messages = echoed.length ? [...c.messages, ...echoed] : c.messages;
    return { ...c, messages, runId: event.runId, status: "running", ...settled(c), interrupts: [], steps: [], usage: [], begun: {} };
  },
  RUN_FINISHED: (c, { outcome, usage = [] }) => {
    const ended = settle({ ...c, usage, steps: [] }, "stopped");
    if (outcome?.type === "interrupt") return wait(ended, outcome.interrupts ?? []);
    return { ...ended, status: outcome?.type === "cancelled" ? "stopped" : "idle" };
  },
  RUN_ERROR: (c, { message, code = "run_error", metadata: { runId = c.runId, resets_at: until, debug } = {} }) =>
    fail({ ...c, steps: [] }, { message, code, runId, ...(until && { until }), ...(debug && { debug }) }),

  STEP_STARTED: (c, { stepName, metadata }) => tellCall({ ...c, steps: [...c.steps, stepName] }, metadata, { step: stepName }),
  // Two agents may be at steps of the same name.
  STEP_FINISHED: (c, { stepName, metadata }) =>
    tellCall({ ...c, steps: c.steps.filter((_, index) => index !== c.steps.lastIndexOf(stepName)) }, metadata, { step: undefined }),
  CUSTOM: (c, { name, value, metadata }) =>
    name === "follow_ups" || name === "files_left_out" ? patchMessage(c, value?.messageId, (message) => withMetadata(message, { metadata: { [name]: value.suggestions ?? value.files } })) :
    Number.isFinite(value?.percent) ? tellCall(c, metadata, { percent: Math.min(Math.max(value.percent, 0), 100) }) : c,

  TEXT_MESSAGE_START: (c, event) => beginMessage(c, event, event.role ?? "assistant"),
  TEXT_MESSAGE_CONTENT: appendText,
  TEXT_MESSAGE_END: endMessage,
  REASONING_MESSAGE_START: (c, event) => beginMessage(c, event, "reasoning"),
  REASONING_MESSAGE_CONTENT: appendText,
  REASONING_MESSAGE_END: endMessage,
  REASONING_ENCRYPTED_VALUE: (c, { subtype, entityId, encryptedValue }) =>
    subtype === "tool-call"
      ? patchCall(c, entityId, (call) => ({ ...call, encryptedValue }))
      : patchMessage(c, entityId, (message) => (message.role === "activity" ? message : { ...message, encryptedValue })),

  TOOL_CALL_START: beginCall,
  TOOL_CALL_ARGS: (c, event) =>
    patchCall(c, event.toolCallId, (call) =>
      withMetadata({ ...call, function: { ...call.function, arguments: call.function.arguments + event.delta } }, event),
    ),
  TOOL_CALL_END: (c, event) => {
    const next = patchCall(c, event.toolCallId, (call) => withMetadata(call, event));
    return c.calls[event.toolCallId]?.status === "streaming" ? setCall(next, event.toolCallId, "running") : next;
  },
  TOOL_CALL_RESULT: finishCall,

  STATE_SNAPSHOT: (c, { snapshot }) => ({ ...c, state: snapshot }),
  STATE_DELTA: (c, { delta }) => attempt(c, () => ({ ...c, state: patched(c.state, delta) })),
  MESSAGES_SNAPSHOT: mergeSnapshot,
  ACTIVITY_SNAPSHOT: showActivity,
  ACTIVITY_DELTA: (c, event) =>
    patchMessage(c, event.messageId, (message) => {
      if (message.role !== "activity") return message;
      const { activityType, patch } = event;
      const told = withMetadata(message, event);
      return attempt(told, () => ({ ...told, activityType, content: patched(told.content, patch) }));
    }),
};

// --- Messages

/** @param {Conversation} c @param {any} event @param {string} role */
function beginMessage(c, event, role) {
  const { messageId: id, name, subagentRunId } = event;
  const replayed = !c.begun[id];
  const next = { ...c, begun: { ...c.begun, [id]: true } };
  const index = indexOf(c, id);
  if (index < 0) {
    const message = { id, role, content: "", ...(name && { name }), ...(subagentRunId && { subagentRunId }) };
    return { ...next, messages: [...c.messages, withMetadata(message, event)] };
  }
  if (c.messages[index].role === "activity") return c;
  return patchMessage(next, id, (message) => withMetadata(replayed ? { ...message, content: "" } : message, event));
}

/** @param {Conversation} c @param {any} event */
function appendText(c, event) {
  return patchMessage(c, event.messageId, (message) =>
    message.role === "activity" ? message : withMetadata({ ...message, content: (typeof message.content === "string" ? message.content : "") + event.delta }, event),
  );
}

/** @param {Conversation} c @param {any} event */
function endMessage(c, event) {
  return patchMessage(c, event.messageId, (message) => (message.role === "activity" ? message : withMetadata(message, event)));
}

/** @param {Conversation} c @param {any} event */
function showActivity(c, event) {
  const { messageId: id, activityType, content, replace = true, subagentRunId } = event;
  const activity = { id, role: "activity", activityType, content, ...(subagentRunId && { subagentRunId }) };
  if (indexOf(c, id) < 0) return { ...c, messages: [...c.messages, withMetadata(activity, event)] };
  return patchMessage(c, id, (message) => {
    if (message.role !== "activity") return replace ? withMetadata(activity, event) : message;
    const { metadata } = message; // grows, whatever the content becomes
    return withMetadata(replace ? { ...activity, ...(metadata && { metadata }) } : message, event);
  });
}

/** What the client alone knows survives: activities and reasoning, unless the snapshot has its own. @param {Conversation} c @param {{ messages: any[] }} event */
function mergeSnapshot(c, event) {
  const incoming = new Map(clean(event.messages).map((message) => [message.id, message]));
  const kept = ["activity", "reasoning"].filter((role) => ![...incoming.values()].some((one) => one.role === role));
  const messages = c.messages.flatMap((message) => {
    const replacement = incoming.get(message.id);
    incoming.delete(message.id);
    return replacement ?? (kept.includes(message.role) ? message : []);
  });
  const all = [...messages, ...incoming.values()];
  // What begins again now goes on from here.
  const begun = all.flatMap(({ id, toolCalls }) => [id, ...(toolCalls ?? []).map((call) => call.id)]);
  return withMessages({ ...c, begun: { ...c.begun, ...Object.fromEntries(begun.map((id) => [id, true])) } }, all);
}

/** Set the messages and learn from them how each tool call ended. @param {Conversation} c @param {any[]} raw @returns {Conversation} */
function withMessages(c, raw) {
  const messages = clean(raw);
  /** @type {Record<string, Call>} */
  const calls = {};
  for (const { id } of messages.flatMap((message) => message.toolCalls ?? [])) calls[id] = c.calls[id] ?? { status: "running" };
  for (const message of messages) {
    if (message.role !== "tool") continue;
    calls[message.toolCallId] = { status: outcomeOf(message), result: message.content, ...aboutCall(message) };
  }
  return { ...c, messages, calls };
}

/** Skip what can't be shown instead of showing nothing at all. @param {any[]} messages @returns {Message[]} */
function clean(messages) {
  return messages
    .filter((message) => message?.id && message.role)
    .map((message) => {
      if (!("toolCalls" in message)) return message;
      const { toolCalls, ...rest } = message;
      const calls = (toolCalls ?? []).filter((call) => call?.id && call.function?.name);
      return calls.length ? { ...rest, toolCalls: calls.map(withTextArguments) } : rest;
    });
}

/** @param {any} call */
function withTextArguments(call) {
  const value = call.function.arguments;
  if (typeof value === "string") return call;
  return { ...call, function: { ...call.function, arguments: value == null ? "" : JSON.stringify(value) } };
}

// --- Tool calls

/** @param {Conversation} c @param {any} event */
function beginCall(c, event) {
  const { toolCallId: id, toolCallName: name, parentMessageId, subagentRunId } = event;
  const next = setCall({ ...c, begun: { ...c.begun, [id]: true } }, id, "streaming", undefined, event.timestamp && { startedAt: event.timestamp });
  if (c.messages.some((message) => message.toolCalls?.some((call) => call.id === id))) {
    const restart = c.begun[id] ? {} : { arguments: "" };
    return patchCall(next, id, (call) => withMetadata({ ...call, function: { ...call.function, ...restart, name } }, event));
  }
  const call = withMetadata({ id, type: "function", function: { name, arguments: "" } }, event);
  const parent = c.messages.find((message) => message.id === parentMessageId);
  if (parent?.role === "assistant") {
    return patchMessage(next, parent.id, (message) => ({ ...message, toolCalls: [...(message.toolCalls ?? []), call] }));
  }
  const messageId = parent ? id : (parentMessageId ?? id);
  const message = { id: messageId, role: "assistant", toolCalls: [call], ...(subagentRunId && { subagentRunId }) };
  return { ...next, messages: [...c.messages, message] };
}

/** @param {Conversation} c @param {any} event */
function finishCall(c, event) {
  const { messageId: id, toolCallId, content, role = "tool", subagentRunId } = event;
  const { error } = event; // only of what the page itself has done
  const message = withMetadata({ id, toolCallId, role, content, ...(subagentRunId && { subagentRunId }), ...(error && { error }) }, event);
  const messages = c.messages.filter((one) => one.id !== id);
  const owner = messages.findIndex((one) => one.toolCalls?.some((call) => call.id === toolCallId));
  let at = owner < 0 ? messages.length : owner + 1;
  while (messages[at]?.role === "tool") at += 1;
  messages.splice(at, 0, message);
  return setCall({ ...c, messages }, toolCallId, outcomeOf(message), content, aboutCall(message));
}

/** What a result says of its call: how long it took, and what the user had changed. @param {Message} message */
function aboutCall({ metadata = {} }) {
  const { duration_ms, editedArguments: json, editedBy: by } = metadata ?? {};
  return { ...(duration_ms !== undefined && { duration_ms }), ...(typeof json === "string" && { edited: { json, by } }) };
}

/** @param {Message} message @returns {CallStatus} */
function outcomeOf({ metadata, error }) {
  const outcome = metadata?.outcome;
  if (outcome === "denied") return "denied";
  return outcome === "failed" || error ? "failed" : "success";
}

/** No tool call stays "running" after its run. @param {Conversation} c @param {CallStatus} status */
export function settle(c, status) {
  const open = Object.keys(c.calls).filter((id) => ["streaming", "running", "waiting"].includes(c.calls[id].status));
  return open.reduce((state, id) => setCall(state, id, status), c);
}

/** @param {Conversation} c @param {any[]} interrupts @returns {Conversation} */
export function wait(c, interrupts) {
  const ids = interrupts.map((interrupt) => interrupt.toolCallId).filter((id) => c.calls[id]);
  const waiting = ids.reduce((state, id) => setCall(state, id, "waiting"), c);
  return { ...waiting, interrupts, status: interrupts.length ? "waiting" : "idle" };
}

// --- Small pieces

/** @param {Conversation} c @param {string} id */
function indexOf(c, id) {
  return c.messages.findLastIndex((message) => message.id === id);
}

/** @param {Conversation} c @param {string} id @param {(message: Message) => Message} change @returns {Conversation} */
function patchMessage(c, id, change) {
  const index = indexOf(c, id);
  if (index < 0) return c;
  const messages = [...c.messages];
  messages[index] = change(messages[index]);
  return { ...c, messages };
}

/** @param {Conversation} c @param {string} id @param {(call: any) => any} change */
function patchCall(c, id, change) {
  const owner = c.messages.findLast((message) => message.toolCalls?.some((call) => call.id === id));
  if (!owner) return c;
  return patchMessage(c, owner.id, (message) => ({
    ...message,
    toolCalls: message.toolCalls.map((call) => (call.id === id ? change(call) : call)),
  }));
}

/** @param {Conversation} c @param {string} id @param {CallStatus} status @param {any} [result] @param {any} [times] @returns {Conversation} */
function setCall(c, id, status, result, times) {
  const { startedAt, duration_ms } = c.calls[id] ?? {};
  const known = { ...(startedAt && { startedAt }), ...(duration_ms && { duration_ms }), ...times };
  return { ...c, calls: { ...c.calls, [id]: { status, ...(result !== undefined && { result }), ...known } } };
}

/** What a running call says of itself. @param {Conversation} c @param {any} metadata @param {{ step?: string, percent?: number }} told @returns {Conversation} */
function tellCall(c, metadata, told) {
  const id = metadata?.toolCallId;
  if (!Object.hasOwn(c.calls, String(id)) || c.calls[id].result !== undefined) return c;
  return { ...c, calls: { ...c.calls, [id]: { ...c.calls[id], ...told } } };
}

/** @param {any} target @param {any} event */
function withMetadata(target, { metadata }) {
  return metadata ? { ...target, metadata: { ...target.metadata, ...metadata } } : target;
}

/** A patch that doesn't fit is lost, never what it was for. @template T @param {T} c @param {() => T} change @returns {T} */
function attempt(c, change) {
  try {
    return change();
  } catch (error) {
    console.warn("agui-chat:", error);
    return c;
  }
}
