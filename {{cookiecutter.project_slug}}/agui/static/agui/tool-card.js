// @ts-check
/** One tool call: what it is, how it stands, what went in and out, and the question if it needs one. */
import { h, icon, setAttribute, setText } from "./dom.js";
import { format } from "./strings.js";

/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, tools: Map<string, any>,
 *   decide: (interruptId: string, decision: { approved: boolean }) => void,
 * }} Context
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
  #question = h("div", { class: "question", role: "group", tabindex: "-1", hidden: true });
  element = h("div", { class: "tool", part: "tool" });
  /** @type {any[]} what was rendered last */
  #shown = [];

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const summary = h("summary", {}, this.#icon, this.#label, this.#status, icon("chevron"));
    this.#details.append(summary, this.#body);
    this.element.append(this.#details, this.#question);
  }

  /**
   * @param {any} call AG-UI's ToolCall
   * @param {import("./conversation.js").Call} state
   * @param {any} interrupt the open question about this call, if there is one
   * @param {{ approved: boolean } | undefined} decision
   */
  update(call, state, interrupt, decision) {
    const next = [call, state, interrupt, decision, this.#context.tools];
    if (next.every((one, index) => one === this.#shown[index])) return;
    this.#shown = next;
    const { strings, tools } = this.#context;
    const { icon: name, text } = STATUS[state.status];
    this.element.dataset.status = state.status;
    this.#icon.replaceChildren(icon(name));
    setText(this.#label, toolLabel(call.function.name, tools, interrupt));
    setText(this.#status, strings[text]);
    this.#body.replaceChildren(...this.#sections(call, state, interrupt));
    this.#ask(call, interrupt, decision);
  }

  /** @param {any} call @param {import("./conversation.js").Call} state @param {any} interrupt */
  #sections(call, state, interrupt) {
    const { strings } = this.#context;
    const parts = [];
    if (!interrupt) parts.push(h("h4", {}, strings.arguments), argumentList(call.function.arguments, strings));
    if (state.result !== undefined) parts.push(h("h4", {}, strings.result), value(readable(state.result)));
    return parts;
  }

  /** @param {any} call @param {any} interrupt @param {{ approved: boolean } | undefined} decision */
  #ask(call, interrupt, decision) {
    this.#question.hidden = !interrupt;
    setAttribute(this.#details, "inert", Boolean(interrupt));
    if (!interrupt) return this.#question.replaceChildren();
    this.#details.open = false;
    const { strings, tools } = this.#context;
    const label = toolLabel(call.function.name, tools, interrupt);
    const message = interrupt.message || format(strings.confirm, { tool: label });
    const buttons = decisionButtons(interrupt, decision, this.#context);
    setAttribute(this.#question, "aria-label", message);
    this.#question.replaceChildren(
      h("p", { class: "question-text" }, message),
      argumentList(call.function.arguments, strings),
      buttons,
    );
  }
}

/** A question that belongs to no tool call on the page. @param {any} interrupt @param {any} decision @param {Context} context */
export function questionCard(interrupt, decision, context) {
  const message = interrupt.message || format(context.strings.confirm, { tool: interrupt.reason });
  const question = h("div", { class: "question", role: "group", tabindex: "-1", "aria-label": message });
  question.append(h("p", { class: "question-text" }, message), decisionButtons(interrupt, decision, context));
  return h("div", { class: "tool", "data-status": "waiting", part: "tool" }, question);
}

/** @param {any} interrupt @param {{ approved: boolean } | undefined} decision @param {Context} context */
function decisionButtons(interrupt, decision, { strings, decide }) {
  const destructive = interrupt.metadata?.["x-destructive"];
  /** @param {boolean} approved @param {string} text @param {string} style */
  const button = (approved, text, style) =>
    h(
      "button",
      {
        type: "button", class: `button ${style}`, part: approved ? "approve" : "deny",
        "aria-pressed": decision ? String(decision.approved === approved) : null,
        onclick: () => decide(interrupt.id, { approved }),
      },
      text,
    );
  const approve = button(true, strings.approve, destructive ? "danger" : "primary");
  return h("div", { class: "question-buttons" }, approve, button(false, strings.deny, "quiet"));
}

/** The name that a person reads. @param {string} name @param {Map<string, any>} tools @param {any} [interrupt] @returns {string} */
export function toolLabel(name, tools, interrupt) {
  const summary = tools.get(name)?.summary || interrupt?.metadata?.["x-summary"];
  const text = words(name);
  return summary || text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {string} name */
function words(name) {
  return name.replaceAll(/[_-]+/g, " ").trim();
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
