// @ts-check
/**
 * The card of a tool call: its name, status, arguments and result, and its question if it has one.
 * The first call loads this module.
 */
import { asksInput, isExpired } from "../conversation/conversation.js";
import { h, icon, setAttribute, setText } from "../dom/elements.js";
import { duration } from "../words/duration.js";
import { isSame } from "../dom/keyed.js";
import { lazy, moduleOf } from "../dom/lazy.js";
import { adopt } from "../dom/own-style.js";
import { aboutCall } from "./about.js";
import { openText, toolLabel } from "./names.js";
import { asText } from "./text-block.js";
import { TOOL_STYLE } from "./tool-style.js";
import { parse, readable, resultView } from "./values.js";

/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").CardContext} Context */
/** @typedef {import("../words/strings.js").Strings & typeof TOOL_WORDS} Words */
const STATUS = /** @type {Record<string, { icon: string, text: keyof Words }>} */ ({
  streaming: { icon: "tool", text: "toolStreaming" },
  running: { icon: "tool", text: "toolRunning" },
  waiting: { icon: "pause", text: "toolWaiting" },
  success: { icon: "check", text: "toolSuccess" },
  failed: { icon: "alert", text: "toolFailed" },
  denied: { icon: "close", text: "toolDenied" },
  stopped: { icon: "stop", text: "toolStopped" },
  left: { icon: "stop", text: "toolLeft" },
});
const WRENCH =
  "M14.5 6.5a4 4 0 0 0 3 5.6L20 9.6a5 5 0 0 1-6.7 6.1L7.6 " +
  "21.4a2 2 0 0 1-3-3l5.7-5.7A5 5 0 0 1 16.4 6z";
/** In English; the tables of other languages have these, too. */
export const TOOL_WORDS = {
  toolStreaming: "Preparing",
  toolDenied: "Denied",
  toolStopped: "Stopped",
  toolLeft: "Not done",
  changed: "Changed",
  arguments: "Arguments",
  result: "Result",
};

/**
 * The most successful calls shown singly: the code that folds more is loaded with the next call.
 */
const FEW = 4;

/** The card doesn't show shorter waits. */
const PATIENCE_MS = 2000;
/** Nor how long a call has taken that was shorter. */
const SHORTEST_MS = 1000;

let made = 0;

export class ToolCard {
  #context;
  #words;
  #status = h("span", { class: "tool-status" });
  #icon = h("span", { class: "tool-icon" });
  #label = h("span", { class: "tool-label", dir: "auto" });
  #about = h("span", { class: "tool-about", dir: "auto" });
  #body = h("div", { class: "tool-body" });
  #details = h("details", { class: "tool-details" });
  #progress = h("progress", { max: 100 });
  /** @type {import("../types.d.ts").QuestionView | undefined} */
  #question;
  /** @type {any[]} what was rendered last */
  #shown = [];
  /** @type {() => Node[]} */
  #parts = () => [];
  /** @type {import("../types.d.ts").CallModule | undefined} */
  #reader;
  #again = () => {};
  #since = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #clock;
  element;

