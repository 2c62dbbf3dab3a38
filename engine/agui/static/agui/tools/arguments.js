// @ts-check
/**
 * The arguments of a call in a readable form: nested values in their place, times with their zone.
 * The first card that the user opens loads this module.
 */
import { h } from "../dom/elements.js";
import { parseExact } from "../json/exact.js";
import { format } from "../words/strings.js";
import { TIME_WORDS } from "../words/time-words.js";
import { NESTED_WORDS, argumentsView } from "./nested-values.js";
import { textBlock } from "./text-block.js";

/** The words of this module. */
export const ARGUMENT_WORDS = {
  ...TIME_WORDS,
  ...NESTED_WORDS,
  changedBy: "Changed by {name} before it ran.",
  changedBefore: "Changed before it ran.",
};

/**
 * Show the arguments of a call that the user has answered, and who has changed them.
 * @param {string} json @param {{ json: string, by?: string } | undefined} edited
 * @param {import("../words/strings.js").Strings} strings
 * @param {string[][]} [secrets] paths of secret arguments
 */
export function callArguments(json, edited, strings, secrets) {
  const list = argumentList(edited?.json ?? json, strings, secrets && hidden(secrets));
  return edited ? [changeNote(edited, strings), list] : [list];
}

/** @param {{ by?: string }} edited @param {import("../words/strings.js").Strings} strings */
function changeNote({ by }, strings) {
  const { changedBy, changedBefore } = { ...ARGUMENT_WORDS, ...strings };
  return h("p", { class: "muted" }, by ? format(changedBy, { name: by }) : changedBefore);
}

/**
 * Mark the values at these paths as secret.
 * @param {string[][]} paths @returns {import("../json/schema-parts.js").Secrets}
 */
export function hidden(paths) {
  /** @param {string | number} key */
  const within = (key) => {
    const rest = paths.filter(([first]) => first === "*" || first === key);
    return hidden(rest.map(([, ...names]) => names));
  };
  return { hides: paths.some((path) => !path.length), within };
}

/**
 * @param {string} json @param {import("../words/strings.js").Strings} strings
 * @param {import("../json/schema-parts.js").Secrets} [secrets] @returns {Node | string}
 */
export function argumentList(json, strings, secrets) {
  /** @type {unknown} */
  let all;
  try {
    all = parseExact(json);
  } catch {
    return textBlock((!secrets && json) || strings.noArguments, strings);
  }
  if (!isObject(all)) return textBlock(json, strings);
  if (!Object.keys(all).length) return h("p", { class: "muted" }, strings.noArguments);
  return argumentsView(all, { ...ARGUMENT_WORDS, ...strings }, secrets);
}

/** @param {unknown} one @returns {one is object} */
function isObject(one) {
  return one !== null && typeof one === "object" && !Array.isArray(one);
}
