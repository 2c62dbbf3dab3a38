// @ts-check
/**
 * A call that the page draws, in an element of its own: the element is the page's, so that its
 * styles apply, and stands in a slot of the card. The first such call loads this module.
 */
import { asksInput, isExpired } from "../conversation/conversation.js";
import { h, setAttribute } from "../dom/elements.js";
import { adopt } from "../dom/own-style.js";
import { parsePartial } from "../json/partial.js";
import { isRecord } from "../json/values.js";

/** @typedef {import("../agui-chat.d.ts").ShownCall} ShownCall */
/** @typedef {import("../agui-chat.d.ts").AskedCall} AskedCall */
/** @typedef {import("../types.d.ts").CardContext} Context */
/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").Interrupt} Interrupt */
/**
 * @typedef {{
 *   call: import("../types.d.ts").ToolCall, state: import("../types.d.ts").Call,
 *   interrupt?: Interrupt, decision?: Decision, label: string,
 * }} Shown
 */

const STYLE = `
.tool.faced { border: 0; border-radius: 0; box-shadow: none; font-size: inherit; }
.tool.faced { overflow: visible; }
.tool.faced > :not(.face) { display: none; }
.tool:not(.faced) > .face { display: none; }
.tool > .face { display: block; padding: 0; }
`;

let count = 0;
/** @type {Map<HTMLElement, PageView>} by card */
const views = new Map();

/**
 * Let the page draw a call in its card; false if the card is to show it.
 * @param {HTMLElement} card @param {Context} context
 * @param {string} label the tool's name for users
 * @param {any[]} shown the call, its state, its question, and the user's decision
 */
export function drawCall(card, context, label, [call, state, interrupt, decision]) {
  const draws = context.seams.has(`tool ${call.function.name}`);
  if (draws && !views.has(card)) views.set(card, new PageView(context, card));
  return views.get(card)?.show({ call, state, interrupt, decision, label });
}

/** Remove the elements of calls whose messages are gone: they are not in the shadow root. */
export function removeDrawings() {
  for (const [card, view] of views) {
    if (card.closest(".messages")) continue;
    views.delete(card);
    view.remove();
  }
}

class PageView {
  #context;
  #card;
  /** The element of the page: one for the whole life of the call. */
  #light;
  #face;

  /** @param {Context} context @param {HTMLElement} card */
  constructor(context, card) {
    const name = `tool-${(count += 1)}`;
    this.#context = context;
    this.#card = card;
    this.#light = h("div", { slot: name });
    this.#face = h("div", { class: "face" }, h("slot", { name }));
  }

  remove() {
    this.#light.remove();
  }

  /** @param {Shown} shown */
  show(shown) {
    const view = /** @type {import("../agui-chat.d.ts").ToolView | undefined} */ (
      this.#context.seams.get(`tool ${shown.call.function.name}`)
    );
    if (!view) this.#light.remove();
    const draw = view && drawing(view, shown);
    if (!draw) return this.#turn(false);
    const { interrupt, decision } = shown;
    const { host } = this.#context;
    const isOpen = Boolean(interrupt && !decision);
    if (!this.#light.isConnected) host.append(this.#light);
    if (!this.#face.isConnected) this.#card.append(this.#face);
    // The card of a call that comes at once, with its result, is nowhere yet.
    adopt(host.shadowRoot ?? host, STYLE);
    // The focus goes to open questions, and from one to the next.
    this.#face.classList.toggle("question", isOpen);
    for (const [name, value] of Object.entries({ role: "group", tabindex: "-1" })) {
      setAttribute(this.#face, name, interrupt ? value : null);
    }
    try {
      const seen = /** @type {AskedCall} */ (this.#seen(shown));
      setAttribute(this.#face, "aria-label", interrupt ? seen.message : null);
      draw.call(view, seen, this.#light);
      this.#turn(true);
      // The card's own question goes, and must not take the focus with it.
      const focused = [...this.#card.children].find((one) => one.matches(":focus-within"));
      if (focused !== this.#face && focused?.matches(".question")) this.#face.focus();
      return true;
    } catch (error) {
      console.error("agui-chat:", error);
      return this.#turn(false);
    }
  }

  /** @param {boolean} isDrawn */
  #turn(isDrawn) {
    this.#card.classList.toggle("faced", isDrawn);
    if (!isDrawn) this.#face.classList.remove("question");
    return isDrawn;
  }

  /** @param {Shown} shown @returns {ShownCall | AskedCall} */
  #seen({ call, state, interrupt, decision, label }) {
    const { status, step, percent, edited } = state;
    const json = interrupt?.metadata?.arguments ?? edited?.json ?? call.function.arguments;
    const args = parsePartial(json);
    const seen = {
      id: call.id, name: call.function.name, args: isRecord(args) ? args : {}, status,
      result: valueOf(state.result), step, percent,
    };
    if (!interrupt) return seen;
    const message = interrupt.message || interrupt.metadata?.["x-confirm"] || label;
    return { ...seen, message, answered: answerOf(decision), ...this.#answers(interrupt.id) };
  }

  /**
   * What the page's buttons do; both may be listeners, whose event is no argument.
   * @param {string} id of the question
   */
  #answers(id) {
    /** @param {import("../types.d.ts").Approval} payload */
    const decide = (payload) => this.#context.decide(id, { status: "resolved", payload });
    /** @param {unknown} [editedArgs] */
    const approve = (editedArgs) => {
      const isEdited = isRecord(editedArgs) && !(editedArgs instanceof Event);
      decide({ approved: true, ...(isEdited && { editedArgs }) });
    };
    /** @param {unknown} [reason] */
    const deny = (reason) => {
      decide({ approved: false, ...(typeof reason === "string" && reason && { reason }) });
    };
    return { approve, deny };
  }
}

/**
 * The page's function for this state; forms and expired questions are the card's.
 * @param {import("../agui-chat.d.ts").ToolView} view @param {Shown} shown
 */
function drawing(view, { state: { status }, interrupt }) {
  if (interrupt) return asksInput(interrupt) || isExpired(interrupt) ? null : view.approval;
  if (status === "streaming" || status === "running") return view.running;
  return status === "success" ? view.done : status !== "waiting" && view.failed;
}

/** @param {Decision | undefined} decision */
function answerOf(decision) {
  if (!decision) return undefined;
  const approval = decision.status === "resolved" ? Object(decision.payload) : {};
  return approval.approved ? /** @type {const} */ ("approved") : /** @type {const} */ ("denied");
}

/** A result that is JSON as its value, any other as it is. @param {unknown} result */
function valueOf(result) {
  if (typeof result !== "string") return result;
  try {
    return JSON.parse(result);
  } catch {
    return result;
  }
}
