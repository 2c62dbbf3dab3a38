// @ts-check
/** How tools and their questions are called. */
import { asksInput, isExpired } from "./conversation.js";
import { heading } from "./strings.js";

/** How an open question stands. @param {any} interrupt @returns {"toolAsks" | "toolExpired" | "toolWaiting"} */
export function openText(interrupt) {
  if (isExpired(interrupt)) return "toolExpired";
  return asksInput(interrupt) ? "toolAsks" : "toolWaiting";
}

/** The name that a person reads. @param {string} name @param {Map<string, any>} tools @param {any} [interrupt] @returns {string} */
export function toolLabel(name, tools, interrupt) {
  const summary = tools.get(name)?.summary || interrupt?.metadata?.["x-summary"];
  return summary || heading(name);
}
