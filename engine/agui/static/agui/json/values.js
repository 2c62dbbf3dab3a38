// @ts-check
/** What a JSON Schema asks of a JSON value: its type, what it equals, of what it is a multiple. */

/** @type {Record<string, (value: unknown) => boolean>} */
const TYPES = {
  // @ts-ignore: without a prototype, "toString" is no type
  __proto__: null,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => isRecord(value),
};

/** @param {unknown} value @param {string} type */
export function isOfType(value, type) {
  return Boolean(TYPES[type]?.(value));
}

/**
 * Whether it is an object, and no list.
 * @param {unknown} value @returns {value is Record<string, unknown>}
 */
export function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as JSON, with sorted names. @param {unknown} value @returns {string} */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

/** @param {number} value @param {number} step */
export function isMultiple(value, step) {
  const times = value / step;
  return Number.isFinite(times) && Math.abs(times - Math.round(times)) < 1e-9;
}
