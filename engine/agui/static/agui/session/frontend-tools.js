// @ts-check
/**
 * Tools of the page: what the agent may do in the user's browser. The first call of one loads this
 * module.
 */
import { misfit } from "../json/misfit.js";
import { uuid } from "./turns.js";

/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").ToolCall} ToolCall */
/** @typedef {import("../agui-chat.d.ts").PageTool} PageTool */
/**
 * @typedef {{
 *   signal: AbortSignal, threadId: string, state: unknown, begun: string[],
 *   decisions: Map<string, Decision | undefined>,
 *   done: (message: import("../types.d.ts").Message) => void,
 * }} Answering `decisions` and `begun` go by the call's id; each result is passed to `done`
 */

const MAX_CHARS = 100_000;

export class FrontendTools {
  #tools;
  #held = "";
  #release = () => {};

  /**
   * @param {Map<string, PageTool>} tools that the page has registered; they may change at any
   *   time
   */
  constructor(tools) {
    this.#tools = tools;
  }

  /**
   * Make this the only tab that answers for a thread, until `release`; false if another tab does.
   * @param {string} threadId @returns {Promise<boolean>}
   */
  hold(threadId) {
    // Browsers have locks only for pages that are served securely.
    const locks = globalThis.navigator?.locks;
    if (!locks || this.#held === threadId) return Promise.resolve(true);
    this.release();
    return new Promise((answer, fail) => {
      /** @param {Lock | null} lock */
      const work = (lock) => {
        answer(Boolean(lock));
        if (!lock) return null;
        this.#held = threadId;
        return new Promise((release) => (this.#release = () => release(null)));
      };
      locks.request(`agui-chat:${threadId}`, { ifAvailable: true }, work).catch(fail);
    });
  }

  release() {
    this.#held = "";
    this.#release();
  }

  /**
   * The questions to ask first, in the form of the server's interrupts, so that the same cards show
   * them.
   * @param {ToolCall[]} calls @returns {import("../types.d.ts").Interrupt[]}
   */
  questions(calls) {
    return calls.flatMap(({ id, function: { name } }) => {
      const { destructive, confirm: message, summary, parameters } = this.#tools.get(name) ?? {};
      if (!destructive) return [];
      const metadata = { toolName: name, "x-destructive": true, "x-summary": summary };
      const properties = parameters && { editedArgs: parameters };
      const responseSchema = { type: "object", properties, $defs: parameters?.$defs };
      const about = { reason: "tool_call", toolCallId: id, message, metadata, responseSchema };
      return [{ id: `page-${id}`, isPages: true, ...about }];
    });
  }

  /** Run the calls, all at once. @param {ToolCall[]} calls @param {Answering} answering */
  async answer(calls, answering) {
    await Promise.all(
      calls.map(async (call) => {
        const started = performance.now();
        const [content, outcome] = await this.#run(call, answering);
        const { editedArgs } = approvalOf(answering.decisions.get(call.id));
        const edited = editedArgs ? { editedArguments: JSON.stringify(editedArgs) } : {};
        const duration_ms = Math.round(performance.now() - started);
        const metadata = { ...(outcome && { outcome }), ...edited, duration_ms };
        const result = { id: uuid(), role: "tool", toolCallId: call.id, content: cut(content) };
        answering.done({ ...result, metadata });
      }),
    );
  }

  /**
   * @param {ToolCall} call @param {Answering} answering
   * @returns {Promise<[content: string, outcome?: string]>}
   */
  async #run({ id, function: { name, arguments: json } }, { decisions, begun, done: _, ...run }) {
    const tool = this.#tools.get(name);
    const { approved, editedArgs, reason } = approvalOf(decisions.get(id));
    if (begun.includes(id)) return ["The page was left while this was running."];
    if (!tool) return [`This page has no tool ${JSON.stringify(name)}.`, "failed"];
    if (tool.destructive && approved !== true) {
      return [reason ? `The user denied this: ${reason}` : "The user denied this.", "denied"];
    }
    try {
      // The handler gets plain JavaScript numbers.
      const args = read(editedArgs ? JSON.stringify(editedArgs) : json);
      const wrong = misfit(tool.parameters, args);
      if (wrong) return [`The arguments do not fit: ${wrong}.`, "failed"];
      const value = await Promise.race([tool.handler(args, run), aborted(run.signal)]);
      return [typeof value === "string" ? value : (JSON.stringify(value) ?? "Done.")];
    } catch (error) {
      if (!run.signal.aborted) console.error(`agui-chat: the tool ${name} failed`, error);
      const { message } = Object(error);
      return [`This failed: ${message ?? error}`, "failed"];
    }
  }
}

/** @param {Decision | undefined} decision @returns {import("../types.d.ts").Approval} */
function approvalOf(decision) {
  return Object(decision?.status === "resolved" && decision.payload);
}

/** @param {AbortSignal} signal */
function aborted(signal) {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

// --- Arguments and results: the model's words, to code that trusts them

/** @param {string} json */
function read(json) {
  try {
    // Drop `__proto__`: a handler that merges the arguments must not change a prototype.
    return JSON.parse(json || "{}", (key, value) => (key === "__proto__" ? undefined : value));
  } catch {
    throw new Error("the arguments are not JSON");
  }
}

/** @param {string} content */
function cut(content) {
  if (content.length <= MAX_CHARS) return content;
  return `${content.slice(0, MAX_CHARS)}\n[cut: ${content.length} characters]`;
}
