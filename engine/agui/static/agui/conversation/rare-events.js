// @ts-check
/** Events that few runs have: steps, activities, patches. Loaded with the first one. */
import { applyPatch } from "../json/patch.js";
import { clean, withMessages } from "./messages.js";
import { indexOf, patchCall, patchMessage, withMetadata } from "./patches.js";

/** @typedef {import("../types.d.ts").Call} Call */
/** @typedef {import("../types.d.ts").Conversation} Conversation */
/** @typedef {import("../types.d.ts").Message} Message */

/** @type {Partial<import("../types.d.ts").Reducers>} */
const reducers = {
  // @ts-ignore: without a prototype, "toString" is not an event type
  __proto__: null,

  STEP_STARTED: (c, { stepName, metadata }) =>
    tellCall({ ...c, steps: [...c.steps, stepName] }, metadata, { step: stepName }),
  STEP_FINISHED: (c, { stepName, metadata }) => {
    const last = c.steps.lastIndexOf(stepName); // Two agents may be at steps of the same name
    const steps = c.steps.filter((_, index) => index !== last);
    return tellCall({ ...c, steps }, metadata, { step: undefined });
  },
  CUSTOM: (c, { name, value, metadata }) => {
    /** @type {{ messageId: string, percent?: number, message?: Message, after?: unknown }} */
    const { messageId, ...addition } = Object(value);
    // The model reads what the user has sent meanwhile: its place in the thread is here.
    if (addition.message?.role === "user" && "after" in addition) {
      const isThere = indexOf(c, addition.message.id) >= 0;
      return isThere ? c : { ...c, messages: [...c.messages, ...clean([addition.message])] };
    }
    // An addition to a complete answer has its name, and one value beside the answer's id.
    const [[key, added] = [], ...more] = Object.entries(addition);
    if (messageId && key && key !== "percent" && !more.length) {
      const told = { metadata: { [name]: added } };
      return patchMessage(c, messageId, (message) => withMetadata(message, told));
    }
    const { percent = NaN } = addition;
    if (!Number.isFinite(percent)) return c;
    return tellCall(c, metadata, { percent: Math.min(Math.max(percent, 0), 100) });
  },

  REASONING_ENCRYPTED_VALUE: (c, { subtype, entityId, encryptedValue }) => {
    if (subtype === "tool-call")
      return patchCall(c, entityId, (call) => ({ ...call, encryptedValue }));
    return patchMessage(c, entityId, (message) => {
      return message.role === "activity" ? message : { ...message, encryptedValue };
    });
  },

  STATE_DELTA: (c, { delta }) => attempt(c, () => ({ ...c, state: applyPatch(c.state, delta) })),
  MESSAGES_SNAPSHOT: mergeSnapshot,
  ACTIVITY_SNAPSHOT: putActivity,
  ACTIVITY_DELTA: (c, event) =>
    patchMessage(c, event.messageId, (message) => {
      if (message.role !== "activity") return message;
      const { activityType, patch } = event;
      const told = withMetadata(message, event);
      return attempt(told, () => ({
        ...told,
        activityType,
        content: applyPatch(told.content, patch),
      }));
    }),
};

/** By type. @type {import("../types.d.ts").ReducerTable} */
export const RARE_EVENTS = reducers;

/**
 * @param {Conversation} c @param {import("../types.d.ts").ActivityEvent} event
 * @returns {Conversation}
 */
function putActivity(c, event) {
  const { messageId: id, activityType, content, replace = true, subagentRunId } = event;
  const activity = {
    id,
    role: "activity",
    activityType,
    content,
    ...(subagentRunId && { subagentRunId }),
  };
  if (indexOf(c, id) < 0) return { ...c, messages: [...c.messages, withMetadata(activity, event)] };
  return patchMessage(c, id, (message) => {
    if (message.role !== "activity") return replace ? withMetadata(activity, event) : message;
    const { metadata } = message; // grows, whatever the content becomes
    return withMetadata(replace ? { ...activity, ...(metadata && { metadata }) } : message, event);
  });
}

/**
 * Keep what only the client knows: activities and reasoning, unless the snapshot has its own.
 * @param {Conversation} c @param {{ messages: Message[] }} event
 */
function mergeSnapshot(c, event) {
  const incoming = new Map(clean(event.messages).map((message) => [message.id, message]));
  const sent = new Set([...incoming.values()].map(({ role }) => role));
  const kept = ["activity", "reasoning"].filter((role) => !sent.has(role));
  const messages = c.messages.flatMap((message) => {
    const replacement = incoming.get(message.id);
    incoming.delete(message.id);
    return replacement ?? (kept.includes(message.role) ? message : []);
  });
  const all = [...messages, ...incoming.values()];
  // A message that begins again continues from this text.
  const ids = all.flatMap(({ id, toolCalls }) => [id, ...(toolCalls ?? []).map((call) => call.id)]);
  const begun = Object.fromEntries(ids.map((id) => [id, /** @type {const} */ (true)]));
  return withMessages({ ...c, begun: { ...c.begun, ...begun } }, all);
}

/**
 * Add what a running call reports.
 * @param {Conversation} c @param {{ toolCallId?: string } | undefined} metadata
 * @param {Partial<Call>} told @returns {Conversation}
 */
function tellCall(c, metadata, told) {
  const id = String(metadata?.toolCallId);
  if (!Object.hasOwn(c.calls, id) || c.calls[id].result !== undefined) return c;
  return { ...c, calls: { ...c.calls, [id]: { ...c.calls[id], ...told } } };
}

/**
 * Drop a patch that doesn't fit, and keep the value that it was for.
 * @template T @param {T} c @param {() => T} change @returns {T}
 */
function attempt(c, change) {
  try {
    return change();
  } catch (error) {
    console.warn("agui-chat:", error);
    return c;
  }
}
