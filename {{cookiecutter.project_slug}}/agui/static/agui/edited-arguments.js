// @ts-check
/** The arguments of a call as the user may change them before the tool runs. */
import { parseExact } from "./exact.js";

/** @typedef {import("./types.d.ts").Schema} Schema */

/**
 * Return the arguments; none if the text is not JSON.
 * @param {string} [json] @returns {Record<string, unknown>}
 */
export function argumentsOf(json = "") {
  try {
    return Object(parseExact(json));
  } catch {
    return {};
  }
}

/**
 * Add the tool's own defaults to the changed arguments.
 * @param {unknown} edited @param {string} [given] @param {string} [all]
 */
export function withDefaults(edited, given, all) {
  const before = argumentsOf(given);
  const added = Object.entries(argumentsOf(all)).filter(([key]) => !Object.hasOwn(before, key));
  return JSON.stringify({ ...Object.fromEntries(added), ...Object(edited) });
}

/**
 * Return the schema of what the arguments may be changed to, if there are any.
 * @param {Schema} [schema] of the answer
 */
export function editable(schema) {
  const own = schema?.properties?.editedArgs;
  if (!own?.properties || !Object.keys(own.properties).length) return null;
  return { ...own, $defs: schema?.$defs };
}
