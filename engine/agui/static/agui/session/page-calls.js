// @ts-check
/**
 * The calls of a thread that the page has to do: those that are left, and the results of the
 * others.
 */
import { callTools, openCalls } from "../conversation/calls.js";
import { fetchModule } from "../dom/lazy.js";

/** @typedef {import("../agui-chat.d.ts").PageTool} PageTool */
/** @typedef {import("../types.d.ts").Conversation} Conversation */

const NO_PARAMETERS = { type: "object", properties: {} };

export class PageCalls {
  /** @type {import("../types.d.ts").Message[]} the results, until the server has them */
  results = [];
  /** @type {string[]} the calls that have begun: after a reload they don't begin again */
  begun = [];
  /** @type {import("./frontend-tools.js").FrontendTools | undefined} */
  tools;
  registered;

  /**
   * @param {Map<string, PageTool>} registered by the page, which may register more at any time
   */
  constructor(registered) {
    this.registered = registered;
  }

  /** The page's tools, in the form that the agent gets. */
  get offered() {
    return [...this.registered.values()].map(
      ({ name, description = "", parameters = NO_PARAMETERS }) => {
        return { name, description, parameters };
      },
    );
  }

  /**
   * The calls that are not done, and that no question is about.
   * @param {Conversation} conversation
   * @param {string[] | null} pending the calls that are left, if the server has said so
   */
  left(conversation, pending) {
    return openCalls(conversation).filter(({ id }) => pending?.includes(id) ?? true);
  }

  /**
   * Do the calls that the agent has left to the page.
   * @param {import("./exchange-state.js").ExchangeState} state
   * @param {() => Promise<import("./page-turn.js").PageTurn>} load what does it
   */
  async callLeft(state, load) {
    const { phase, conversation, leftCalls } = state;
    const { status } = conversation;
    if (!leftCalls.length || !["idle", "waiting"].includes(status)) return;
    if (status === "idle" && !state.mayCall(leftCalls)) {
      state.conversation = callTools(conversation, leftCalls, "left");
      return;
    }
    // The page must look busy between the run and its tools.
    if (status === "idle") state.phase = "calling";
    await (await load()).callLeft(leftCalls);
    if (state.phase === "calling") state.phase = phase; // The page asks; no run is active.
  }

  /** The object that calls the tools. */
  load() {
    return fetchModule(() => import("./page-turn.js"));
  }

  /** The server has all results. */
  clear() {
    this.results = this.begun = [];
  }

  /** Let another tab answer for the thread. */
  release() {
    this.tools?.release();
  }
}
