// @ts-check
/** What a JSON Schema says: references, alternatives, literals, and which values are secret. */
import { plainNumber } from "./exact.js";

/** @typedef {import("../types.d.ts").Schema} Schema */

const MAX_HOPS = 20;
export const MAX_ALTERNATIVES = 12;

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export function isObject(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  return plainNumber(value) === value;
}

/**
 * Return an own property of the object, because its name may be "constructor".
 * @param {unknown} value @param {string} key @returns {unknown}
 */
export function own(value, key) {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/**
 * Follow references, and unwrap alternatives if only one of them is not null.
 * @param {Schema | null | undefined} schema
 * @param {Schema | null} root
 */
export function resolve(schema, root) {
  let found = schema ?? {};
  let nullable = false;
  for (let hops = 0; hops < MAX_HOPS; hops += 1) {
    const { $ref, anyOf, oneOf, allOf, ...own } = found;
    const among = anyOf ?? oneOf ?? allOf ?? [];
    const rest = among.filter((/** @type {Schema} */ one) => one?.type !== "null");
    nullable ||= rest.length < among.length;
    if ($ref) {
      // The title is the name of a class, and no label.
      const { title, ...target } = lookup(root, $ref);
      found = { ...target, ...own };
    } else if (rest.length === 1) found = { ...rest[0], ...own };
    else if (rest.length && merged(rest)) found = { ...merged(rest), ...own };
    else break;
  }
  const types = [found.type].flat().filter((type) => type !== "null");
  const mayBeNull = Array.isArray(found.type) && found.type.includes("null");
  if (found.enum?.includes(null) || mayBeNull) nullable = true;
  return { nullable, found: types.length === 1 ? { ...found, type: types[0] } : found };
}

/**
 * Find one field for several alternatives: literals, or a number that may also be a text, such as a
 * Decimal.
 * @param {Schema[]} among @returns {Schema | null}
 */
function merged(among) {
  if (among.every((one) => one?.enum || one?.const !== undefined)) {
    return { enum: among.flatMap((one) => one.enum ?? [one.const]) };
  }
  const numbers = among.filter((one) => one?.type === "number" || one?.type === "integer");
  const isDecimal = numbers[0]?.type === "number";
  const asTexts = among.filter((one) => {
    if (one?.type !== "string") return false;
    return one.pattern || (isDecimal && Object.keys(one).length === 1);
  });
  return numbers.length === 1 && asTexts.length === among.length - 1 ? numbers[0] : null;
}

/** @param {Schema} found @returns {Schema[]} */
export function alternatives({ anyOf, oneOf, type }) {
  const types = Array.isArray(type) ? type : [];
  const all = anyOf ?? oneOf ?? types.map((one) => ({ type: one }));
  return all.filter((/** @type {Schema} */ one) => one?.type !== "null");
}

/** @param {Schema | null} root @param {string} pointer @returns {Schema} */
export function lookup(root, pointer) {
  let found = root;
  for (const part of pointer.split("/").slice(1)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = /** @type {Schema | null} */ (found?.[name]);
  }
  return found ?? {};
}

/** @param {Schema} found @returns {unknown[]} */
export function optionsOf({ type, enum: several, const: only }) {
  if (several) return several.filter((/** @type {unknown} */ option) => option !== null);
  if (only !== undefined) return [only];
  return type === "boolean" ? [true, false] : [];
}

/**
 * @typedef {{ hides: boolean, within: (key: string | number) => Secrets }} Secrets the secret parts
 *   of a value
 */
/**
 * @param {(Schema | boolean | null | undefined)[]} schemas the schemas that a value may have
 * @param {Schema | null} root @returns {Secrets}
 */
export function secretsOf(schemas, root) {
  const all = schemas.flatMap((one) => variants(one, root)).slice(0, MAX_ALTERNATIVES);
  /** @param {string | number} key @param {Schema} schema */
  const part = (key, { properties, items, prefixItems, additionalProperties }) => {
    if (typeof key === "number") return prefixItems?.[key] ?? items;
    const named = /** @type {Schema | undefined} */ (own(properties, key));
    return named ?? additionalProperties;
  };
  return {
    hides: all.some(({ format, writeOnly }) => format === "password" || Boolean(writeOnly)),
    within: (key) => secretsOf(all.map((one) => part(key, one)), root),
  };
}

/**
 * @param {Schema | boolean | null | undefined} schema @param {Schema | null} root
 * @returns {Schema[]}
 */
function variants(schema, root) {
  if (!isObject(schema)) return [];
  const { found } = resolve(schema, root);
  return [found, ...alternatives(found).map((one) => resolve(one, root).found)].filter(isObject);
}
