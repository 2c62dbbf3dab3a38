// @ts-check
/**
 * The arguments of a call in a readable form: nested values in their place, times with their zone.
 * The first card that the user opens loads this module.
 */
import { h } from "../dom/elements.js";
import { parseExact, plainNumber } from "../json/exact.js";
import { format, words } from "../words/strings.js";
import { TIME_WORDS, localTime, zoneOf } from "../words/times.js";
import { textBlock } from "./text-block.js";

/** The words of this module. */
export const ARGUMENT_WORDS = {
  ...TIME_WORDS,
  changedBy: "Changed by {name} before it ran.",
  changedBefore: "Changed before it ran.",
  empty: "Empty",
};

/** @typedef {import("../words/strings.js").Strings & typeof ARGUMENT_WORDS} Words */

const MAX_DEPTH = 6;
const MAX_ENTRIES = 100;
const LONG_VALUE = 3000;
const MASK = "••••••••";

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
  return valueView(all, { ...ARGUMENT_WORDS, ...strings }, secrets, 0);
}

/**
 * @param {unknown} value @param {Words} strings
 * @param {import("../json/schema-parts.js").Secrets | undefined} secrets @param {number} depth
 * @returns {Node | string}
 */
function valueView(value, strings, secrets, depth) {
  const muted = (/** @type {string} */ text) => h("span", { class: "muted" }, text);
  if (value === null) return muted(strings.nothing);
  if (typeof value === "boolean") return value ? strings.yes : strings.no;
  if (typeof value === "string" && value) return secrets?.hides ? MASK : textView(value, strings);
  if (secrets?.hides && typeof value === "number") return MASK;
  if (typeof value === "number" || plainNumber(value) !== value) return String(value);
  const entries = Object.entries(Object(value));
  if (!entries.length) return muted(strings.empty);
  if (secrets?.hides) return MASK;
  if (depth >= MAX_DEPTH || entries.length > MAX_ENTRIES) return textBlock(value, strings);
  /** @param {string | number} key @param {unknown} part */
  const within = (key, part) => valueView(part, strings, secrets?.within(key), depth + 1);
  if (Array.isArray(value)) {
    const items = value.map((part, index) => h("li", {}, within(index, part)));
    return h("ul", { class: "values" }, ...items);
  }
  const fields = entries.flatMap(([key, part]) => {
    return [h("dt", {}, words(key)), h("dd", {}, within(key, part))];
  });
  return h("dl", { class: "arguments" }, ...fields);
}

/** @param {string} text @param {Words} strings */
function textView(text, strings) {
  if (text.length > LONG_VALUE) return textBlock(text, strings);
  const zone = zoneOf(text);
  if (zone === undefined) return text;
  const time = localTime(text, strings.lang) ?? text;
  return h("span", { title: text }, `${time} (${zone || strings.noZone})`);
}

/** @param {unknown} one @returns {one is object} */
function isObject(one) {
  return one !== null && typeof one === "object" && !Array.isArray(one);
}
