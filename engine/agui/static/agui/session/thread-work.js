// @ts-check
/**
 * All work on the open thread: what the server has stored of it, the exchange about it, the user's
 * messages on their way, and their answers to its questions.
 */
import { Answers } from "./answers.js";
import { Exchange } from "./exchange.js";
import { Outbox } from "./outbox.js";
import { PageCalls } from "./page-calls.js";
import { StoredThread } from "./stored-thread.js";

/**
 * What a session does for it.
 * @typedef {Pick<import("./exchange-state.js").Listener,
 *   "changed" | "started" | "received" | "returned" | "ended" | "delivered" | "refused" | "gone" |
 *   "getContext" | "getForwardedProps" | "draws"> & {
 *   save: (work: ThreadWork) => void, refresh: () => Promise<unknown>,
 *   open: (threadId: string) => Promise<unknown>,
 *   later: () => import("../types.d.ts").Later | null,
 * }} Owner
 */

export class ThreadWork {
  thread;
  exchange;
  outbox;
  answers = new Answers();

  /**
   * @param {import("../http/client.js").AgentClient} client @param {string | null} threadId
   * @param {Map<string, import("../agui-chat.d.ts").PageTool>} tools of the page
   * @param {Owner} owner
   */
  constructor(client, threadId, tools, owner) {
    const save = () => owner.save(this);
    this.thread = new StoredThread(client, threadId);
    this.exchange = new Exchange(client, this.thread, new PageCalls(tools), {
      ...owner,
      save,
      started: (input) => {
        this.answers.clear();
        owner.started(input);
      },
      settled: () => {
        this.answer();
        this.outbox.sendQueued();
      },
      queue: (message) => this.outbox.queue(message),
      hasQueued: () => this.outbox.queued !== null,
    });
    this.outbox = new Outbox(this.exchange, this.thread, {
      ...owner,
      save,
      deny: (reason, prompts) => {
        this.answers.deny(this.state.conversation.interrupts, reason);
        this.exchange.answer(this.answers, prompts);
      },
    });
  }

  get state() {
    return this.exchange.state;
  }

  /** The work that this tab has to finish, in case the user closes or reloads it. */
  get unfinished() {
    const { unfinished } = this.state;
    const { queued } = this.outbox;
    return unfinished || queued ? { ...unfinished, queued } : null;
  }

  /** Send all answers when every open question has one and the page's own tools are done. */
  answer() {
    const { phase, conversation } = this.state;
    if (conversation.status !== "waiting" || phase === "calling") return;
    if (this.answers.areComplete(conversation.interrupts)) this.exchange.answer(this.answers);
  }

  /** Leave the thread to other tabs; its run continues on the server. */
  leave() {
    this.outbox.returnQueued();
    this.exchange.leave();
    this.answers.stopWatching();
  }

  /** Leave the thread; the message that was just being sent. */
  abandon() {
    const { turn, isUndelivered } = this.state;
    this.outbox.queued = null;
    this.leave();
    const message = isUndelivered ? turn?.input.messages[0] : undefined;
    return message?.role === "user" ? message : null;
  }
}
