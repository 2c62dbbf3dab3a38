// @ts-check
/** What can be decided about several open questions at once. This module doesn't use the DOM. */
import { asksInput, isExpired } from "../conversation/conversation.js";

/** @typedef {import("../types.d.ts").Decision} Decision */
/** @typedef {import("../types.d.ts").Interrupt} Interrupt */
/**
 * The open questions: those without an answer, those of them that may be approved together, and
 * whether a message denies any, or only skips forms.
 * @typedef {{ left: Interrupt[], together: Interrupt[], recorded: number, hasApproval: boolean,
 *   keepsSome: boolean }} Open
 */

/** Two or more are worth a button of their own. */
const SEVERAL = 2;

/**
 * Whether an approval destroys nothing, as far as its tool says so. Only such approvals may be
 * given together with others.
 * @param {Interrupt} interrupt
 */
export function mayApproveTogether(interrupt) {
  const { metadata } = interrupt;
  return !asksInput(interrupt) && !isExpired(interrupt) && !metadata?.["x-destructive"];
}

/**
 * @param {Interrupt[]} interrupts
 * @param {(interrupt: Interrupt) => Decision | undefined} decisionOn @returns {Open}
 */
export function openQuestions(interrupts, decisionOn) {
  const left = interrupts.filter((interrupt) => !decisionOn(interrupt));
  const harmless = left.filter(mayApproveTogether);
  const together = harmless.length < SEVERAL ? [] : harmless;
  const approvals = left.filter((interrupt) => !asksInput(interrupt));
  return {
    left,
    together,
    recorded: interrupts.length - left.length,
    hasApproval: approvals.length > 0,
    keepsSome: together.length > 0 && together.length < approvals.length,
  };
}
