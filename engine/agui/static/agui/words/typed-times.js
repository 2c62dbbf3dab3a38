// @ts-check
/** Dates and times in inputs. Nothing converts them to another time zone. */
import { timeParts } from "./times.js";

const DATE = /^\d{4}-\d\d-\d\d$/;

/** Whether an input of this type can show the text. @param {string} type @param {string} value */
export function fitsInput(type, value) {
  if (type === "date") return DATE.test(value);
  const parts = timeParts(value);
  return parts !== null && Boolean(parts.date) === (type === "datetime-local");
}

/**
 * Return the text for an input. It lacks parts of a second, which the form keeps.
 * @param {unknown} value @returns {string}
 */
export function shownTime(value) {
  const parts = timeParts(value);
  if (!parts) return String(value);
  return `${parts.date && `${parts.date}T`}${parts.minute}${parts.second}`;
}

/** Return the step of an input: with seconds if the text has them. @param {unknown} value */
export function stepOf(value) {
  return timeParts(value)?.second ? 1 : undefined;
}

/**
 * Write a typed time like the text before it, with its seconds and its zone.
 * @param {string} typed @param {unknown} before
 */
export function writtenTime(typed, before) {
  const was = timeParts(before);
  const now = timeParts(typed);
  if (!was || !now) return now?.date ? new Date(typed).toISOString() : typed;
  const second = now.second || (was.second && ":00");
  const fraction = now.minute === was.minute && second === was.second ? was.fraction : "";
  return `${now.date}${now.date && was.mark}${now.minute}${second}${fraction}${was.zone}`;
}
