// @ts-check
/**
 * The card of an interrupt: the user approves (with changes or without), denies, fills in a form,
 * or dismisses an expired question. The first interrupt loads this module, because most chats never
 * ask.
 */
import { argumentList, hidden } from "../tools/arguments.js";
import { asksInput, isExpired } from "../conversation/conversation.js";
import { h } from "../dom/elements.js";
import { argumentsOf, editable, onlyFree, withDefaults } from "./edited-arguments.js";
import { isOneLine, sendWithEnter } from "./form-keys.js";
import { guard } from "./guard.js";
import { approvalOf, recordView } from "./record.js";
import { revealOnFocus } from "./reveal.js";
import { secretsOf } from "../json/schema-parts.js";
import { format } from "../words/strings.js";

/** @typedef {import("../types.d.ts").Approval} Approval */
/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").Interrupt} Interrupt */
/** @typedef {import("../types.d.ts").Schema} Schema */

/** A question that expires within this time says so. */
const SOON_MS = 60 * 60 * 1000;
/** A folded object of a list hides its fields. */
const FIRST_FIELD = "summary, input, select, textarea";

/** The words of a question. */
export const QUESTION_WORDS = {
  confirm: "Allow “{tool}”?",
  approve: "Approve",
  edit: "Edit",
  approveEdited: "Approve with changes",
  deny: "Deny",
  reason: "Reason for the assistant (optional)",
  back: "Back",
  expiresAt: "Answer by {time}.",
  ask: "Your answer is needed to continue.",
  sendAnswer: "Send answer",
  skip: "Skip",
  expired: "This has expired: it can no longer be answered.",
  dismiss: "Dismiss",
};

export class Question {
  #strings;
  #decide;
  #context;
  /**
   * The last state drawn. A form is rebuilt only if the state changes, so that typed text survives.
   */
  #built = "";
  #id = "";
  /** @type {Decision | undefined} */
  #decision;
  /** Show what is asked, or what the user has decided about it. */
  #draw = (/** @type {Decision | undefined} */ _decision) => {};
  #record;
  element = h("div", { class: "question", role: "group", tabindex: "-1" });

  /** @param {import("../types.d.ts").CardContext} context */
  constructor(context) {
    this.#strings = { ...QUESTION_WORDS, ...context.strings };
    this.#decide = context.decide;
    this.#context = context;
    this.#record = recordView(context.strings, () => this.#takeBack());
    revealOnFocus(this.element);
    guard(this.element, this.#strings);
  }

  /**
   * @param {Interrupt} interrupt
   * @param {Decision | undefined} decision
   * @param {string} label the name of the tool for users
   * @param {string} [json] the arguments of the call to approve, if they are known
   */
  update(interrupt, decision, label, json) {
    const { ask, confirm } = this.#strings;
    const expired = isExpired(interrupt);
    const own = interrupt.message || interrupt.metadata?.["x-confirm"];
    const isForm = asksInput(interrupt);
    const message = own || (isForm ? ask : format(confirm, { tool: label }));
    const { id, responseSchema } = interrupt;
    const built = JSON.stringify([id, expired, message, responseSchema, !isForm && json]);
    if (built !== this.#built) {
      const focused = this.element.matches(":focus-within");
      this.#draw = () => {};
      this.#decision = undefined;
      const text = h("p", { class: "question-text" }, message);
      const parts = this.#parts(interrupt, expired, json);
      this.element.replaceChildren(text, ...parts, this.#record.element, this.#deadline(interrupt));
      this.element.setAttribute("aria-label", message);
      if (focused) this.element.focus();
    }
    this.#built = built;
    this.#id = id;
    this.element.dataset.interrupt = id;
    this.element.toggleAttribute("data-decided", Boolean(decision));
    this.#record.update(decision, expired);
    if (decision !== this.#decision) this.#draw(decision);
    this.#decision = decision;
  }

  /** A stray Enter must not decide again: the focus goes to the question. */
  #takeBack() {
    this.#decide(this.#id, null);
    this.element.focus();
  }

  /**
   * @param {Interrupt} interrupt @param {boolean} expired
   * @param {string} [json] @returns {HTMLElement[]}
   */
  #parts(interrupt, expired, json) {
    if (expired) return this.#expired(interrupt);
    return asksInput(interrupt) ? this.#form(interrupt) : this.#approval(interrupt, json);
  }

  /** @param {Interrupt} interrupt */
  #deadline({ expiresAt = "" }) {
    const { lang, expiresAt: text } = this.#strings;
    const end = Date.parse(expiresAt);
    const left = end - Date.now();
    if (!(left > 0 && left < SOON_MS)) return "";
    const time = new Intl.DateTimeFormat(lang, { timeStyle: "short" }).format(end);
    return h("p", { class: "muted" }, format(text, { time }));
  }

