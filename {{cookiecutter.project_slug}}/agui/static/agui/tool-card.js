// @ts-check
/** One tool call: what it is, how it stands, what went in and out, and the question if it needs one. Loaded with the first call. */
import { asksInput, isExpired } from "./conversation.js";
import { h, icon, setAttribute, setText } from "./dom.js";
import { duration } from "./duration.js";
import { format } from "./strings.js";
import { openText, toolLabel } from "./tool-names.js";
import { asText, parse, readable, resultView } from "./values.js";

/** @typedef {import("./session.js").Decision} Decision */
/**
 * @typedef {{
 *   strings: import("./strings.js").Strings, tools: Map<string, any>,
 *   Question: typeof import("./question.js").Question | null,
 *   decide: (interruptId: string, decision: Decision | null) => void,
 * }} Context `Question` is null until the first interrupt has loaded it
 */

const STATUS = /** @type {Record<string, { icon: string, text: any }>} */ ({
  streaming: { icon: "tool", text: "toolStreaming" },
  running: { icon: "tool", text: "toolRunning" },
  waiting: { icon: "pause", text: "toolWaiting" },
  success: { icon: "check", text: "toolSuccess" },
  failed: { icon: "alert", text: "toolFailed" },
  denied: { icon: "cross", text: "toolDenied" },
  stopped: { icon: "stop", text: "toolStopped" },
  left: { icon: "stop", text: "toolLeft" },
});
/** So many calls that went well are shown each: what folds the others is loaded with the next one. */
const FEW = 4;

/** Nobody needs to be told of a shorter wait. */
const PATIENCE_MS = 2000;

let made = 0;

export class ToolCard {
  #context;
  #status = h("span", { class: "tool-status" });
  #icon = h("span", { class: "tool-icon" });
  #label = h("span", { class: "tool-label", dir: "auto" });
  #body = h("div", { class: "tool-body" });
  #details = h("details", { class: "tool-details" });
  #progress = h("progress", { max: 100 });
  /** @type {import("./question.js").Question | undefined} */
  #question;
  /** @type {any[]} what was rendered last */
  #shown = [];
  /** @type {() => Node[]} */
  #parts = () => [];
  #since = 0;
  /** @type {any} */
  #clock = 0;
  element;

