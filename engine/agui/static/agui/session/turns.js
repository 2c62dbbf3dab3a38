// @ts-check
/** Functions about one turn: whether the server has it, its text, its context. */
import { textOf } from "../conversation/messages.js";
import { HttpError } from "../http/client.js";

/** @typedef {import("../types.d.ts").Thread} Thread */

const CONTEXT_TIMEOUT_MS = 5000;

/**
 * How many versions of the turn's message the thread has: 0 if it is new.
 * @param {{ branches?: Record<string, unknown[]>, messages?: import("../types.d.ts").Message[],
 *   conversation?: { messages: import("../types.d.ts").Message[] }
 *   }} thread stored, or a session
 * @param {import("../types.d.ts").RunInput} input
 */
export function versionsOf({ branches = {}, messages, conversation }, { messages: [message] }) {
  if (!message) return 0;
  const isThere = (messages ?? conversation?.messages ?? []).some(({ id }) => id === message.id);
  return isThere && message.role === "user"
    ? (branches[message.id]?.length ?? 1)
    : Number(isThere && messages !== undefined);
}

/**
 * Whether the server has this turn, although its answer to the request was lost.
 * @param {Thread} thread
 * @param {{ input: import("../types.d.ts").RunInput, versions: number }} turn
 */
export function isKnown(thread, { input, versions }) {
  const { resume } = input;
  // A message beside the answers is stored together with them.
  if (resume && input.messages[0]?.role !== "user")
    return !thread.pending?.some(({ id }) => id === resume[0].interruptId);
  return versionsOf(thread, input) > versions;
}

/**
 * Read the page's context. No run fails or waits for long because of it.
 * @param {(() => unknown) | null} getContext
 * @returns {Promise<{ description: string, value: string }[]>}
 */
export async function readContext(getContext) {
  if (!getContext) return [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  try {
    const late = new Promise((_, reject) => {
      const giveUp = () => reject(new Error("getContext() took too long"));
      timer = setTimeout(giveUp, CONTEXT_TIMEOUT_MS);
    });
    /** @type {{ description: unknown, value: unknown }[]} */
    const context = await Promise.race([getContext() ?? [], late]);
    return context.map(({ description, value }) => ({
      description: String(description ?? ""),
      value: typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
    }));
  } catch (error) {
    console.error("agui-chat:", error);
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Whether the page shows what the server has stored.
 * @param {import("../types.d.ts").Conversation} conversation @param {Thread} thread
 */
export function sameMessages({ messages, interrupts }, thread) {
  return essence(messages, interrupts) === essence(thread.messages ?? [], thread.pending ?? []);
}

/**
 * @param {import("../types.d.ts").Message[]} messages
 * @param {import("../types.d.ts").Interrupt[]} interrupts
 */
function essence(messages, interrupts) {
  const ids = interrupts.filter(({ isPages }) => !isPages).map(({ id }) => id);
  const texts = messages.map(({ id, content, toolCallId }) => [id, textOf(content), toolCallId]);
  return JSON.stringify([texts, ids]);
}

/** Replace the text of a content. @param {unknown} content @param {string} text */
export function withText(content, text) {
  if (!Array.isArray(content)) return text;
  return [{ type: "text", text }, ...content.filter((part) => part?.type !== "text")];
}

/** @param {unknown} error @returns {import("../types.d.ts").Failure} */
export function failure(error) {
  if (error instanceof HttpError)
    return { code: error.code, message: error.message, until: error.until };
  if (
    !(error instanceof TypeError) &&
    /** @type {Error | null} */ (error)?.name !== "Error"
  )
    console.error("agui-chat:", error);
  return { code: "connection_lost" };
}

/** Make a random UUID, even if `randomUUID` is missing because the page isn't served securely. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
