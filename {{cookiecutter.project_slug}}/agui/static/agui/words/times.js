// @ts-check
/** Dates and times as they are written. Nothing converts them to another time zone. */

/** Texts that forms and lists of arguments share. */
export const TIME_WORDS = { noZone: "no time zone", nothing: "Nothing" };

const TIME = /^(?:(\d{4}-\d\d-\d\d)([T ]))?(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/i;
const DATE = /^\d{4}-\d\d-\d\d$/;

/**
 * @param {unknown} value
 * @returns {{ date: string, mark: string, minute: string, second: string, fraction: string, zone:
 *   string } | null}
 */
function partsOf(value) {
  const found = typeof value === "string" && TIME.exec(value);
  if (!found) return null;
  const [, date = "", mark = "", minute, second = "", fraction = "", zone = ""] = found;
  return { date, mark, minute, second, fraction, zone };
}

/** Whether an input of this type can show the text. @param {string} type @param {string} value */
export function fitsInput(type, value) {
  if (type === "date") return DATE.test(value);
  const parts = partsOf(value);
  return parts !== null && Boolean(parts.date) === (type === "datetime-local");
}

/**
 * Return the text for an input. It lacks parts of a second, which the form keeps.
 * @param {unknown} value @returns {string}
 */
export function shownTime(value) {
  const parts = partsOf(value);
  if (!parts) return String(value);
  return `${parts.date && `${parts.date}T`}${parts.minute}${parts.second}`;
}

/** Return the step of an input: with seconds if the text has them. @param {unknown} value */
export function stepOf(value) {
  return partsOf(value)?.second ? 1 : undefined;
}

/**
 * Write a typed time like the text before it, with its seconds and its zone.
 * @param {string} typed @param {unknown} before
 */
export function writtenTime(typed, before) {
  const was = partsOf(before);
  const now = partsOf(typed);
  if (!was || !now) return now?.date ? new Date(typed).toISOString() : typed;
  const second = now.second || (was.second && ":00");
  const fraction = now.minute === was.minute && second === was.second ? was.fraction : "";
  return `${now.date}${now.date && was.mark}${now.minute}${second}${fraction}${was.zone}`;
}

/**
 * "UTC+01:00"; "" for a day's time that says no zone, undefined for anything else.
 * @param {unknown} value @returns {string | undefined}
 */
export function zoneOf(value) {
  const parts = partsOf(value);
  if (!parts?.zone) return parts?.date ? "" : undefined;
  return /z/i.test(parts.zone) ? "UTC" : `UTC${parts.zone}`;
}

/**
 * A date with its time in the words of a language, by its own clock; null for anything else.
 * @param {unknown} value @param {string} lang @returns {string | null}
 */
export function localTime(value, lang) {
  const { date, minute, second, fraction } = partsOf(value) ?? {};
  const at = date && !fraction ? Date.parse(`${date}T${minute}${second || ":00"}Z`) : NaN;
  if (Number.isNaN(at)) return null;
  const timeStyle = /[1-9]/.test(second ?? "") ? "medium" : "short";
  return new Intl.DateTimeFormat(lang, {
    dateStyle: "medium",
    timeStyle,
    timeZone: "UTC",
  }).format(at);
}
