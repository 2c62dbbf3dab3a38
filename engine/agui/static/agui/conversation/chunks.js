// @ts-check
/** Turn *_CHUNK events into START, CONTENT and END, so that the reducer knows one form only. */

/** @typedef {import("../types.d.ts").AnyEvent} AnyEvent */
/**
 * @typedef {{ type: string, id: string, owner?: string }} Open a message or call that chunks are
 *   filling; each agent fills one at a time
 */

/**
 * @type {Record<string, { id: "messageId" | "toolCallId", start: string, content: string, end:
 *   string }>}
 */
const CHUNKS = {
  // @ts-ignore: without a prototype, "toString" is not an event type
  __proto__: null,
  TEXT_MESSAGE_CHUNK: kind("messageId", "TEXT_MESSAGE", "CONTENT"),
  REASONING_MESSAGE_CHUNK: kind("messageId", "REASONING_MESSAGE", "CONTENT"),
  TOOL_CALL_CHUNK: kind("toolCallId", "TOOL_CALL", "ARGS"),
};
const END_ALL = ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"];
const END_NONE = [
  "RAW",
  "ACTIVITY_SNAPSHOT",
  "ACTIVITY_DELTA",
  "REASONING_ENCRYPTED_VALUE",
  "SUBAGENT_STARTED",
];

/** @param {"messageId" | "toolCallId"} id @param {string} name @param {string} content */
function kind(id, name, content) {
  return { id, start: `${name}_START`, content: `${name}_${content}`, end: `${name}_END` };
}

/**
 * Find the events that one event stands for, and what chunks are filling after it.
 * @param {Open[]} open
 * @param {AnyEvent} event
 * @returns {{ events: AnyEvent[], open: Open[] }}
 */
export function expandChunk(open, event) {
  const { type, subagentRunId: owner, delta = "", metadata } = event;
  const chunk = CHUNKS[type];
  /** @param {Open} one */
  const ends = (one) =>
    (chunk || !END_NONE.includes(type)) && (one.owner === owner || END_ALL.includes(type));
  const others = open.length ? open.filter((one) => !ends(one)) : open;
  const endings = open.filter(ends).map(endOf);
  if (!chunk) return { events: [...endings, event], open: endings.length ? others : open };
  const named = event[chunk.id];
  const current = findOpen(open.filter((one) => one.type === type), named, owner);
  const id = named ?? current?.id;
  if (!id) return { events: [], open };
  const content = { ...event, type: chunk.content, [chunk.id]: id, delta };
  if (current) return { events: delta || metadata ? [content] : [], open };
  const start = { ...event, type: chunk.start };
  return {
    events: [...endings, start, ...(delta ? [content] : [])],
    open: [...others, { type, id, owner }],
  };
}

/**
 * Find what a chunk continues: by its id, by its agent, or the only open one.
 * @param {Open[]} open @param {string} [id] @param {string} [owner]
 */
function findOpen(open, id, owner) {
  if (id !== undefined) return open.find((one) => one.id === id);
  return (
    open.find((one) => one.owner === owner) ??
    (owner === undefined && open.length === 1 ? open[0] : undefined)
  );
}

/** @param {Open} open */
function endOf({ type, id }) {
  return { type: CHUNKS[type].end, [CHUNKS[type].id]: id };
}
