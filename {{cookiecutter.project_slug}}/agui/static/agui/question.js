// @ts-check
/**
 * What an interrupt asks of the user: to approve, with changes or without, or to deny; to fill in a form; or to put away
 * what came too late. Loaded with the first interrupt: most chats never ask.
 */
import { answerForm } from "./answer-form.js";
import { argumentList } from "./arguments.js";
import { asksInput, isExpired } from "./conversation.js";
import { h, setAttribute } from "./dom.js";
import { parseExact } from "./exact.js";
import { secretsOf } from "./schema.js";
import { format } from "./strings.js";

/** @typedef {import("./session.js").Decision} Decision */

/** What expires within this time says so. */
const SOON_MS = 60 * 60 * 1000;

/** The words of a question. */
export const QUESTION_WORDS = {
  confirm: "Allow “{tool}”?",
  approve: "Approve",
  edit: "Edit",
  approveEdited: "Approve with changes",
  deny: "Deny",
  reason: "Reason for the assistant (optional)",
  back: "Back",
  expiresAt: "To be answered by {time}.",
  ask: "Your answer is needed to go on.",
  sendAnswer: "Send answer",
  skip: "Skip",
  expired: "This has expired: it can no longer be answered.",
  dismiss: "Dismiss",
};

export class Question {
  #strings;
  #decide;
  /** What was built last: what is typed into a form survives everything that changes nothing of it. */
  #built = "";
  /** @type {{ button: HTMLElement, fits: (decision: Decision) => boolean }[]} */
  #buttons = [];
  element = h("div", { class: "question", role: "group", tabindex: "-1" });

  /** @param {import("./tool-card.js").Context} context */
  constructor({ strings, decide }) {
    this.#strings = { ...QUESTION_WORDS, ...strings };
    this.#decide = decide;
  }

