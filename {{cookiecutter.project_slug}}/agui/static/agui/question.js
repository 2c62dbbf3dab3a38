// @ts-check
/**
 * What an interrupt asks of the user: to approve or deny, to fill in a form, or to put away what came too late.
 * Loaded with the first interrupt: most chats never ask.
 */
import { answerForm } from "./answer-form.js";
import { asksInput, isExpired } from "./conversation.js";
import { h, setAttribute } from "./dom.js";
import { format } from "./strings.js";

/** @typedef {import("./session.js").Decision} Decision */

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
    this.#strings = strings;
    this.#decide = decide;
  }

  /**
   * @param {any} interrupt
   * @param {Decision | undefined} decision
   * @param {string} label the tool's, as a person reads it
   * @param {() => Node} [details] what an approval is about
   */
  update(interrupt, decision, label, details) {
    const { ask, confirm } = this.#strings;
    const expired = isExpired(interrupt);
    const message = interrupt.message || (asksInput(interrupt) ? ask : format(confirm, { tool: label }));
    const built = JSON.stringify([interrupt.id, expired, message, interrupt.responseSchema]);
    if (built !== this.#built) {
      const focused = this.element.matches(":focus-within");
      const build = expired ? this.#expired : asksInput(interrupt) ? this.#form : this.#approval;
      this.#buttons = [];
      this.element.replaceChildren(h("p", { class: "question-text" }, message), ...build.call(this, interrupt, details));
      this.element.setAttribute("aria-label", message);
      if (focused) this.element.focus();
    }
    this.#built = built;
    for (const { button, fits } of this.#buttons) setAttribute(button, "aria-pressed", decision ? String(fits(decision)) : null);
  }

  /** @param {any} interrupt */
  #expired({ id }) {
    const { expired, dismiss } = this.#strings;
    return [h("p", { class: "muted" }, expired), buttons(this.#cancel(id, dismiss))];
  }

  /** @param {any} interrupt @param {(() => Node) | undefined} details */
  #approval({ id, metadata }, details) {
    const { approve, deny } = this.#strings;
    const button = (approved, text, style) =>
      this.#button(
        text,
        {
          class: `button ${style}`, part: approved ? "approve" : "deny",
          onclick: () => this.#decide(id, { status: "resolved", payload: { approved } }),
        },
        ({ payload }) => payload?.approved === approved,
      );
    const style = metadata?.["x-destructive"] ? "danger" : "primary";
    return [...(details ? [details()] : []), buttons(button(true, approve, style), button(false, deny, "quiet"))];
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
    const send = this.#button(sendAnswer, { type: "submit", class: "button primary" }, ({ status }) => status === "resolved");
    return [h("form", { onsubmit, oninput }, element, buttons(send, this.#cancel(id, skip)))];
  }

  /** @param {string} id @param {string} text */
  #cancel(id, text) {
    const onclick = () => this.#decide(id, { status: "cancelled" });
    return this.#button(text, { class: "button quiet", onclick }, ({ status }) => status === "cancelled");
  }

  /** @param {string} text @param {Record<string, any>} attributes @param {(decision: any) => boolean} fits */
  #button(text, attributes, fits) {
    const button = h("button", { type: "button", ...attributes }, text);
    this.#buttons.push({ button, fits });
    return button;
  }
}

/** @param {...Node} children */
function buttons(...children) {
  return h("div", { class: "question-buttons" }, ...children);
}
