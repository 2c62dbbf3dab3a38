// @ts-check
/** The names of tools and the states of their questions. */
import { asksInput, isExpired } from "./conversation.js";
import { heading } from "./strings.js";

/**
 * Return the state of an open question.
 * @param {any} interrupt @returns {"toolAsks" | "toolExpired" | "toolWaiting"}
 */
export function openText(interrupt) {
  if (isExpired(interrupt)) return "toolExpired";
  return asksInput(interrupt) ? "toolAsks" : "toolWaiting";
}

/**
 * Return the name for users.
 * @param {string} name @param {Map<string, any>} tools @param {any} [interrupt] @returns {string}
 */
export function toolLabel(name, tools, interrupt) {
  const summary = tools.get(name)?.summary || interrupt?.metadata?.["x-summary"];
  return summary || heading(name);
}
