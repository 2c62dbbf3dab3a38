// @ts-check
/**
 * Turn a JSON Schema into the fields of a form, and typed texts back into JSON. Fields are plain
 * data, without DOM. If no simple field fits, the user types JSON. The server checks every answer
 * anyway.
 */
import { plainNumber, toNumber, parseExact } from "../json/exact.js";
import { attributesOf, inputType, isTimeType } from "./input-attributes.js";
import { MAX_ALTERNATIVES, alternatives, isObject, lookup } from "../json/schema-parts.js";
import { optionsOf, own, resolve } from "../json/schema-parts.js";
import { heading } from "../words/strings.js";
import { zoneOf } from "../words/times.js";
import { fitsInput, shownTime, writtenTime } from "../words/typed-times.js";

/** @typedef {import("../types.d.ts").Schema} Schema */
/**
 * @typedef {"text" | "number" | "check" | "choice" | "choices" | "group" | "list" | "tuple" |
 *   "map" | "union" | "fixed" | "json"} Kind
 */
/**
 * `kept` is the value of a field that nobody has touched, and `blank` the value of an empty field;
 * undefined sends nothing. The fields of a union are its alternatives, of which one is chosen. The
 * fields of a list are made on demand, because a schema may contain itself.
 * @typedef {{
 *   kind: Kind, name: string, label: string, help?: string, required: boolean, zone?: string,
 *   initial: unknown, kept: unknown, blank: unknown, options: unknown[], fields: Field[],
 *   attributes: import("./input-attributes.js").InputAttributes,
 *   item?: (initial?: unknown) => Field, least?: number, most?: number, chosen?: number,
 * }} Field
 */

const MAX_DEPTH = 4;
const MAX_ROWS = 100;
/** The most fields and comparisons of a form, because a foreign schema may be recursive. */
const MAX_STEPS = 2000;

/** @typedef {{ left: number }} Budget */
/**
 * keyed: the object must have this property. fresh: the form makes the object, so it sends every
 * field that it shows. In an object that was given, a missing property stays missing unless the
 * user touches its field.
 * @typedef {{
 *   root?: Schema, name?: string, keyed?: boolean, initial?: unknown, fresh?: boolean,
 *   depth?: number, budget?: Budget,
 * }} Place
 */

/**
 * Read a schema; the user types JSON if it can't be read.
 * @param {Schema | null} [schema] @param {Place} [place] @returns {Field}
 */
export function fieldOf(schema, place = {}) {
  const { root = schema ?? {}, name = "", keyed = true, initial, depth = 0 } = place;
  const { fresh = initial === undefined, budget = { left: MAX_STEPS } } = place;
  try {
    return read(schema, { root, name, keyed, initial, fresh, depth, budget });
  } catch {
    return asJson({ name, label: heading(name), required: keyed, initial, kept: initial });
  }
}

/** @param {Partial<Field>} known @returns {Field} */
function asJson({ name = "", label = "", help, required = true, initial, kept, blank }) {
  const nothing = { attributes: {}, options: [], fields: [] };
  return { kind: "json", name, label, help, required, initial, kept, blank, ...nothing };
}

