// @ts-check
/**
 * What happens between the page and the server: opens threads, starts runs, follows them through
 * lost connections, answers questions. Holds the conversation; knows nothing of the DOM.
 * What users do is here; runs.js brings it to the server, thread.js knows what is there.
 */
import { fail, isExpired, openCalls, settle, callTools } from "./conversation.js";
import { Runs } from "./runs.js";
import { uuid, withText } from "./turns.js";

/** @typedef {import("./thread.js").Attachment} Attachment */
/** @typedef {import("./thread.js").Decision} Decision */
/** @typedef {import("./thread.js").Branch} Branch */
/** @typedef {import("./conversation.js").Conversation} Conversation */

const REFRESH_AFTER_MS = 30_000;

/**
 * Dispatches "change" after every change, "event" (detail: the AG-UI event), "start" and "end" of a run, "returned"
 * (detail: the message) when the server did not take a message, "left" when the open thread is gone, and "signed-out".
 */
export class Session extends Runs {
  // --- Threads

  /** Leave the thread; a run goes on without us. */
  reset() {
    this._leave(null);
    this._changed();
  }

  /** Show a stored thread, follow its run if there is one, and finish what this tab has begun. @param {string} threadId */
  async open(threadId) {
    const signal = this._leave(threadId);
    const { turn = null, queued = null, results = [], begun = [] } = this._takeUp(threadId);
    Object.assign(this, { queued, loading: true });
    this._results = results;
    this._begun = begun;
    this._changed();
    await this._guard(signal, () => (turn ? this._post(turn, signal, { again: true }) : this._load(signal)));
  }

  /** Bring the open thread up to date, in its place. @param {{ quietly?: boolean }} [options] */
  async refresh({ quietly = true } = {}) {
    if (!this.threadId || this.busy || this.loading || this._calling || !this._client.hasThreads || this._isUndelivered) return;
    const signal = this._takeOver();
    await this._guard(signal, async () => (quietly && (await this._isFresh())) || this._load(signal, { inPlace: true }), { quietly });
  }

  /** Show another version of a message, with all that followed it. @param {string} branchId */
  async switchBranch(branchId) {
    if (this.busy || this.loading) return;
    const signal = this._takeOver();
    await this._guard(signal, async () => {
      this._show(await this._client.switchBranch(this.threadId, branchId, signal));
      this._tell("changed");
    });
  }

  /** Change what page and agent share; the next run tells the agent. @param {any} state */
  setState(state) {
    const { conversation } = this;
    /** @type {Conversation} */
    this.conversation = { ...conversation, state };
    this._changed();
  }

  // --- What the user does

  /**
   * Send the user's text as a new turn, or queue it while a run is on; false when that isn't possible now.
   * @param {string} text
   * @param {Attachment[]} [attachments] files that the server has
   * @param {string} [queuedId] of a message that was queued: a copy of this tab may have sent it by now
   */
  send(text, attachments = [], queuedId) {
    const content = text.trim() || attachments.map(({ name }) => name).join(", "); // a message without any text would be none
    if (!content || this.loading || this.conversation.status === "waiting" || (this.busy && this.queued)) return false;
    if (this.busy) {
      this._queue({ id: uuid(), text, attachments });
      return true;
    }
    this._dropUndelivered();
    this.threadId ??= uuid();
    const message = { id: queuedId ?? uuid(), role: "user", content, ...(attachments.length && { metadata: { attachments } }) };
    const input = this._input({ messages: [message] });
    this._run(input, queuedId ? { turn: { input, versions: 0, before: this.conversation } } : {});
    return true;
  }

  /** Take back what is queued. */
  unqueue() {
    const { queued } = this;
    if (queued) this._queue(null);
    return queued;
  }

  /** Have a message of the user answered anew; what followed it stays as a version. @param {string} promptId */
  regenerate(promptId) {
    return this._again(promptId, (content) => content);
  }

  /** Put another text in the place of a message's, and have that answered. @param {string} promptId @param {string} text */
  edit(promptId, text) {
    return text.trim() !== "" && this._again(promptId, (content) => withText(content, text.trim()));
  }

  /**
   * Answer one question, or take an answer back; when the last one is answered, all answers go in one request.
   * @param {string} interruptId
   * @param {Decision | null} decision
   */
  decide(interruptId, decision) {
    if (decision) this.decisions.set(interruptId, decision);
    else if (!this.decisions.delete(interruptId)) return;
    this._changed();
    this._resume();
  }

  /** What is decided and still counts: a question that has expired can only be put away. @param {any} interrupt */
  decisionOn(interrupt) {
    const decision = this.decisions.get(interrupt.id);
    return decision?.status === "resolved" && isExpired(interrupt) ? undefined : decision;
  }

  /** Stop the run on the server; its stream then tells how it ended. */
  async stop() {
    const { busy, stopping } = this;
    if (!busy || stopping) return;
    if (this._calling) {
      this._abort.abort(); // The agent waits for the page, and nothing runs
      return this._end(settle({ ...this.conversation, status: "stopped" }, "stopped"));
    }
    this.stopping = true;
    this._changed();
    // Before its first event the run may not exist on the server: then it is stopped with that event.
    if (this._reached) await this._cancel();
  }

