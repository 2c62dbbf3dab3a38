// @ts-check
/** How the browser checks an input, and which keyboard it shows. */
import { stepOf } from "../words/typed-times.js";

/** @typedef {import("../types.d.ts").Schema} Schema */
/**
 * @typedef {{
 *   type?: string, step?: number | string, min?: number | null, max?: number | null,
 *   minlength?: number, maxlength?: number, pattern?: string, autocomplete?: string,
 *   lines?: boolean,
 * }} InputAttributes of an input; one with `lines` is a textarea
 */

/** A text that may be longer than this gets several lines. */
const LONG_TEXT = 200;
/** @type {Record<string, string>} */
const FORMATS = {
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};

/** Return the type of an input for a format. @param {string} [format] */
export function inputType(format = "") {
  return FORMATS[format] ?? "text";
}

/** Whether an input of this type is for a date or a time. @param {string} [type] */
export function isTimeType(type = "") {
  return ["date", "datetime-local", "time"].includes(type);
}

/**
 * Return the attributes of an input for values of the schema.
 * @param {Schema} found @param {unknown} start @returns {InputAttributes}
 */
export function attributesOf(found, start) {
  const { type, format, minLength: minlength, maxLength: maxlength, pattern } = found;
  if (type === "number" || type === "integer") return limitsOf(found);
  const known = inputType(format);
  if (known === "password") return { type: known, minlength, maxlength, autocomplete: "off" };
  if (isTimeType(known)) return { type: known, step: stepOf(start) };
  const isLong = known === "text" && (maxlength ?? Infinity) > LONG_TEXT && !pattern;
  const hasLines = /[\r\n]/.test(String(start));
  if (hasLines || isLong) return { type: known, minlength, maxlength, lines: true };
  const part = isQuick(pattern) && { pattern: `[^]*?(?:${pattern})[^]*` };
  return { type: known, minlength, maxlength, ...part };
}

/** What the browser can check of a number. @param {Schema} found @returns {InputAttributes} */
function limitsOf({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }) {
  if (type === "number") {
    const [min, max] = [minimum ?? exclusiveMinimum, maximum ?? exclusiveMaximum];
    return { type, step: multipleOf ?? "any", min, max };
  }
  const min = minimum ?? ((exclusiveMinimum ?? NaN) + 1 || null);
  const max = maximum ?? ((exclusiveMaximum ?? NaN) - 1 || null);
  return { type: "number", step: multipleOf ?? 1, min, max };
}

/** The server checks patterns that could take a browser minutes. @param {unknown} pattern */
function isQuick(pattern) {
  if (typeof pattern !== "string" || pattern.includes("(")) return false;
  return (pattern.match(/[*+{]/g) ?? []).length < 3;
}
