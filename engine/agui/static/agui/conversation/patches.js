// @ts-check
/** Change one message or call of a conversation. Everything else stays identical. */

/** @typedef {import("../types.d.ts").Conversation} Conversation */
/** @typedef {import("../types.d.ts").Message} Message */
/** @typedef {import("../types.d.ts").ToolCall} ToolCall */
/** @typedef {import("../types.d.ts").Metadata} Metadata */

/** @param {Conversation} c @param {string} id */
export function indexOf(c, id) {
  return c.messages.findLastIndex((message) => message.id === id);
}

/**
 * @param {Conversation} c @param {string} id @param {(message: Message) => Message} change
 * @returns {Conversation}
 */
export function patchMessage(c, id, change) {
  const index = indexOf(c, id);
  if (index < 0) return c;
  const messages = [...c.messages];
  messages[index] = change(messages[index]);
  return { ...c, messages };
}

/** @param {Conversation} c @param {string} id @param {(call: ToolCall) => ToolCall} change */
export function patchCall(c, id, change) {
  const owner = c.messages.findLast((message) => message.toolCalls?.some((call) => call.id === id));
  if (!owner) return c;
  return patchMessage(c, owner.id, (message) => ({
    ...message,
    toolCalls: message.toolCalls?.map((call) => (call.id === id ? change(call) : call)),
  }));
}

/**
 * @template {object} T
 * @param {T & { metadata?: Metadata }} target @param {{ metadata?: Metadata }} event
 * @returns {T & { metadata?: Metadata }}
 */
export function withMetadata(target, { metadata }) {
  return metadata ? { ...target, metadata: { ...target.metadata, ...metadata } } : target;
}