  /** @param {Context} context @param {HTMLElement} element the place of the card */
  constructor(context, element) {
    made += 1;
    this.#context = context;
    this.#words = { ...TOOL_WORDS, ...context.strings };
    this.element = element;
    const words = h("span", { class: "tool-words" }, this.#label, this.#about);
    const summary = h("summary", {}, this.#icon, words, this.#status, icon("chevron"));
    this.#details.append(summary, this.#body);
    this.#details.addEventListener("toggle", () => this.#fill());
    element.replaceChildren(this.#details);
  }

  /**
   * @param {import("../types.d.ts").ToolCall} call AG-UI's ToolCall
   * @param {import("../types.d.ts").Call} state
   * @param {import("../types.d.ts").Interrupt | undefined} interrupt the open question about this
   *   call, if there is one
   * @param {Decision | undefined} decision
   * @param {import("../types.d.ts").Message[]} [messages] which may say what the call is about
   */
  update(call, state, interrupt, decision, messages = []) {
    const { tools, Question, seams } = this.#context;
    const strings = this.#words;
    const expired = interrupt && isExpired(interrupt);
    const next = [call, state, interrupt, decision, tools, Question, expired, seams, this.#reader];
    if (isSame(next, this.#shown)) return;
    const before = this.#shown[1]?.status;
    if (!this.#shown.length) this.#loadReader(call.function.name);
    this.#again = () => this.update(call, state, interrupt, decision, messages);
    this.#shown = next;
    const own = this.#reader?.describeCall(readCall(call, state), messages, strings);
    const label = own?.label ?? toolLabel(call.function.name, tools, interrupt);
    this.element.dataset.status = state.status;
    const { icon: sign } = STATUS[state.status];
    const path = sign === "tool" ? WRENCH : undefined;
    if (state.status !== before) this.#icon.replaceChildren(icon(sign, path));
    setText(this.#label, label);
    // An approval shows the arguments itself.
    const approval = Boolean(interrupt && !asksInput(interrupt) && !expired);
    this.#parts = () => (own ? this.#outcome(own.shown, state) : this.#sections(call, state));
    this.#body.replaceChildren();
    setAttribute(this.#details, "inert", approval);
    if (approval) this.#details.open = false;
    setText(this.#about, own || approval ? "" : this.#subject(call, state));
    this.#fill();
    this.#tell();
    if (state.status !== before && made > FEW) this.#regroup();
    if (seams.has(`tool ${call.function.name}`)) this.#context.wantOwn();
    const isDrawn = this.#context.own?.draw(this.element, this.#context, label, this.#shown);
    if (!interrupt || isDrawn) return this.#forget(state);
    if (!Question) return;
    const question = (this.#question ??= new Question(this.#context));
    question.update(interrupt, decision, label, call.function.arguments);
    // Insert the question only once: moving it would lose the focus.
    if (!this.element.contains(question.element)) this.element.append(question.element);
  }

  /** Let the part of a tool say what its calls are about. @param {string} name */
  async #loadReader(name) {
    const module = await moduleOf(this.#context.host, `call:${name}`);
    if (!module) return;
    this.#reader = module;
    this.#again();
  }

  async #regroup() {
    const module = await this.#context.withStyle(lazy(() => import("./group.js")));
    module?.regroup(this.element, this.#context.strings, FEW);
  }

  /** Make the body of a closed card when the user opens it. */
  #fill() {
    if (!this.#details.open || this.#body.firstChild) return;
    this.#body.append(...this.#parts());
    queueMicrotask(() => adopt(this.#body, TOOL_STYLE));
  }

  /**
   * Say what the call is about, once that is known to be no secret.
   * @param {import("../types.d.ts").ToolCall} call @param {import("../types.d.ts").Call} state
   */
  #subject({ function: { name, arguments: json } }, { status, edited }) {
    const tool = this.#context.tools.get(name);
    if (!tool || tool.secrets?.length || status === "streaming") return "";
    return aboutCall(parse(edited?.json ?? json));
  }

  /** Show the status of the call, and how long it has been running. */
  #tell() {
    const strings = this.#words;
    const [, state, interrupt] = this.#shown;
    const { status, step, percent, duration_ms: took, edited } = state;
    const runs = status === "running";
    this.#since = runs ? this.#since || Date.now() : 0;
    const ms = runs ? Date.now() - this.#since : (took ?? 0);
    const time =
      ms >= (runs ? PATIENCE_MS : SHORTEST_MS) &&
      duration(runs ? Math.floor(ms / 1000) * 1000 : ms, strings.lang);
    const words = (runs && step) || strings[interrupt ? openText(interrupt) : STATUS[status].text];
    const share =
      runs &&
      percent !== undefined &&
      new Intl.NumberFormat(strings.lang, { style: "percent" }).format(percent / 100);
    setText(
      this.#status,
      [words, share, time, edited && strings.changed].filter(Boolean).join(" · "),
    );
    if (share) this.#context.withStyle();
    if (!share) this.#progress.remove();
    else if (!this.#progress.isConnected) this.#details.after(this.#progress);
    this.#progress.value = percent ?? 0;
    setAttribute(this.#progress, "aria-label", this.#label.textContent);
    clearTimeout(this.#clock);
    if (!runs || (ms >= PATIENCE_MS && !this.element.isConnected)) return;
    this.#clock = setTimeout(() => this.#tell(), 1000 - (ms % 1000));
  }

  /**
   * Keep typed text until there is a result, because the question may come back.
   * @param {import("../types.d.ts").Call} state
   */
  #forget({ result }) {
    this.#question?.element.remove();
    if (result !== undefined) this.#question = undefined;
  }

  /** @param {unknown} shown @param {import("../types.d.ts").Call} state */
  #outcome(shown, { result }) {
    return result === undefined ? [] : [resultView(shown, this.#words)];
  }

  /** @param {import("../types.d.ts").ToolCall} call @param {import("../types.d.ts").Call} state */
  #sections(call, { result, edited }) {
    const { tools } = this.#context;
    const strings = this.#words;
    const { name, arguments: json } = call.function;
    const secrets = tools.get(name)?.secrets;
    /** @type {HTMLElement[]} */
    const parts = [h("p", { class: "tool-part" }, strings.arguments)];
    if (edited || secrets || !isPlain(json)) {
      const place = h("div");
      parts.push(place);
      const loading = lazy(() => import("./arguments.js"));
      this.#context.withStyle(loading).then((module) => {
        if (module) place.append(...module.callArguments(json, edited, strings, secrets));
      });
    } else if (json === "{}" || !json) {
      parts.push(h("p", { class: "muted" }, strings.noArguments));
    } else parts.push(resultView(parse(json), strings));
    if (result === undefined) return parts;
    const read = readable(result);
    const copy = h("button", { type: "button", class: "copy" }, strings.copy);
    copy.addEventListener("click", () => this.#copy(copy, asText(read)));
    const title = h("p", { class: "tool-part" }, strings.result);
    const head = h("div", { class: "tool-result" }, title, copy);
    return [...parts, head, resultView(read, strings)];
  }

  /** @param {HTMLElement} button @param {string} text */
  async #copy(button, text) {
    const module = await this.#context.load(() => import("../dom/copy.js"));
    await module?.copyBy(button, text, this.#context.strings);
  }
}

/** @param {import("../types.d.ts").ToolCall} call @param {import("../types.d.ts").Call} state */
function readCall({ function: { arguments: json } }, { status, result }) {
  return { args: Object(parse(json)), status, result: readable(result) };
}

/**
 * Whether the arguments are only short texts and numbers, which need no other module.
 * @param {string} json
 */
function isPlain(json) {
  const fields = parse(json || "{}");
  const few = fields && !/\d{16}|\d[T ]\d\d:/.test(json) && json.length < 1000;
  if (!few || Array.isArray(fields)) return false;
  return Object.values(fields).every((one) => {
    return typeof one === "number" || (typeof one === "string" && one);
  });
}
