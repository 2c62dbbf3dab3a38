// @ts-check
/**
 * The row of an answered card: what the user has decided, how many decisions are left, and a button
 * to take it back until the last one sends all.
 */
import { h, icon, setText } from "../dom/elements.js";
import { format } from "../words/strings.js";

/** @typedef {import("../types.d.ts").Decision} Decision */

/** In English; the tables of other languages have these, too. */
export const RECORD_WORDS = {
  approvedIt: "Approved",
  approvedChanged: "Approved with changes",
  deniedIt: "Denied",
  deniedBecause: "Denied: {reason}",
  answeredIt: "Answered",
  skippedIt: "Skipped",
  dismissedIt: "Dismissed",
  takeBack: "Change",
};

/** @param {Decision | undefined} decision @returns {import("../types.d.ts").Approval} */
export function approvalOf(decision) {
  return Object(decision?.status === "resolved" && decision.payload);
}

/**
 * Say what a decision is.
 * @param {Decision} decision @param {typeof RECORD_WORDS} words @param {boolean} expired
 */
export function verdict(decision, words, expired) {
  if (decision.status === "cancelled") return expired ? words.dismissedIt : words.skippedIt;
  const { approved, editedArgs, reason } = approvalOf(decision);
  if (approved === true) return editedArgs ? words.approvedChanged : words.approvedIt;
  if (approved !== false) return words.answeredIt;
  return reason ? format(words.deniedBecause, { reason }) : words.deniedIt;
}

/** @param {import("../types.d.ts").Strings} strings @param {() => void} onclick */
export function recordView(strings, onclick) {
  const words = { ...RECORD_WORDS, ...strings };
  const mark = h("span", { class: "record-icon" });
  const text = h("span", { class: "verdict", dir: "auto" });
  // The bar of all open questions writes how many are left.
  const left = h("span", { class: "to-go muted" });
  const change = h("button", { type: "button", class: "button quiet", onclick }, words.takeBack);
  const element = h("div", { class: "record", hidden: true }, mark, text, left, change);
  /** @param {Decision | undefined} decision @param {boolean} expired */
  const update = (decision, expired) => {
    element.hidden = !decision;
    if (!decision) return;
    const isYes = decision.status === "resolved" && approvalOf(decision).approved !== false;
    const name = isYes ? "check" : "close";
    if (mark.dataset.name !== name) mark.replaceChildren(icon(name));
    mark.dataset.name = name;
    setText(text, verdict(decision, words, expired));
  };
  return { element, update };
}
