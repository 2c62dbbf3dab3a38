// @ts-check
/**
 * Write a duration of a second or more: "4.2s", "2m 5s".
 * @param {number} ms @param {string} lang @returns {string}
 */
export function duration(ms, lang) {
  /** @param {number} value @param {string} unit @param {number} [maximumFractionDigits] */
  const format = (value, unit, maximumFractionDigits = 0) => {
    const written = new Intl.NumberFormat(lang, {
      style: "unit",
      unit,
      unitDisplay: "narrow",
      maximumFractionDigits,
    });
    return written.format(value);
  };
  if (ms < 59_500) return format(ms / 1000, "second", ms < 9950 ? 1 : 0);
  const seconds = Math.round(ms / 1000);
  return `${format(Math.floor(seconds / 60), "minute")} ${format(seconds % 60, "second")}`;
}