  /**
   * @param {any} interrupt
   * @param {Decision | undefined} decision
   * @param {string} label the tool's, as a person reads it
   * @param {string} [json] the arguments that an approval is about, if they are known
   */
  update(interrupt, decision, label, json) {
    const { ask, confirm } = this.#strings;
    const expired = isExpired(interrupt);
    const own = interrupt.message || interrupt.metadata?.["x-confirm"];
    const message = own || (asksInput(interrupt) ? ask : format(confirm, { tool: label }));
    const built = JSON.stringify([interrupt.id, expired, message, interrupt.responseSchema, !asksInput(interrupt) && json]);
    if (built !== this.#built) {
      const focused = this.element.matches(":focus-within");
      const build = expired ? this.#expired : asksInput(interrupt) ? this.#form : this.#approval;
      this.#buttons = [];
      this.element.replaceChildren(h("p", { class: "question-text" }, message), ...build.call(this, interrupt, json), this.#deadline(interrupt));
      this.element.setAttribute("aria-label", message);
      if (focused) this.element.focus();
    }
    this.#built = built;
    for (const { button, fits } of this.#buttons) setAttribute(button, "aria-pressed", decision ? String(fits(decision)) : null);
  }

  /** @param {any} interrupt */
  #deadline({ expiresAt }) {
    const { lang, expiresAt: text } = this.#strings;
    const left = Date.parse(expiresAt) - Date.now();
    if (!(left > 0 && left < SOON_MS)) return "";
    const time = new Intl.DateTimeFormat(lang, { timeStyle: "short" }).format(Date.parse(expiresAt));
    return h("p", { class: "muted" }, format(text, { time }));
  }

  /** @param {any} interrupt */
  #expired({ id }) {
    const { expired, dismiss } = this.#strings;
    return [h("p", { class: "muted" }, expired), buttons(this.#cancel(id, dismiss))];
  }

  /** What it is about with the choices, or the arguments as a form, or a field for the reason. @param {any} interrupt @param {string} [json] */
  #approval({ id, metadata, responseSchema }, json) {
    const { approve, edit, deny } = this.#strings;
    const place = h("div", { class: "question-view" });
    // The server says what the tool will get, defaults included, and what the user had changed before.
    const { arguments: all = json, edited: given = json ?? all } = metadata ?? {};
    const schema = given === undefined ? null : editable(responseSchema);
    /** @param {string} [text] */
    const about = (text) => (text === undefined ? "" : argumentList(text, this.#strings, secretsOf([schema], schema)));
    const decide = (payload) => {
      place.replaceChildren(about(payload.editedArgs ? withDefaults(payload.editedArgs, given, all) : all), choices);
      this.#decide(id, { status: "resolved", payload });
    };
    const back = () => {
      place.replaceChildren(about(all), choices);
      this.element.focus();
    };
    const show = (view) => {
      place.replaceChildren(view);
      view.querySelector("input, select, textarea").focus();
    };
    const style = metadata?.["x-destructive"] ? "danger" : "primary";
    const yes = { class: `button ${style}`, part: "approve", onclick: () => decide({ approved: true }) };
    /** @type {any} */ let changes;
    /** @type {any} */ let denial;
    const change = { class: "button", onclick: () => show((changes ??= this.#changes(schema, given, style, decide, back))) };
    const no = { class: "button quiet", part: "deny", onclick: () => show((denial ??= this.#denial(decide, back))) };
    const choices = buttons(
      this.#button(approve, yes, ({ payload }) => payload?.approved && !payload.editedArgs),
      schema && this.#button(edit, change, ({ payload }) => payload?.editedArgs),
      this.#button(deny, no, ({ payload }) => payload?.approved === false),
    );
    place.append(about(all), choices);
    return [place];
  }

  /**
   * The arguments as a form.
   * @param {any} schema @param {string} json @param {string} style @param {(payload: any) => void} decide @param {() => void} back
   */
  #changes(schema, json, style, decide, back) {
    const given = argumentsOf(json);
    const { element, read } = answerForm(schema, this.#strings, given);
    const send = h("button", { class: `button ${style}` }, this.#strings.approveEdited);
    const onsend = () => {
      const edited = read();
      decide({ approved: true, ...(edited !== given && { editedArgs: edited }) });
    };
    return this.#step(element, send, onsend, back);
  }

  /** @param {(payload: any) => void} decide @param {() => void} back */
  #denial(decide, back) {
    const { deny, reason } = this.#strings;
    const input = h("input", { class: "entry", maxlength: 2000 });
    const send = () => decide({ approved: false, ...(input.value.trim() && { reason: input.value.trim() }) });
    return this.#step(h("label", { class: "field" }, h("span", {}, reason), input), h("button", { class: "button danger" }, deny), send, back);
  }

  /** @param {HTMLElement} fields @param {HTMLElement} send @param {() => void} onsend @param {() => void} back */
  #step(fields, send, onsend, back) {
    const onsubmit = (event) => {
      event.preventDefault();
      onsend();
    };
    const onkeydown = (event) => {
      sendWithEnter(event, event.ctrlKey || event.metaKey);
      if (event.key !== "Escape") return;
      event.stopPropagation(); // Further up, Escape would stop a run or close the chat
      back();
    };
    const leave = h("button", { type: "button", class: "button quiet", onclick: back }, this.#strings.back);
    return h("form", { onsubmit, onkeydown }, fields, buttons(send, leave));
  }

  /** @param {any} interrupt */
  #form({ id, responseSchema }) {
    const { sendAnswer, skip } = this.#strings;
    const { element, read } = answerForm(responseSchema, this.#strings);
    const onsubmit = (event) => {
      event.preventDefault();
      this.#decide(id, { status: "resolved", payload: read() });
    };
    // An answer that is changed is none until it is sent again.
    const oninput = () => this.#decide(id, null);
    const onkeydown = (event) => sendWithEnter(event, event.ctrlKey || event.metaKey || isOneLine(event));
    const send = this.#button(sendAnswer, { type: "submit", class: "button primary" }, ({ status }) => status === "resolved");
    return [h("form", { onsubmit, oninput, onkeydown }, element, buttons(send, this.#cancel(id, skip)))];
  }

  /** @param {string} id @param {string} text */
  #cancel(id, text) {
    const onclick = () => this.#decide(id, { status: "cancelled" });
    return this.#button(text, { class: "button quiet", onclick }, ({ status }) => status === "cancelled");
  }

  /** @param {string} text @param {Record<string, any>} attributes @param {(decision: any) => boolean} fits */
  #button(text, attributes, fits) {
    const button = h("button", { type: "button", ...attributes }, text);
    this.#buttons.push({ button, fits: (decision) => Boolean(fits(decision)) });
    return button;
  }
}

/** @param {KeyboardEvent} event @param {boolean} mayHere */
function sendWithEnter(event, mayHere) {
  const { key, isComposing, target } = event;
  if (key !== "Enter" || isComposing || !mayHere || !(target instanceof HTMLTextAreaElement)) return;
  event.preventDefault();
  target.form?.requestSubmit();
}

/** Is a text all that is asked for, and written in one line so far? @param {KeyboardEvent} event */
function isOneLine({ shiftKey, target }) {
  const { form, value = "" } = /** @type {HTMLTextAreaElement} */ (target);
  return !shiftKey && !value.includes("\n") && form?.querySelectorAll("input, select, textarea:not(.json)").length === 1;
}

/** @param {string} json @returns {any} what there is to change */
function argumentsOf(json) {
  try {
    return Object(parseExact(json));
  } catch {
    return {};
  }
}

/** The changed arguments, with those that the tool adds by itself. @param {any} edited @param {string} given @param {string} all @returns {string} */
function withDefaults(edited, given, all) {
  const before = argumentsOf(given);
  const added = Object.entries(argumentsOf(all)).filter(([key]) => !Object.hasOwn(before, key));
  return JSON.stringify({ ...Object.fromEntries(added), ...edited });
}

/** What the arguments may be changed to, if there are any. @param {any} schema of the answer */
function editable(schema) {
  const own = schema?.properties?.editedArgs;
  return own?.properties && Object.keys(own.properties).length ? { ...own, $defs: schema.$defs } : null;
}

/** @param {...(Node | null)} children */
function buttons(...children) {
  return h("div", { class: "question-buttons" }, ...children);
}
