// @ts-check
/** The arguments of a call as the user may change them before the tool runs. */
import { parseExact } from "../json/exact.js";

/** @typedef {import("../types.d.ts").Schema} Schema */

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
 * Return the schema of the arguments, if there are any that may be changed.
 * @param {Schema} [schema] of the answer @returns {Schema | null}
 */
export function editable(schema) {
  const own = schema?.properties?.editedArgs;
  if (!own || !Object.values(own.properties ?? {}).some(isFree)) return null;
  return { $defs: schema?.$defs, ...own };
}

/**
 * Leave out the arguments that nobody may change: a form returns them unchanged.
 * @param {Schema | null} schema @returns {Schema | null}
 */
export function onlyFree(schema) {
  const free = Object.entries(schema?.properties ?? {}).filter(([, one]) => isFree(one));
  return schema && { ...schema, properties: Object.fromEntries(free) };
}

/** @param {Schema} schema of an argument */
function isFree({ readOnly }) {
  return !readOnly;
}