  /** @param {Interrupt} interrupt */
  #expired({ id }) {
    const { expired, dismiss } = this.#strings;
    return [h("p", { class: "muted" }, expired), buttons(this.#cancel(id, dismiss))];
  }

  /**
   * Show the question with its buttons, the arguments as a form, or a field for the reason.
   * @param {Interrupt} interrupt @param {string} [json]
   */
  #approval({ id, metadata, responseSchema }, json) {
    const { approve, edit, deny } = this.#strings;
    const place = h("div", { class: "question-view" });
    // The server sends the arguments that the tool will get, with defaults and the user's earlier
    // changes.
    const { arguments: all = json, edited: given = json ?? all } = metadata ?? {};
    const schema = given === undefined ? null : editable(responseSchema);
    const secrets = schema
      ? secretsOf([schema], schema)
      : hidden(this.#context.tools.get(metadata?.toolName ?? "")?.secrets ?? []);
    /** @param {string} [text] */
    const about = (text) => {
      if (text === undefined) return "";
      return argumentList(text, this.#strings, secrets);
    };
    this.#draw = (decision) => {
      const { editedArgs } = approvalOf(decision);
      const shown = editedArgs ? withDefaults(editedArgs, given, all) : all;
      place.replaceChildren(about(shown), choices);
    };
    /** @param {Approval} payload */
    const decide = (payload) => {
      /** @type {Decision} */
      const decision = { status: "resolved", payload };
      this.#draw(decision);
      this.#decide(id, decision);
    };
    const back = () => {
      this.#draw(undefined);
      this.element.focus();
    };
    /** @param {HTMLElement} view @param {...(Node | string)} above */
    const show = (view, ...above) => {
      place.replaceChildren(...above, view);
      /** @type {HTMLElement | null} */ (view.querySelector(FIRST_FIELD))?.focus();
    };
    const style = metadata?.["x-destructive"] ? "danger" : "primary";
    const accept = () => decide({ approved: true });
    const yes = { class: `button ${style}`, part: "approve", onclick: accept };
    /** @type {HTMLElement | undefined} */
    let changes;
    /** @type {HTMLElement | undefined} */
    let denial;
    const form = onlyFree(schema);
    const openForm = async () => {
      const module = await this.#loadForm();
      if (!module || this.#decision) return;
      show((changes ??= this.#changes(module, form, given, style, decide, back)));
    };
    const change = { class: "button", onclick: openForm };
    const openDenial = () => show((denial ??= this.#denial(decide, back)), about(all));
    const no = { class: "button", part: "deny", onclick: openDenial };
    const choices = buttons(
      button(approve, yes),
      schema && button(edit, change),
      button(deny, no),
    );
    place.append(about(all), choices);
    return [place];
  }

  /**
   * Show the arguments as a form.
   * @param {typeof import("./answer-form.js")} module @param {Schema | null} schema
   * @param {string | undefined} json @param {string} style
   * @param {(payload: Approval) => void} decide @param {() => void} back
   */
  #changes(module, schema, json, style, decide, back) {
    const given = argumentsOf(json);
    const { element, read } = module.answerForm(schema, this.#strings, given);
    const send = h("button", { class: `button ${style}` }, this.#strings.approveEdited);
    const onsend = () => {
      const edited = read();
      decide({ approved: true, ...(edited !== given && { editedArgs: edited }) });
    };
    return this.#step(element, send, onsend, back);
  }

  /** @param {(payload: Approval) => void} decide @param {() => void} back */
  #denial(decide, back) {
    const { deny, reason: text } = this.#strings;
    const input = h("input", { class: "entry", dir: "auto", maxlength: 2000 });
    const onsend = () => {
      const reason = input.value.trim();
      decide({ approved: false, ...(reason && { reason }) });
    };
    const label = h("label", { class: "field" }, h("span", {}, text), input);
    const send = h("button", { class: "button" }, deny);
    return this.#step(label, send, onsend, back);
  }

  /**
   * @param {HTMLElement} fields @param {HTMLElement} send @param {() => void} onsend
   * @param {() => void} back
   */
  #step(fields, send, onsend, back) {
    const onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      onsend();
    };
    const onkeydown = (/** @type {KeyboardEvent} */ event) => {
      sendWithEnter(event, event.ctrlKey || event.metaKey);
      if (event.key !== "Escape") return;
      // Don't let Escape bubble, because it would stop a run or close the chat.
      event.stopPropagation();
      back();
    };
    const look = { type: "button", class: "button quiet", onclick: back };
    const leave = h("button", look, this.#strings.back);
    return h("form", { onsubmit, onkeydown }, fields, buttons(send, leave));
  }

  /** The fields are a file of their own, which the first question loads, too. */
  #loadForm() {
    return this.#context.load(() => import("./answer-form.js"));
  }

  /** @param {Interrupt} interrupt */
  #form({ id, responseSchema }) {
    const { sendAnswer, skip } = this.#strings;
    let read = () => /** @type {unknown} */ (undefined);
    const place = h("div");
    const onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#decide(id, { status: "resolved", payload: read() });
    };
    // A changed answer is not valid until the user sends it again.
    const oninput = () => this.#decide(id, null);
    const onkeydown = (/** @type {KeyboardEvent} */ event) => {
      sendWithEnter(event, event.ctrlKey || event.metaKey || isOneLine(event));
    };
    const look = { type: "submit", class: "button primary", disabled: true };
    const send = button(sendAnswer, look);
    this.#loadForm().then((module) => {
      if (!module) return;
      const fields = module.answerForm(responseSchema, this.#strings);
      read = fields.read;
      place.replaceWith(fields.element);
      send.disabled = false;
    });
    const row = buttons(send, this.#cancel(id, skip));
    return [h("form", { onsubmit, oninput, onkeydown }, place, row)];
  }

  /** @param {string} id @param {string} text */
  #cancel(id, text) {
    const onclick = () => this.#decide(id, { status: "cancelled" });
    return button(text, { class: "button quiet", onclick });
  }
}

/** @param {string} text @param {Record<string, unknown>} attributes */
function button(text, attributes) {
  return h("button", { type: "button", ...attributes }, text);
}

/** @param {...(Node | null)} children */
function buttons(...children) {
  return h("div", { class: "question-buttons" }, ...children);
}
