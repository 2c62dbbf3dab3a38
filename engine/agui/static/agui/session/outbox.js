// @ts-check
/**
 * The user's messages in one thread on their way to the server: send them, queue them during a run,
 * edit them, and try them again.
 */
import { hasPageCalls } from "../conversation/calls.js";
import { uuid, withText } from "./turns.js";

/** @typedef {import("../types.d.ts").Attachment} Attachment */
/** @typedef {import("../types.d.ts").Returned} Returned */
/**
 * @typedef {{ id: string, text: string, attachments: Attachment[], stops?: boolean }} Queued
 *   `stops` if it is sent after a stop, too
 */
/**
 * @typedef {{
 *   save: () => void, changed: () => void, returned: (message: Returned) => void,
 *   refresh: () => Promise<unknown>, open: (threadId: string) => Promise<unknown>,
 *   deny: (reason: string, prompts: import("../types.d.ts").Message[]) => void,
 *   later: () => import("../types.d.ts").Later | null,
 * }} Page `deny` answers all open questions, and sends the prompts beside that; `later` keeps
 *   messages during a run instead of this tab
 */

export class Outbox {
  /** @type {Queued | null} the message that is sent after a successful run */
  queued = null;
  #exchange;
  #thread;
  #page;

  /**
   * @param {import("./exchange.js").Exchange} exchange
   * @param {import("./stored-thread.js").StoredThread} thread
   * @param {Page} page
   */
  constructor(exchange, thread, page) {
    this.#exchange = exchange;
    this.#thread = thread;
    this.#page = page;
  }

  get #state() {
    return this.#exchange.state;
  }

  /**
   * Send the user's text as a new turn, or queue it during a run; false if that isn't possible now.
   * If questions are open, the text is the reason to deny them, and a turn after that.
   * @param {string} text
   * @param {Attachment[]} [attachments] files that the server has
   * @param {string} [queuedId] the id of a queued message: a copy of this tab may have
   *   sent it already
   */
  send(text, attachments = [], queuedId) {
    const { busy, phase, conversation, isUndelivered, turn } = this.#state;
    // The server rejects a message without any text.
    const content = text.trim() || attachments.map(({ name }) => name).join(", ");
    const asks = conversation.status === "waiting";
    if (!content || phase === "loading" || (busy && asks)) return false;
    // A message that found no network goes first.
    const isNew = isUndelivered && !turn?.versions;
    const isLost = !asks && isNew && conversation.error?.code === "connection_lost";
    const waits = busy || isLost;
    if (waits && this.queued) return false;
    const id = queuedId ?? uuid();
    if (waits) {
      this.queue({ id, text, attachments });
      if (!busy) this.retry();
      return true;
    }
    const metadata = attachments.length ? { metadata: { attachments } } : {};
    const messages = [{ id, role: "user", content, ...metadata }];
    if (asks) {
      // First the server has to learn what has become of the page's own calls.
      const isLater = hasPageCalls(conversation);
      if (isLater) this.queue({ id, text, attachments });
      this.#page.deny(content, isLater ? [] : messages);
      return true;
    }
    this.#state.dropUndelivered();
    this.#thread.id ??= uuid();
    const input = this.#state.input({ messages });
    const before = this.#state.conversation;
    this.#exchange.run(input, queuedId ? { input, versions: 0, before } : undefined);
    return true;
  }

  /** @param {Queued | null} message */
  queue(message) {
    if (message && this.#state.busy && this.#page.later()?.take(message)) return;
    this.queued = message;
    this.#page.save();
    this.#page.changed();
  }

  /** Take back the queued message. */
  unqueue() {
    const { queued } = this;
    if (queued) this.queue(null);
    return queued;
  }

  /** After a failure, keep the queued message; after a stop, give it back to the user. */
  sendQueued() {
    const { status } = this.#state.conversation;
    const isStopped = status === "stopped";
    if (isStopped && !this.queued?.stops) this.returnQueued();
    if (!this.queued || !(isStopped || status === "idle")) return;
    const { id, text, attachments } = this.queued;
    this.queue(null);
    this.send(text, attachments, id);
  }

  returnQueued() {
    const queued = this.unqueue();
    if (!queued) return;
    const { text: content, attachments } = queued;
    this.#page.returned({ content, ...(attachments.length && { metadata: { attachments } }) });
  }

  /**
   * Let the agent answer a message of the user again.
   * @param {string} promptId @param {(content: unknown) => unknown} change
   */
  #again(promptId, change) {
    const { busy, phase, conversation } = this.#state;
    const message = conversation.messages.find(
      ({ id, role }) => id === promptId && role === "user",
    );
    if (!message || busy || phase === "loading" || conversation.status === "waiting") return false;
    this.#state.dropUndelivered();
    const content = change(message.content);
    this.#exchange.run(this.#state.input({ messages: [{ ...message, content }] }));
    return true;
  }

  /**
   * Let the agent answer a message of the user again. The old answer stays as a version.
   * @param {string} promptId
   */
  regenerate(promptId) {
    return this.#again(promptId, (content) => content);
  }

  /**
   * Replace the text of a message, and let the agent answer it.
   * @param {string} promptId @param {string} text
   */
  edit(promptId, text) {
    return text.trim() !== "" && this.#again(promptId, (content) => withText(content, text.trim()));
  }

  /** Try the failed turn again, unless the server already has it. */
  async retry() {
    const { busy, turn, isUndelivered, conversation } = this.#state;
    if (busy) return;
    if (turn && isUndelivered) return this.#exchange.run(turn.input, turn);
    const { error, messages } = conversation;
    const isLost = error?.code === "connection_lost";
    const prompt = messages.findLast(({ role }) => role === "user");
    if (!turn && error?.runId) return this.regenerate(prompt?.id ?? "");
    if (isLost && messages.length) return this.#page.refresh();
    // Answers count once. Only the server knows what is open after them.
    const isAnswer = turn?.input.messages[0]?.role !== "user";
    if (!turn || isLost || isAnswer) return this.#thread.id && this.#page.open(this.#thread.id);
    // With the same message, the server answers it again and drops what followed.
    const again = { context: undefined, resume: undefined, runId: uuid() };
    await this.#exchange.run({ ...turn.input, ...again });
  }
}
