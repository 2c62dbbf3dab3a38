// @ts-check
/** One tool call: what it is, how it stands, what went in and out, and the question if it needs one. */
import { asksInput, isExpired } from "./conversation.js";
import { h, icon, setAttribute, setText } from "./dom.js";
import { heading, words } from "./strings.js";

/** @typedef {import("./session.js").Decision} Decision */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, tools: Map<string, any>,
 *   Question: typeof import("./question.js").Question | null,
 *   decide: (interruptId: string, decision: Decision | null) => void,
 * }} Context `Question` is null until the first interrupt has loaded it
 */

const STATUS = /** @type {Record<string, { icon: string, text: keyof import("./strings.js").Strings }>} */ ({
  streaming: { icon: "tool", text: "toolStreaming" },
  running: { icon: "tool", text: "toolRunning" },
  waiting: { icon: "pause", text: "toolWaiting" },
  success: { icon: "check", text: "toolSuccess" },
  failed: { icon: "alert", text: "toolFailed" },
  denied: { icon: "cross", text: "toolDenied" },
  stopped: { icon: "stop", text: "toolStopped" },
});

export class ToolCard {
  #context;
  #status = h("span", { class: "tool-status" });
  #icon = h("span", { class: "tool-icon" });
  #label = h("span", { class: "tool-label" });
  #body = h("div", { class: "tool-body" });
  #details = h("details", { class: "tool-details" });
  /** @type {import("./question.js").Question | undefined} */
  #question;
  element = h("div", { class: "tool", part: "tool" });
  /** @type {any[]} what was rendered last */
  #shown = [];

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const summary = h("summary", {}, this.#icon, this.#label, this.#status, icon("chevron"));
    this.#details.append(summary, this.#body);
    this.element.append(this.#details);
  }

  /**
   * @param {any} call AG-UI's ToolCall
   * @param {import("./conversation.js").Call} state
   * @param {any} interrupt the open question about this call, if there is one
   * @param {Decision | undefined} decision
   */
  update(call, state, interrupt, decision) {
    const { strings, tools, Question } = this.#context;
    const next = [call, state, interrupt, decision, tools, Question, interrupt && isExpired(interrupt)];
    if (next.every((one, index) => one === this.#shown[index])) return;
    this.#shown = next;
    const { icon: name, text } = STATUS[state.status];
    const label = toolLabel(call.function.name, tools, interrupt);
    this.element.dataset.status = state.status;
    this.#icon.replaceChildren(icon(name));
    setText(this.#label, label);
    setText(this.#status, strings[interrupt ? openText(interrupt) : text]);
    // An approval shows itself what it is about.
    const approval = Boolean(interrupt && !asksInput(interrupt) && !isExpired(interrupt));
    this.#body.replaceChildren(...this.#sections(call, state, approval));
    setAttribute(this.#details, "inert", approval);
    if (approval) this.#details.open = false;
    if (!interrupt) return this.#forget(state);
    if (!Question) return;
    this.#question ??= new Question(this.#context);
    this.#question.update(interrupt, decision, label, () => argumentList(call.function.arguments, strings));
    // Only when it isn't there: moving it would take the focus from it.
    if (!this.element.contains(this.#question.element)) this.element.append(this.#question.element);
  }

  /** Until there is a result the question may come back: what was typed is kept. @param {import("./conversation.js").Call} state */
  #forget({ result }) {
    this.#question?.element.remove();
    if (result !== undefined) this.#question = undefined;
  }

  /** @param {any} call @param {import("./conversation.js").Call} state @param {boolean} approval */
  #sections(call, state, approval) {
    const { strings } = this.#context;
    const parts = [];
    if (!approval) parts.push(h("h4", {}, strings.arguments), argumentList(call.function.arguments, strings));
    if (state.result !== undefined) parts.push(h("h4", {}, strings.result), value(readable(state.result)));
    return parts;
  }
}

/** How an open question stands. @param {any} interrupt @returns {"toolAsks" | "toolExpired" | "toolWaiting"} */
export function openText(interrupt) {
  if (isExpired(interrupt)) return "toolExpired";
  return asksInput(interrupt) ? "toolAsks" : "toolWaiting";
}

/** The name that a person reads. @param {string} name @param {Map<string, any>} tools @param {any} [interrupt] @returns {string} */
export function toolLabel(name, tools, interrupt) {
  const summary = tools.get(name)?.summary || interrupt?.metadata?.["x-summary"];
  return summary || heading(name);
}

/** @param {string} json @param {import("./strings.js").Strings} strings */
function argumentList(json, strings) {
  const fields = parse(json);
  if (fields === null || typeof fields !== "object" || Array.isArray(fields)) return value(json || strings.noArguments);
  const entries = Object.entries(fields);
  if (!entries.length) return h("p", { class: "muted" }, strings.noArguments);
  const rows = entries.flatMap(([name, one]) => {
    const simple = one === null || typeof one !== "object";
    return [h("dt", {}, words(name)), h("dd", {}, simple ? String(one) : value(one))];
  });
  return h("dl", { class: "arguments" }, ...rows);
}

/** @param {any} content a result: text, which may be JSON, or a list of parts */
function readable(content) {
  if (typeof content !== "string") return content;
  const parsed = parse(content);
  return parsed !== null && typeof parsed === "object" ? parsed : content;
}

/** @param {any} one */
function value(one) {
  return h("pre", { class: "value", tabindex: "0" }, typeof one === "string" ? one : JSON.stringify(one, null, 2));
}

/** @param {string} json */
function parse(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