/** @param {Schema | null | undefined} schema @param {Required<Place>} place @returns {Field} */
function read(schema, { root, name, keyed, initial, fresh, depth, budget }) {
  if ((budget.left -= 1) < 0) throw new Error("The schema has too many fields.");
  const { found, nullable } = resolve(schema, root);
  const start = initial === undefined ? found.default : initial;
  const kind = kindOf(found, root, {
    depth,
    decided: typeof start === "boolean" && !nullable,
    inside: Boolean(name) && keyed,
  });
  /** @type {Field} */
  const field = {
    kind, name, label: found.title || heading(name), help: found.description,
    required: keyed && !nullable, initial: start, kept: initial, blank: undefined,
    attributes: attributesOf(found, start), options: [], fields: [],
  };
  if (nullable && (keyed || start != null)) field.blank = null;
  else if (kind === "text" && field.attributes.type === "text" && start) field.blank = "";
  if (fresh) field.kept = start ?? (field.required ? emptyOf(kind) : field.blank);
  if (isTimeType(field.attributes.type)) field.zone = zoneOf(start);
  if (kind === "choice") field.options = optionsOf(found);
  if (kind === "choices") field.options = optionsOf(resolve(found.items, root).found);
  /** @type {Required<Place>} of the parts of this value */
  const inner = {
    root, name: "", keyed: true, initial: undefined, fresh: start == null, depth: depth + 1, budget,
  };
  if (kind === "group") {
    field.fields = Object.entries(found.properties ?? {}).map(([key, property]) => {
      const keyed = Boolean(found.required?.includes(key));
      return fieldOf(property, { ...inner, name: key, keyed, initial: own(start, key) });
    });
  }
  if (kind === "tuple") {
    /** @param {Schema} item @param {number} index */
    const make = (item, index) => fieldOf(item, { ...inner, initial: items[index] });
    const items = Array.isArray(start) ? start : [];
    field.fields = (found.prefixItems ?? []).map(make);
  }
  if (kind === "list" || kind === "map") {
    field.item = (initial) => {
      const place = { ...inner, initial, fresh: initial === undefined };
      const item = found.items ?? found.additionalProperties;
      return fieldOf(isObject(item) ? item : {}, place);
    };
    field.least = found.minItems ?? 0;
    field.most = found.maxItems ?? found.maxProperties ?? Infinity;
  }
  if (kind === "union") {
    const all = alternatives(found);
    const fit = start == null ? -1 : fitting(all, start, root, budget);
    field.chosen = Math.max(0, fit);
    field.fields = all.map((one, index) => {
      const chosen = index === fit ? { ...inner, initial: start } : { ...inner, fresh: true };
      return { ...fieldOf(one, chosen), label: titleOf(one, root) };
    });
    if (start != null ? fit < 0 : initial === null && !nullable) return asJson(field);
  }
  if (kind === "fixed") {
    field.initial = found.const ?? null;
    if (fresh) field.kept = field.initial;
  }
  if (start == null || shows(field, start)) return field;
  const isText = typeof start === "string" && ["text", "number"].includes(kind);
  return isText ? { ...field, kind: "text", attributes: { type: "text" } } : asJson(field);
}

/** @param {Kind} kind */
function emptyOf(kind) {
  if (kind === "map") return {};
  return kind === "list" || kind === "choices" ? [] : undefined;
}

/** Whether the field can show the first value. @param {Field} field @param {unknown} start */
function shows({ kind, attributes, options, fields, initial }, start) {
  const isList = Array.isArray(start);
  if (kind === "text") {
    const { type = "" } = attributes;
    return typeof start === "string" && (!isTimeType(type) || fitsInput(type, start));
  }
  if (kind === "number") {
    if (start === "" || typeof start === "object") return plainNumber(start) !== start;
    return Number.isFinite(Number(start));
  }
  if (kind === "check") return typeof start === "boolean";
  if (kind === "choice") return options.includes(plainNumber(start));
  if (kind === "choices") return isList && start.every((one) => options.includes(plainNumber(one)));
  if (kind === "list") return isList && start.length <= MAX_ROWS;
  if (kind === "tuple") return isList && start.length === fields.length;
  if (kind === "group") return isObject(start);
  if (kind === "map") return isObject(start) && Object.keys(start).length <= MAX_ROWS;
  return kind !== "fixed" || start === initial;
}

/** Return the text that an input shows at first. @param {Field} field @returns {string} */
export function toInput({ kind, initial, attributes }) {
  if (initial == null) return "";
  if (kind === "json") return JSON.stringify(initial, null, 2);
  return isTimeType(attributes.type) ? shownTime(initial) : String(initial);
}

/**
 * Return the value of an input's text. Throws if it should be JSON and isn't.
 * @param {Field} field @param {string} text @returns {unknown}
 */
export function fromInput({ kind, blank, initial, attributes }, text) {
  if (kind === "text" && attributes.type === "text" ? !text : !text.trim()) return blank;
  if (kind === "json") return parseExact(text);
  // A decimal that came as text stays text.
  if (kind === "number") return typeof initial === "string" ? text : toNumber(text);
  if (isTimeType(attributes.type)) return writtenTime(text, initial);
  const hasReturns = typeof initial === "string" && initial.includes("\r\n");
  return hasReturns ? text.replaceAll("\n", "\r\n") : text;
}

/**
 * Find the alternative of a value, which is the one with most of its properties; -1 if none fits.
 * @param {Schema[]} all @param {unknown} value @param {Schema} root @param {Budget} budget
 */