  /** @param {Context} context @param {HTMLElement} element the place of the card */
  constructor(context, element) {
    made += 1;
    this.#context = context;
    this.element = element;
    const summary = h("summary", {}, this.#icon, this.#label, this.#status, icon("chevron"));
    this.#details.append(summary, this.#body);
    this.#details.addEventListener("toggle", () => this.#fill());
    element.replaceChildren(this.#details);
  }

  /**
   * @param {any} call AG-UI's ToolCall
   * @param {import("./conversation.js").Call} state
   * @param {any} interrupt the open question about this call, if there is one
   * @param {Decision | undefined} decision
   * @param {import("./conversation.js").Message[]} [messages] which may name the file that the call is about
   */
  update(call, state, interrupt, decision, messages = []) {
    const { strings, tools, Question } = this.#context;
    const next = [call, state, interrupt, decision, tools, Question, interrupt && isExpired(interrupt)];
    if (next.every((one, index) => one === this.#shown[index])) return;
    const before = this.#shown[1]?.status;
    this.#shown = next;
    const file = fileOf(call, messages);
    const label = file ? format(strings.readFile, file) : toolLabel(call.function.name, tools, interrupt);
    this.element.dataset.status = state.status;
    if (state.status !== before) this.#icon.replaceChildren(icon(STATUS[state.status].icon));
    setText(this.#label, label);
    // An approval shows itself what it is about.
    const approval = Boolean(interrupt && !asksInput(interrupt) && !isExpired(interrupt));
    this.#parts = () => (file ? this.#page(state) : this.#sections(call, state));
    this.#body.replaceChildren();
    setAttribute(this.#details, "inert", approval);
    if (approval) this.#details.open = false;
    this.#fill();
    this.#tell();
    if (state.status !== before && made > FEW) this.#regroup();
    if (!interrupt) return this.#forget(state);
    if (!Question) return;
    const question = (this.#question ??= new Question(this.#context));
    question.update(interrupt, decision, label, call.function.arguments);
    // Only when it isn't there: moving it would take the focus from it.
    if (!this.element.contains(question.element)) this.element.append(question.element);
  }

  async #regroup() {
    const { regroup } = await import("./tool-group.js");
    regroup(this.element, this.#context.strings, FEW);
  }

  /** What nobody looks at isn't there. */
  #fill() {
    if (this.#details.open && !this.#body.firstChild) this.#body.append(...this.#parts());
  }

  /** How the call stands, and while it runs for how long. */
  #tell() {
    const { strings } = this.#context;
    const [, state, interrupt] = this.#shown;
    const { status, step, percent, duration_ms: took, edited } = state;
    const runs = status === "running";
    this.#since = runs ? this.#since || Date.now() : 0;
    const ms = runs ? Date.now() - this.#since : took;
    const time = (runs ? ms >= PATIENCE_MS : ms !== undefined) && duration(runs ? Math.floor(ms / 1000) * 1000 : ms, strings.lang);
    const words = (runs && step) || strings[interrupt ? openText(interrupt) : STATUS[status].text];
    const share = runs && percent !== undefined && new Intl.NumberFormat(strings.lang, { style: "percent" }).format(percent / 100);
    setText(this.#status, [words, share, time, edited && strings.changed].filter(Boolean).join(" · "));
    if (!share) this.#progress.remove();
    else if (!this.#progress.isConnected) this.#details.after(this.#progress);
    this.#progress.value = percent ?? 0;
    setAttribute(this.#progress, "aria-label", this.#label.textContent);
    clearTimeout(this.#clock);
    if (runs && (ms < PATIENCE_MS || this.element.isConnected)) this.#clock = setTimeout(() => this.#tell(), 1000 - (ms % 1000));
  }

  /** Until there is a result the question may come back: what was typed is kept. @param {import("./conversation.js").Call} state */
  #forget({ result }) {
    this.#question?.element.remove();
    if (result !== undefined) this.#question = undefined;
  }

  /** What was read of a file. @param {import("./conversation.js").Call} state */
  #page({ status, result }) {
    if (result === undefined) return [];
    const { strings } = this.#context;
    const text = status === "success" ? readable(result)?.text : result;
    return [text === undefined ? h("p", { class: "muted" }, strings.readWhole) : resultView(text, strings)];
  }

  /** @param {any} call @param {import("./conversation.js").Call} state */
  #sections(call, { result, edited }) {
    const { strings, tools } = this.#context;
    const { name, arguments: json } = call.function;
    const secrets = tools.get(name)?.secrets;
    const parts = [h("p", { class: "tool-part" }, strings.arguments)];
    if (edited || secrets || !isPlain(json)) {
      const place = h("div");
      const load = import("./arguments.js").then(({ callArguments }) => place.append(...callArguments(json, edited, strings, secrets)));
      load.catch((error) => console.warn("agui-chat:", error));
      parts.push(place);
    } else parts.push(json === "{}" || !json ? h("p", { class: "muted" }, strings.noArguments) : resultView(parse(json), strings));
    if (result === undefined) return parts;
    const read = readable(result);
    const copy = h("button", { type: "button", class: "copy", onclick: () => this.#copy(copy, asText(read)) }, strings.copy);
    return [...parts, h("div", { class: "tool-result" }, h("p", { class: "tool-part" }, strings.result), copy), resultView(read, strings)];
  }

  /** @param {HTMLElement} button @param {string} text */
  async #copy(button, text) {
    const { copyBy } = await import("./copy.js");
    await copyBy(button, text, this.#context.strings);
  }
}

/** Are the arguments short texts and numbers, which need no module of their own? @param {string} json */
function isPlain(json) {
  const fields = parse(json || "{}");
  const few = fields && !/\d{16}|\d[T ]\d\d:/.test(json) && json.length < 1000;
  return few && !Array.isArray(fields) && Object.values(fields).every((one) => typeof one === "number" || (typeof one === "string" && one));
}

/** The file of a message that the engine's `read_attachment` reads. @param {any} call @param {import("./conversation.js").Message[]} messages */
function fileOf({ function: { name, arguments: json } }, messages) {
  if (name !== "read_attachment") return undefined;
  const id = parse(json)?.attachment_id;
  return messages.flatMap(({ metadata }) => metadata?.attachments ?? []).find((one) => one?.id === id);
}
