// @ts-check
/** The messages of a conversation: begun, grown, and as the server has stored them. */
import { callsOf } from "./calls.js";
import { indexOf, patchMessage, withMetadata } from "./patches.js";

/** @typedef {import("../types.d.ts").Conversation} Conversation */
/** @typedef {import("../types.d.ts").Message} Message */
/** @typedef {import("../types.d.ts").ToolCall} ToolCall */
/** @typedef {import("../types.d.ts").Events} Events */

/**
 * Return the text of a message. Its content is a string or a list of parts.
 * @param {unknown} content @returns {string}
 */
export function textOf(content) {
  if (Array.isArray(content)) return content.map((part) => part?.text ?? "").join("");
  return typeof content === "string" ? content : "";
}

/**
 * Whether the user has begun a run with a message. Others were read by a run that was on.
 * @param {Message} message
 */
export function isPrompt({ role, metadata }) {
  return role === "user" && !metadata?.read_in_run;
}

/**
 * A message of the user, and all that answers it.
 * @typedef {{ prompt: Message | null, parts: Message[] }} Turn
 */

/** @param {Message[]} messages @returns {Turn[]} */
export function turnsOf(messages) {
  /** @type {Turn[]} */
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ prompt: message, parts: [] });
    else if (turns.length) turns[turns.length - 1].parts.push(message);
    else turns.push({ prompt: null, parts: [message] });
  }
  return turns;
}

/**
 * @param {Conversation} c @param {Events["TEXT_MESSAGE_START"]} event @param {string} role
 * @returns {Conversation}
 */
export function beginMessage(c, event, role) {
  const { messageId: id, name, subagentRunId } = event;
  const isReplayed = !c.begun[id];
  /** @type {Conversation} */
  const next = { ...c, begun: { ...c.begun, [id]: true } };
  const index = indexOf(c, id);
  if (index < 0) {
    const message = {
      id,
      role,
      content: "",
      ...(name && { name }),
      ...(subagentRunId && { subagentRunId }),
    };
    return { ...next, messages: [...c.messages, withMetadata(message, event)] };
  }
  if (c.messages[index].role === "activity") return c;
  return patchMessage(next, id, (message) => {
    return withMetadata(isReplayed ? { ...message, content: "" } : message, event);
  });
}

/** @param {Conversation} c @param {import("../types.d.ts").TextEvent} event */
export function appendText(c, event) {
  return patchMessage(c, event.messageId, (message) => {
    if (message.role === "activity") return message;
    const { content } = message;
    const before = typeof content === "string" ? content : "";
    return withMetadata({ ...message, content: before + event.delta }, event);
  });
}

/** @param {Conversation} c @param {Events["TEXT_MESSAGE_END"]} event */
export function endMessage(c, event) {
  return patchMessage(c, event.messageId, (message) => {
    return message.role === "activity" ? message : withMetadata(message, event);
  });
}

/**
 * Set the messages and learn from them how each tool call ended.
 * @param {Conversation} c @param {Message[]} raw @returns {Conversation}
 */
export function withMessages(c, raw) {
  const messages = clean(raw);
  return { ...c, messages, calls: callsOf(messages, c.calls) };
}

/**
 * Skip messages that can't be shown, so that the others are.
 * @param {Message[]} messages @returns {Message[]}
 */
export function clean(messages) {
  return messages
    .filter((message) => message?.id && message.role)
    .map((message) => {
      if (!("toolCalls" in message)) return message;
      const { toolCalls, ...rest } = message;
      const calls = (toolCalls ?? []).filter((call) => call?.id && call.function?.name);
      return calls.length ? { ...rest, toolCalls: calls.map(withTextArguments) } : rest;
    });
}

/** @param {ToolCall} call @returns {ToolCall} */
function withTextArguments(call) {
  /** @type {unknown} */
  const value = call.function.arguments;
  if (typeof value === "string") return call;
  const text = value == null ? "" : JSON.stringify(value);
  return { ...call, function: { ...call.function, arguments: text } };
}
