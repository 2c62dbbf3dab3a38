// @ts-check
/**
 * JSON that keeps numbers as they are written: JavaScript's own rounds 12345678901234567890, and
 * turns 1.0 into 1.
 */

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

/** @typedef {JSON & { rawJSON?: (source: string) => unknown }} WithRaw */

/** A number that JavaScript would write differently. */
export class Exact {
  /** @param {string} source */
  constructor(source) {
    this.source = source;
  }

  valueOf() {
    return Number(this.source);
  }

  toString() {
    return this.source;
  }

  toJSON() {
    // A browser without rawJSON sends the rounded number, and the server sees that the user did not
    // change it.
    return /** @type {WithRaw} */ (JSON).rawJSON?.(this.source) ?? Number(this.source);
  }
}

/** A number by its text. @param {string} source @returns {number | Exact} */
export function toNumber(source) {
  const value = Number(source);
  return String(value) === source || !NUMBER.test(source) ? value : new Exact(source);
}

/** Parse JSON. Throws if the text is not JSON. @param {string} json @returns {unknown} */
export function parseExact(json) {
  /** @param {string} _ @param {unknown} value @param {{ source?: string }} [context] */
  const revive = (_, value, context) => {
    return typeof value === "number" && context?.source ? toNumber(context.source) : value;
  };
  return JSON.parse(json, revive);
}

/**
 * The value with JavaScript's own numbers.
 * @template T @param {T} value @returns {T | number}
 */
export function plainNumber(value) {
  return value instanceof Exact ? Number(value) : value;
}
