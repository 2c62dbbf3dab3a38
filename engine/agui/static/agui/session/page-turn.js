// @ts-check
/**
 * Call the page's tools after a run: ask first if necessary, do the rest, and send the results to
 * the agent.
 */
import { callTools, wait, withResults } from "../conversation/calls.js";
import { FrontendTools } from "./frontend-tools.js";

/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").Message} Message */
/** @typedef {import("../types.d.ts").ToolCall} ToolCall */
/**
 * What the exchange does for a PageTurn: leave the thread to another tab, and post results.
 * @typedef {{
 *   threadId: string, signal: AbortSignal, giveUp: () => Promise<unknown>,
 *   post: (
 *     turn: Pick<import("../types.d.ts").RunInput, "messages" | "resume">,
 *   ) => Promise<unknown>,
 * }} Turn
 */

export class PageTurn {
  #state;
  #calls;
  #turn;
  #tools;

  /**
   * @param {import("./exchange-state.js").ExchangeState} state
   * @param {import("./page-calls.js").PageCalls} calls
   * @param {Turn} turn
   */
  constructor(state, calls, turn) {
    this.#state = state;
    this.#calls = calls;
    this.#turn = turn;
    this.#tools = calls.tools ??= new FrontendTools(calls.registered);
  }

  /** Do the calls that the agent has left to the page. @param {ToolCall[]} calls */
  async callLeft(calls) {
    const state = this.#state;
    const { begun } = this.#calls;
    const questions = this.#tools.questions(calls.filter(({ id }) => !begun.includes(id)));
    const { conversation } = state;
    if (questions.length)
      state.conversation = wait(conversation, [...conversation.interrupts, ...questions]);
    // Do calls that need no confirmation at once, but only in the tab that began the run.
    const others = state.leftCalls;
    if (!state.isOurs) state.conversation = callTools(state.conversation, others, "streaming");
    else if (others.length) await this.answer(others);
  }

  /**
   * Run tools, and post their results together with the user's other answers.
   * @param {ToolCall[]} calls
   * @param {{ decisions?: Map<string, Decision | undefined>, resume?:
   *   import("../types.d.ts").ResumeEntry[] }} [answers]
   */
  async answer(calls, { decisions = new Map(), resume = [] } = {}) {
    const state = this.#state;
    const { threadId, signal, giveUp, post } = this.#turn;
    if (!(await this.#tools.hold(threadId))) {
      state.isOurs = false;
      return giveUp();
    }
    signal.throwIfAborted();
    const { conversation } = state;
    const { begun } = this.#calls;
    /** @param {Message} message */
    const done = (message) => {
      if (signal.aborted) return;
      this.#calls.results = [...this.#calls.results, message];
      state.keep(withResults(state.conversation, [message]));
    };
    const called = callTools(conversation, calls);
    state.phase = "calling";
    this.#calls.begun = [...begun, ...calls.map(({ id }) => id)];
    state.keep(conversation.status === "idle" ? { ...called, status: "running" } : called);
    await this.#tools.answer(calls, {
      signal,
      threadId,
      state: conversation.state,
      decisions,
      begun,
      done,
    });
    signal.throwIfAborted();
    // The other calls are answered together with these.
    if (state.conversation.status === "waiting") return;
    await post({ messages: this.#calls.results, ...(resume.length && { resume }) });
  }
}
