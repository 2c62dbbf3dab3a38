// @ts-check
/** *_CHUNK events written out as START, CONTENT and END, so that the reducer knows one form only. */

/** @type {Record<string, { id: "messageId" | "toolCallId", start: string, content: string, end: string }>} */
const CHUNKS = {
  // @ts-ignore: without a prototype, "toString" is not an event type
  __proto__: null,
  TEXT_MESSAGE_CHUNK: kind("messageId", "TEXT_MESSAGE", "CONTENT"),
  REASONING_MESSAGE_CHUNK: kind("messageId", "REASONING_MESSAGE", "CONTENT"),
  TOOL_CALL_CHUNK: kind("toolCallId", "TOOL_CALL", "ARGS"),
};

/** @param {"messageId" | "toolCallId"} id @param {string} name @param {string} content */
function kind(id, name, content) {
  return { id, start: `${name}_START`, content: `${name}_${content}`, end: `${name}_END` };
}

/**
 * The events that one event stands for, given the chunk that is open (`{ type, id }` or null).
 * Returns them with the chunk that is open afterwards.
 * @param {{ type: string, id: string } | null} open
 * @param {any} event
 * @returns {{ events: any[], open: { type: string, id: string } | null }}
 */
export function expandChunk(open, event) {
  const chunk = CHUNKS[event.type];
  if (!chunk) return { events: open ? [endOf(open), event] : [event], open: null };
  const id = event[chunk.id] ?? (open?.type === event.type ? open?.id : undefined);
  if (!id) return { events: [], open };
  const events = [];
  if (open?.type !== event.type || open?.id !== id) {
    if (open) events.push(endOf(open));
    events.push({ ...event, type: chunk.start });
  }
  if (event.delta) events.push({ type: chunk.content, [chunk.id]: id, delta: event.delta });
  return { events, open: { type: event.type, id } };
}

/** @param {{ type: string, id: string }} open */
function endOf({ type, id }) {
  return { type: CHUNKS[type].end, [CHUNKS[type].id]: id };
}
