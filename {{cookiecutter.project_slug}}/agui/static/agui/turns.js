// @ts-check
/** Questions about one turn of a conversation: is it known, which text has it, what went wrong. */
import { textOf } from "./conversation.js";
import { HttpError } from "./client.js";

const CONTEXT_TIMEOUT_MS = 5000;

/**
 * How many versions of the turn's message the thread has: 0 if it is new.
 * @param {{ branches?: Record<string, any[]>, messages?: any[], conversation?: { messages: any[] } }} thread stored, or a session
 * @param {any} input
 */
export function versionsOf({ branches = {}, messages, conversation }, { messages: [message] }) {
  if (!message) return 0;
  const isThere = (messages ?? conversation?.messages ?? []).some(({ id }) => id === message.id);
  return isThere && message.role === "user" ? (branches[message.id]?.length ?? 1) : Number(isThere && messages !== undefined);
}

/** Has the server taken this turn although we never saw its answer? @param {any} thread @param {{ input: any, versions: number }} turn */
export function isKnown(thread, { input, versions }) {
  const { resume } = input;
  if (resume) return !thread.pending?.some((one) => one.id === resume[0].interruptId);
  return versionsOf(thread, input) > versions;
}

/** What the page says of itself now; a run does not fail by it, nor wait for it long. @param {(() => any) | null} getContext @returns {Promise<{ description: string, value: string }[]>} */
export async function readContext(getContext) {
  if (!getContext) return [];
  /** @type {any} */ let timer;
  try {
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("getContext() took too long")), CONTEXT_TIMEOUT_MS)));
    const context = await Promise.race([getContext() ?? [], late]);
    return context.map(({ description, value }) => ({
      description: String(description ?? ""), value: typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
    }));
  } catch (error) {
    console.error("agui-chat:", error);
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/** @param {any} conversation @param {any} thread */
export function sameMessages({ messages, interrupts }, thread) {
  const essence = (all) => all.map(({ id, content, toolCallId }) => [id, textOf(content), toolCallId]);
  const ids = (all) => (all ?? []).filter(({ isPages }) => !isPages).map(({ id }) => id);
  return JSON.stringify([essence(messages), ids(interrupts)]) === JSON.stringify([essence(thread.messages), ids(thread.pending)]);
}

/** Another text in the place of a content's. @param {any} content @param {string} text */
export function withText(content, text) {
  if (!Array.isArray(content)) return text;
  return [{ type: "text", text }, ...content.filter((part) => part?.type !== "text")];
}

/** @param {any} error @returns {import("./conversation.js").Failure} */
export function failure(error) {
  if (error instanceof HttpError) return { code: error.code, message: error.message, until: error.until };
  if (!(error instanceof TypeError) && error?.name !== "Error") console.error("agui-chat:", error);
  return { code: "connection_lost" };
}

/** A random UUID, also where the page isn't served securely and `randomUUID` is missing. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
