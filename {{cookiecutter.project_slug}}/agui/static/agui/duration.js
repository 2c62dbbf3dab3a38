// @ts-check
/** How long something took: "12ms", "4.2s", "2m 5s". @param {number} ms @param {string} lang @returns {string} */
export function duration(ms, lang) {
  const unit = (value, unit, digits = 0) =>
    new Intl.NumberFormat(lang, { style: "unit", unit, unitDisplay: "narrow", maximumFractionDigits: digits }).format(value);
  if (ms < 950) return unit(ms, "millisecond");
  if (ms < 59_500) return unit(ms / 1000, "second", ms < 9950 ? 1 : 0);
  const seconds = Math.round(ms / 1000);
  return `${unit(Math.floor(seconds / 60), "minute")} ${unit(seconds % 60, "second")}`;
}