function fitting(all, value, root, budget) {
  const isFit = (/** @type {number} */ index) => accepts(all[index], value, root, budget);
  const places = [...all.keys()].filter(isFit);
  /** @param {number} index */
  const unknown = (index) => {
    const { properties } = resolve(all[index], root).found;
    if (!properties || !isObject(value)) return 0;
    return Object.keys(value).filter((key) => !Object.hasOwn(properties, key)).length;
  };
  if (!places.length) return -1;
  return places.reduce((best, index) => (unknown(index) < unknown(best) ? index : best));
}

/**
 * Whether the schema may allow the value.
 * @param {Schema} schema @param {unknown} value @param {Schema} root @param {Budget} budget
 * @param {number} [depth] @returns {boolean}
 */
function accepts(schema, value, root, budget, depth = 0) {
  if ((budget.left -= 1) < 0 || depth > MAX_DEPTH) return true; // The server checks this.
  const { found, nullable } = resolve(schema, root);
  const { type, enum: several, const: only, format } = found;
  const { properties, required = [], items, prefixItems, additionalProperties } = found;
  if (value === null) return nullable || !type || type === "null";
  /** @param {Schema} one @param {unknown} part */
  const within = (one, part) => accepts(one, part, root, budget, depth + 1);
  const all = alternatives(found);
  if (all.length) return all.some((one) => within(one, value));
  const plain = plainNumber(value);
  if (several || only !== undefined) return (several ?? [only]).includes(plain);
  if (type === "integer") return Number.isInteger(plain);
  if (type === "string") {
    const input = inputType(format);
    return typeof value === "string" && (!isTimeType(input) || fitsInput(input, value));
  }
  if (type === "array") {
    if (!Array.isArray(value)) return false;
    if (prefixItems) {
      /** @param {Schema} item @param {number} index */
      const fits = (item, index) => within(item, value[index]);
      return value.length === prefixItems.length && prefixItems.every(fits);
    }
    return !items || value.slice(0, MAX_DEPTH).every((one) => within(items, one));
  }
  if (type !== "object" && !properties) return !type || typeof plain === type;
  if (!isObject(value)) return false;
  /** @param {[string, unknown]} property */
  const fits = ([key, part]) => {
    if (properties && Object.hasOwn(properties, key)) return within(properties[key], part);
    return !isObject(additionalProperties) || within(additionalProperties, part);
  };
  const isThere = (/** @type {string} */ key) => Object.hasOwn(value, key);
  return required.every(isThere) && Object.entries(value).every(fits);
}

/**
 * Return the label of an alternative: its distinguishing literal, its title, or its type.
 * @param {Schema | undefined} schema @param {Schema} root @returns {string}
 */
function titleOf(schema, root) {
  const { title, type, properties } = schema?.$ref ? lookup(root, schema.$ref) : (schema ?? {});
  const tag = Object.values(properties ?? {}).find((one) => typeof one?.const === "string");
  return tag ? heading(String(tag.const)) : (title ?? String(type ?? ""));
}

/**
 * @param {Schema} found @param {Schema} root
 * @param {{ depth: number, decided: boolean, inside: boolean }} place @returns {Kind}
 */
function kindOf(found, root, { depth, decided, inside }) {
  const { type, properties, items, prefixItems, additionalProperties } = found;
  if (found.$ref || found.allOf) return "json";
  const count = alternatives(found).length;
  const isShallow = depth < MAX_DEPTH;
  if (count) return isShallow && count <= MAX_ALTERNATIVES ? "union" : "json";
  if (type === "null" || (inside && found.const !== undefined)) return "fixed";
  if (type === "boolean" && decided) return "check";
  if (optionsOf(found).length) return "choice";
  if (type === "array" && prefixItems) return isShallow && !items ? "tuple" : "json";
  if (type === "array" && items && optionsOf(resolve(items, root).found).length) return "choices";
  if (type === "array" && items) return isShallow ? "list" : "json";
  if (properties && (type ?? "object") === "object") return isShallow ? "group" : "json";
  if (type === "object" && additionalProperties) return isShallow ? "map" : "json";
  if (type === "number" || type === "integer") return "number";
  return !type || type === "string" ? "text" : "json";
}
