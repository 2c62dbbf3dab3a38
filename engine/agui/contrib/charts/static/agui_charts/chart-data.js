// @ts-check
/**
 * The numbers of a chart: read its content and find the scale. This module has no DOM, and returns
 * no NaN.
 */

/**
 * @typedef {{ name: string, values: (number | null)[] }} Series
 * @typedef {{ title: string, type: string, labels: string[], series: Series[], unit: string }}
 *   Chart
 * @typedef {{ min: number, max: number, ticks: number[] }} Scale
 */

const TYPES = ["bar", "stacked", "line", "area", "pie", "donut"];
const MAX_SERIES = 12;
const MAX_POINTS = 5000;
/** Larger numbers leave no room for a scale. */
const LARGEST = 1e300;

/**
 * Throws if the content is not a chart.
 * @param {Record<string, unknown>} content @returns {Chart}
 */
export function readChart({ title, type = "bar", labels, series, unit }) {
  const word = String(type).replace(/[ _-]?bar$/, "");
  const kind = TYPES.find((one) => one === word || one === type);
  const given = Array.isArray(series) ? series : [];
  const several = given.map((one) => (Array.isArray(one) ? { values: one } : one));
  const heads = Array.isArray(labels) ? labels : [];
  const none = Array.isArray(series) && Array.isArray(labels) && !labels.length;
  const lengths = several.map(({ values }) => (Array.isArray(values) ? values.length : Infinity));
  const length = Math.max(none ? 1 : 0, ...lengths);
  const fitting = length > 0 && length <= MAX_POINTS && several.length <= MAX_SERIES;
  if (!kind || !fitting || (labels && !Array.isArray(labels))) {
    throw new TypeError("This is no chart.");
  }
  const names = Array.from({ length }, (_, index) => {
    return text(heads[index] ?? (none ? "" : index + 1));
  });
  const read = several.map(({ name, values }) => {
    return { name: text(name), values: names.map((_, index) => number(values[index])) };
  });
  const isRound = kind === "pie" || kind === "donut";
  const hasParts = read.length === 1 && !read[0].values.some((one) => Number(one) < 0);
  return {
    title: text(title),
    type: isRound && !hasParts ? "bar" : kind,
    labels: names,
    series: read,
    unit: text(unit),
  };
}

/** @param {unknown} value @returns {string} */
function text(value) {
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";
}

/** @param {unknown} value @returns {number | null} */
function number(value) {
  if (value == null) return null;
  const read = typeof value === "string" ? Number(value.trim() || "none") : value;
  const isWord = typeof value === "string" && Number.isNaN(read);
  if (typeof read !== "number" || Math.abs(read) > LARGEST || isWord) {
    throw new TypeError("This is no number.");
  }
  return Number.isFinite(read) ? read : null;
}

/**
 * Find the lowest and the highest value, with stacked values added up, and whether all are whole
 * numbers.
 * @param {Chart} chart
 */
export function extent({ type, series, labels }) {
  let [min, max] = [Infinity, -Infinity];
  labels.forEach((_, index) => {
    let [low, high] = [0, 0];
    for (const { values } of series) {
      const value = values[index];
      if (value === null) continue;
      if (type !== "stacked") [low, high] = [value, value];
      else if (value < 0) low += value;
      else high += value;
      [min, max] = [Math.min(min, low), Math.max(max, high)];
    }
  });
  if (min > max) return { min: 0, max: 1, whole: true };
  const whole = series.every(({ values }) => {
    return values.every((one) => one === null || Number.isInteger(one));
  });
  if (type === "line") return { min, max, whole };
  // Bars start at zero, because readers compare their lengths.
  return { min: Math.min(0, min), max: Math.max(0, max), whole };
}

/**
 * Choose about `count` round numbers around the values.
 * @param {{ min: number, max: number, whole?: boolean }} range @param {number} count
 * @returns {Scale}
 */
export function scale({ min, max, whole = false }, count) {
  if (!(max - min > Math.abs(max) * 1e-12)) [min, max] = aroundZero(min, max);
  const raw = max / count - min / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const fine = power * ([1, 2, 2.5, 5].find((one) => one * power >= raw * 0.999) ?? 10);
  const step = whole ? Math.ceil(fine) : fine; // whole numbers need whole steps
  const [first, last] = [Math.floor(min / step), Math.ceil(max / step)];
  if (!(step > 0) || !Number.isFinite(step) || last - first > 50) {
    return { min: 0, max: 1, ticks: [0, 1] };
  }
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => {
    return Number(((first + index) * step).toPrecision(12));
  });
  return { min: ticks[0], max: ticks[ticks.length - 1], ticks };
}

/**
 * The range of values that are all the same: from zero to them.
 * @param {number} min @param {number} max
 */
function aroundZero(min, max) {
  if (min > 0) return [0, max];
  return max < 0 ? [min, 0] : [0, 1];
}

/**
 * The indexes of each part of a line between its gaps.
 * @param {(number | null)[]} values @returns {number[][]}
 */
export function stretches(values) {
  /** @type {number[][]} */
  const found = [];
  values.forEach((value, index) => {
    if (value === null) return;
    if (index && values[index - 1] !== null) found.at(-1)?.push(index);
    else found.push([index]);
  });
  return found;
}

/**
 * Return 3 if only every third label has room.
 * @param {number} count @param {number} room how many fit
 */
export function every(count, room) {
  return Math.max(1, Math.ceil(count / Math.max(1, room)));
}
