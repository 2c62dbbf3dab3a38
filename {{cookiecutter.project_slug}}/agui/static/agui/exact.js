// @ts-check
/** JSON with numbers as they are written: JavaScript's own would round 12345678901234567890, and make 1 of 1.0. */

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

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
    // A browser without rawJSON sends the rounded number: the server knows it from one that was changed.
    return /** @type {any} */ (JSON).rawJSON?.(this.source) ?? Number(this.source);
  }
}

/** A number by its text. @param {string} source @returns {number | Exact} */
export function toNumber(source) {
  const value = Number(source);
  return String(value) === source || !NUMBER.test(source) ? value : new Exact(source);
}

/** Throws for what is no JSON. @param {string} json @returns {any} */
export function parseExact(json) {
  /** @type {any} */
  const revive = (_, value, context) => (typeof value === "number" && context?.source ? toNumber(context.source) : value);
  return JSON.parse(json, revive);
}

/** @param {any} value @returns {any} the same as JavaScript has it */
export function plainNumber(value) {
  return value instanceof Exact ? Number(value) : value;
}
