// @ts-check
/** Dates and times as they are written. Nothing converts them to another time zone. */

const TIME = /^(?:(\d{4}-\d\d-\d\d)([T ]))?(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/i;

/** The parts of a written time. @param {unknown} value */
export function timeParts(value) {
  const found = typeof value === "string" && TIME.exec(value);
  if (!found) return null;
  const [, date = "", mark = "", minute, second = "", fraction = "", zone = ""] = found;
  return { date, mark, minute, second, fraction, zone };
}

/**
 * "UTC+01:00"; "" for a day's time that says no zone, undefined for anything else.
 * @param {unknown} value @returns {string | undefined}
 */
export function zoneOf(value) {
  const parts = timeParts(value);
  if (!parts?.zone) return parts?.date ? "" : undefined;
  return /z/i.test(parts.zone) ? "UTC" : `UTC${parts.zone}`;
}

/**
 * A date with its time in the words of a language, by its own clock; null for anything else.
 * @param {unknown} value @param {string} lang @returns {string | null}
 */
export function localTime(value, lang) {
  const { date, minute, second, fraction } = timeParts(value) ?? {};
  const at = date && !fraction ? Date.parse(`${date}T${minute}${second || ":00"}Z`) : NaN;
  if (Number.isNaN(at)) return null;
  const timeStyle = /[1-9]/.test(second ?? "") ? "medium" : "short";
  const style = /** @type {const} */ ({ dateStyle: "medium", timeStyle, timeZone: "UTC" });
  return new Intl.DateTimeFormat(lang, style).format(at);
}