  /** Try again what failed: never a second time what the server has already taken. */
  async retry() {
    if (this.busy) return;
    const turn = this._unsent;
    if (turn && !this._reached) return this._run(turn.input, { turn });
    const { error, messages } = this.conversation;
    const isLost = error?.code === "connection_lost";
    if (!turn && error?.runId) return this.regenerate(messages.findLast(({ role }) => role === "user")?.id ?? "");
    if (isLost && this.conversation.messages.length) return this.refresh({ quietly: false });
    // Answers count once: after them only the server knows what is still open.
    if (isLost || turn?.input.messages[0]?.role !== "user") return this.threadId && this.open(this.threadId);
    // The same message again makes the server answer it anew, from there.
    await this._run({ ...turn.input, context: undefined, runId: uuid() });
  }

  /**
   * Keep what the user thinks of an answer: 1, -1, or 0 for nothing; false when that isn't possible.
   * @param {string} messageId @param {number} value @param {string} [comment]
   */
  async judge(messageId, value, comment = "") {
    const { threadId, feedback } = this;
    const show = (given) => threadId === this.threadId && (Object.assign(this, { feedback: { ...this.feedback, [messageId]: given } }), this._changed());
    show({ value, comment });
    try {
      await this._client.judge(threadId, { message_id: messageId, value, comment });
    } catch {
      show(feedback[messageId]);
      return false;
    }
    return true;
  }

  // --- What happens around

  /** The page is back after so long, or the network. @param {{ online: boolean, awayMs: number }} wake */
  wake(wake) {
    if (this._following) return this._following.wake(wake);
    if (wake.online && this.conversation.error?.code === "connection_lost") this.retry();
    else if (wake.awayMs > REFRESH_AFTER_MS) this.refresh();
  }

  /** Another tab says what has happened. @override @param {import("./tabs.js").Message} message */
  hear({ kind, threadId, title = "" }) {
    if (kind === "signed-out") return this.signOut({ told: true });
    if (kind === "here" || threadId !== this.threadId) return;
    if (kind === "removed") {
      this.reset();
      this.dispatchEvent(new CustomEvent("left"));
    } else if (kind === "renamed") {
      this.title = title;
      this._changed();
    } else this.refresh({ quietly: false });
  }

  /** Nobody is signed in any more: nothing of the user stays, but the words that were just being sent. @override @param {{ told?: boolean }} [options] */
  signOut({ told = false } = {}) {
    const [message] = !told && this._isUndelivered ? (this._unsent?.input.messages ?? []) : [];
    this.queued = null;
    this._leave(null);
    this.dispatchEvent(new CustomEvent("signed-out"));
    if (!told) this._tell("signed-out");
    if (message?.role === "user") this.dispatchEvent(new CustomEvent("returned", { detail: { ...message, isSignedOut: true } }));
    this._ran = true;
    this._end(fail(this.conversation, { code: "unauthorized" }));
  }

  /** @param {string} promptId @param {(content: any) => any} change */
  _again(promptId, change) {
    const { messages, status } = this.conversation;
    const message = messages.find(({ id, role }) => id === promptId && role === "user");
    if (!message || this.busy || this.loading || status === "waiting") return false;
    this._dropUndelivered();
    this._run(this._input({ messages: [{ ...message, content: change(message.content) }] }));
    return true;
  }

  // --- What comes next by itself

  /** @override */
  _goOn() {
    this._resume();
    this._sendQueued();
    if (!this.busy) this._frontendTools?.release();
  }

  /** Answer all that is open, once all of it is decided and the page's own tools are done. */
  _resume() {
    const { interrupts, status } = this.conversation;
    if (status !== "waiting" || this._calling || !interrupts.every((one) => this.decisionOn(one))) return;
    const decisions = new Map(interrupts.map((one) => [one.toolCallId, this.decisionOn(one)]));
    const servers = interrupts.filter(({ isPages }) => !isPages);
    const resume = servers.map((one) => ({ interruptId: one.id, ...this.decisionOn(one) }));
    const calls = openCalls({ ...this.conversation, interrupts: servers });
    if (!calls.length) return this._run(this._input({ messages: this._results, resume }));
    const signal = this._takeOver();
    this._own = this._ran = true;
    this.conversation = { ...callTools(this.conversation, interrupts.map(({ toolCallId: id }) => ({ id }))), interrupts: [], status: "running" };
    this._guard(signal, () => this._answerCalls(calls, signal, { decisions, resume }));
  }

  /** After a failure it waits for better times; after a stop the user decides. */
  _sendQueued() {
    const { status } = this.conversation;
    if (status === "stopped") this._returnQueued();
    if (!this.queued || status !== "idle") return;
    const { id, text, attachments } = this.queued;
    this._queue(null);
    this.send(text, attachments, id);
  }
}
