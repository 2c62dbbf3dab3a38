// @ts-check
/** The user's decisions about the open questions of a thread, until they are sent. */
import { asksInput, isExpired } from "../conversation/conversation.js";

/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").Interrupt} Interrupt */

const MAX_TIMER_MS = 2 ** 31 - 1;
/** The server accepts no longer reason. */
const MAX_REASON_CHARS = 2000;

export class Answers {
  /** @type {Map<string, Decision>} */
  #decisions = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #expiry;

  /**
   * Answer a question, or take the answer back. Returns false if there was none.
   * @param {string} id @param {Decision | null} decision
   */
  decide(id, decision) {
    if (!decision) return this.#decisions.delete(id);
    this.#decisions.set(id, decision);
    return true;
  }

  /**
   * The decision that is still valid: the user can only dismiss an expired question.
   * @param {Interrupt} interrupt
   */
  on(interrupt) {
    const decision = this.#decisions.get(interrupt.id);
    return decision?.status === "resolved" && isExpired(interrupt) ? undefined : decision;
  }

  /**
   * Deny what is not answered yet. Recorded answers stay.
   * @param {Interrupt[]} interrupts @param {string} reason
   */
  deny(interrupts, reason) {
    for (const interrupt of interrupts) {
      if (!this.on(interrupt)) this.decide(interrupt.id, denial(interrupt, reason));
    }
  }

  /** @param {Interrupt[]} interrupts */
  areComplete(interrupts) {
    return interrupts.every((interrupt) => this.on(interrupt));
  }

  /**
   * The decisions in the server's format.
   * @param {Interrupt[]} interrupts @returns {import("../types.d.ts").ResumeEntry[]}
   */
  entries(interrupts) {
    return interrupts.map((interrupt) => {
      return { interruptId: interrupt.id, .../** @type {Decision} */ (this.on(interrupt)) };
    });
  }

  /** @param {Interrupt[]} interrupts */
  byCall(interrupts) {
    return new Map(interrupts.map((interrupt) => [interrupt.toolCallId ?? "", this.on(interrupt)]));
  }

  clear() {
    this.#decisions.clear();
  }

  /**
   * Call back when the first of these expires.
   * @param {Interrupt[]} interrupts @param {() => void} expired
   */
  watch(interrupts, expired) {
    clearTimeout(this.#expiry);
    const left = interrupts
      .map(({ expiresAt = "" }) => Date.parse(expiresAt) - Date.now())
      .filter((ms) => ms > 0);
    if (left.length) this.#expiry = setTimeout(expired, Math.min(...left, MAX_TIMER_MS));
  }

  stopWatching() {
    clearTimeout(this.#expiry);
  }
}

/**
 * The answer that lets nothing happen: a form, or an expired question, is only cancelled.
 * @param {Interrupt} interrupt @param {string} [text] the reason @returns {Decision}
 */
export function denial(interrupt, text = "") {
  if (asksInput(interrupt) || isExpired(interrupt)) return { status: "cancelled" };
  const reason = [...text].slice(0, MAX_REASON_CHARS).join("");
  return { status: "resolved", payload: { approved: false, ...(reason && { reason }) } };
}
