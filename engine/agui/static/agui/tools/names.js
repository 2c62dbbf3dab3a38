// @ts-check
/** The names of tools and the states of their questions. */
import { asksInput, isExpired } from "../conversation/conversation.js";
import { heading } from "../words/strings.js";

/** @typedef {import("../types.d.ts").Interrupt} Interrupt */

/**
 * Return the state of an open question.
 * @param {Interrupt} interrupt @returns {"toolAsks" | "toolExpired" | "toolWaiting"}
 */
export function openText(interrupt) {
  if (isExpired(interrupt)) return "toolExpired";
  return asksInput(interrupt) ? "toolAsks" : "toolWaiting";
}

/**
 * Return the name for users.
 * @param {string} name @param {Map<string, import("../types.d.ts").Tool>} tools
 * @param {Interrupt} [interrupt] @returns {string}
 */
export function toolLabel(name, tools, interrupt) {
  const summary = tools.get(name)?.summary || interrupt?.metadata?.["x-summary"];
  return summary || heading(name);
}
