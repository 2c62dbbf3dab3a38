// @ts-check
/**
 * JSON Schema to the fields of a form, and what is typed into them back to JSON. Pure: as data, without DOM.
 * What no simple field fits is typed in as JSON: the server checks every answer anyway.
 */
import { plainNumber, toNumber, parseExact } from "./exact.js";
import { heading } from "./strings.js";
import { fitsInput, shownTime, stepOf, writtenTime, zoneOf } from "./times.js";

/**
 * @typedef {"text" | "number" | "check" | "choice" | "choices" | "group" | "list" | "tuple" | "map" | "union" | "fixed" | "json"} Kind
 * @typedef {{
 *   kind: Kind, name: string, label: string, help?: string, required: boolean, zone?: string,
 *   initial: any, kept: any, blank: any, attributes: Record<string, any>, options: any[], fields: Field[],
 *   item?: (initial?: any) => Field, least?: number, most?: number, chosen?: number,
 * }} Field `kept` is what a field stands for that nobody has touched, and `blank` one that was left empty or was emptied;
 *   undefined: nothing is sent. The fields of a union are its alternatives, of which one is chosen; those of a list are
 *   made as they are needed: a schema may contain itself
 */

const MAX_DEPTH = 4;
const MAX_HOPS = 20;
const MAX_ALTERNATIVES = 12;
const MAX_ROWS = 100;
/** Texts that may be longer than this are written over several lines. */
const LONG_TEXT = 200;
/** So many fields and comparisons make a form: a foreign schema may refer to itself in many ways. */
const MAX_STEPS = 2000;
const FORMATS = { date: "date", "date-time": "datetime-local", time: "time", email: "email", uri: "url", password: "password" };
const TIMES = ["date", "datetime-local", "time"];

/**
 * @typedef {{
 *   root?: any, name?: string, keyed?: boolean, initial?: any, fresh?: boolean, depth?: number, budget?: { left: number },
 * }} Place keyed: the object must have it. fresh: it belongs to an object that is made here, so that what is shown is
 *   what is sent. In an object that was given, a field that was not there is still not there unless it is touched
 */

/** What can't be read is typed in as JSON. @param {any} schema @param {Place} [place] @returns {Field} */
export function fieldOf(schema, place = {}) {
  const { root = schema, name = "", keyed = true, initial, fresh = initial === undefined, depth = 0, budget = { left: MAX_STEPS } } = place;
  try {
    return read(schema, { root, name, keyed, initial, fresh, depth, budget });
  } catch {
    return asJson({ name, label: heading(name), required: keyed, initial, kept: initial });
  }
}

/** @param {Partial<Field>} known @returns {Field} */
function asJson({ name = "", label = "", help, required = true, initial, kept, blank }) {
  return { kind: "json", name, label, help, required, initial, kept, blank, attributes: {}, options: [], fields: [] };
}

/** @param {any} schema @param {Required<Place>} place @returns {Field} */
function read(schema, { root, name, keyed, initial, fresh, depth, budget }) {
  if ((budget.left -= 1) < 0) throw new Error("The schema has too many fields.");
  const { found, nullable } = resolve(schema, root);
  const start = initial === undefined ? found.default : initial;
  const kind = kindOf(found, root, { depth, decided: typeof start === "boolean" && !nullable, inside: Boolean(name) && keyed });
  /** @type {Field} */
  const field = {
    kind, name, label: found.title || heading(name), help: found.description, required: keyed && !nullable,
    initial: start, kept: initial, blank: undefined, attributes: attributesOf(found, start), options: [], fields: [],
  };
  if (nullable && (keyed || start != null)) field.blank = null;
  else if (kind === "text" && field.attributes.type === "text" && start) field.blank = "";
  if (fresh) field.kept = start ?? (field.required ? { list: [], choices: [], map: {} }[kind] : field.blank);
  if (TIMES.includes(field.attributes.type)) field.zone = zoneOf(start);
  if (kind === "choice") field.options = optionsOf(found);
  if (kind === "choices") field.options = optionsOf(resolve(found.items, root).found);
  /** @type {Required<Place>} of what is within */
  const inner = { root, name: "", keyed: true, initial: undefined, fresh: start == null, depth: depth + 1, budget };
  if (kind === "group") {
    field.fields = Object.entries(found.properties).map(([key, one]) =>
      fieldOf(one, { ...inner, name: key, keyed: Boolean(found.required?.includes(key)), initial: own(start, key) }),
    );
  }
  if (kind === "tuple") field.fields = found.prefixItems.map((one, index) => fieldOf(one, { ...inner, initial: start?.[index] }));
  if (kind === "list" || kind === "map") {
    field.item = (one) => fieldOf(found.items ?? found.additionalProperties, { ...inner, initial: one, fresh: one === undefined });
    Object.assign(field, { least: found.minItems ?? 0, most: found.maxItems ?? found.maxProperties ?? Infinity });
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

/** Can the field show what it is at first? @param {Field} field @param {any} start */
function shows({ kind, attributes, options, fields, initial }, start) {
  if (kind === "text") return typeof start === "string" && (!TIMES.includes(attributes.type) || fitsInput(attributes.type, start));
  if (kind === "number") return start !== "" && typeof start !== "object" ? Number.isFinite(Number(start)) : plainNumber(start) !== start;
  if (kind === "check") return typeof start === "boolean";
  if (kind === "choice") return options.includes(plainNumber(start));
  if (kind === "choices") return Array.isArray(start) && start.every((one) => options.includes(plainNumber(one)));
  if (kind === "list") return Array.isArray(start) && start.length <= MAX_ROWS;
  if (kind === "tuple") return Array.isArray(start) && start.length === fields.length;
  if (kind === "group" || kind === "map") return isObject(start) && (kind === "group" || Object.keys(start).length <= MAX_ROWS);
  return kind !== "fixed" || start === initial;
}

/** What an input shows at first. @param {Field} field @returns {string} */
export function toInput({ kind, initial, attributes }) {
  if (initial == null) return "";
  if (kind === "json") return JSON.stringify(initial, null, 2);
  return TIMES.includes(attributes.type) ? shownTime(initial) : String(initial);
}

/** What an input's text stands for; throws when it should be JSON and isn't. @param {Field} field @param {string} text @returns {any} */
export function fromInput({ kind, blank, initial, attributes }, text) {
  if (kind === "text" && attributes.type === "text" ? !text : !text.trim()) return blank;
  if (kind === "json") return parseExact(text);
  // A decimal that came as a text stays one.
  if (kind === "number") return typeof initial === "string" ? text : toNumber(text);
  if (TIMES.includes(attributes.type)) return writtenTime(text, initial);
  return typeof initial === "string" && initial.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
}

/** @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && plainNumber(value) === value;
}

/** A property of the object itself: its name may be "constructor". @param {any} value @param {string} key @returns {any} */
export function own(value, key) {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/**
 * Follow references, and look through alternatives of which only one is not null.
 * @param {any} schema
 * @param {any} root
 */
function resolve(schema, root) {
  let found = schema ?? {};
  let nullable = false;
  for (let hops = 0; hops < MAX_HOPS; hops += 1) {
    const { $ref, anyOf, oneOf, allOf, ...own } = found;
    const among = anyOf ?? oneOf ?? allOf ?? [];
    const rest = among.filter((one) => one?.type !== "null");
    nullable ||= rest.length < among.length;
    if ($ref) {
      const { title, ...target } = lookup(root, $ref); // the title is the name of a class: no label
      found = { ...target, ...own };
    } else if (rest.length === 1) found = { ...rest[0], ...own };
    else if (rest.length && merged(rest)) found = { ...merged(rest), ...own };
    else break;
  }
  const types = [found.type].flat().filter((type) => type !== "null");
  if (found.enum?.includes(null) || (Array.isArray(found.type) && found.type.includes("null"))) nullable = true;
  return { nullable, found: types.length === 1 ? { ...found, type: types[0] } : found };
}

/** Several that are one field: only literals, or a number that may also come as a text, as a Decimal may. @param {any[]} among */
function merged(among) {
  if (among.every((one) => one?.enum || one?.const !== undefined)) return { enum: among.flatMap((one) => one.enum ?? [one.const]) };
  const numbers = among.filter((one) => one?.type === "number" || one?.type === "integer");
  const asTexts = among.filter((one) => one?.type === "string" && (one.pattern || (numbers[0]?.type === "number" && Object.keys(one).length === 1)));
  return numbers.length === 1 && asTexts.length === among.length - 1 ? numbers[0] : null;
}

/** @param {any} found @returns {any[]} */
function alternatives({ anyOf, oneOf, type }) {
  const all = anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((one) => ({ type: one })) : []);
  return all.filter((one) => one?.type !== "null");
}

/** Which alternative a value is of: the one that knows most of its properties; -1 if none. @param {any[]} all @param {any} value @param {any} root @param {{ left: number }} budget */
function fitting(all, value, root, budget) {
  const places = all.map((_, index) => index).filter((index) => accepts(all[index], value, root, budget));
  const unknown = (index) => {
    const { properties } = resolve(all[index], root).found;
    return properties && isObject(value) ? Object.keys(value).filter((key) => !Object.hasOwn(properties, key)).length : 0;
  };
  return places.length ? places.reduce((best, index) => (unknown(index) < unknown(best) ? index : best)) : -1;
}

/** Could it be a value of this? @param {any} schema @param {any} value @param {any} root @param {{ left: number }} budget @param {number} [depth] @returns {boolean} */
function accepts(schema, value, root, budget, depth = 0) {
  if ((budget.left -= 1) < 0 || depth > MAX_DEPTH) return true; // The server checks it
  const { found, nullable } = resolve(schema, root);
  const { type, enum: several, const: only, format, properties, required = [], items, prefixItems, additionalProperties } = found;
  if (value === null) return nullable || !type || type === "null";
  const within = (one, part) => accepts(one, part, root, budget, depth + 1);
  const all = alternatives(found);
  if (all.length) return all.some((one) => within(one, value));
  const plain = plainNumber(value);
  if (several || only !== undefined) return (several ?? [only]).includes(plain);
  if (type === "integer") return Number.isInteger(plain);
  if (type === "string") return typeof value === "string" && (!TIMES.includes(FORMATS[format]) || fitsInput(FORMATS[format], value));
  if (type === "array") {
    if (!Array.isArray(value)) return false;
    if (prefixItems) return value.length === prefixItems.length && prefixItems.every((one, index) => within(one, value[index]));
    return !items || value.slice(0, MAX_DEPTH).every((one) => within(items, one));
  }
  if (type !== "object" && !properties) return !type || typeof plain === type;
  if (!isObject(value)) return false;
  const known = (key) => properties && Object.hasOwn(properties, key);
  const fits = ([key, part]) => (known(key) ? within(properties[key], part) : !isObject(additionalProperties) || within(additionalProperties, part));
  return required.every((key) => Object.hasOwn(value, key)) && Object.entries(value).every(fits);
}

/** @typedef {{ hides: boolean, within: (key: string | number) => Secrets }} Secrets what of a value is not to be read */
/** @param {any[]} schemas that a value may have @param {any} root @returns {Secrets} */
export function secretsOf(schemas, root) {
  const all = schemas.flatMap((one) => variants(one, root)).slice(0, MAX_ALTERNATIVES);
  const part = (key, { properties, items, prefixItems, additionalProperties }) =>
    typeof key === "number" ? (prefixItems?.[key] ?? items) : (own(properties, key) ?? additionalProperties);
  return {
    hides: all.some(({ format, writeOnly }) => format === "password" || writeOnly),
    within: (key) => secretsOf(all.map((one) => part(key, one)), root),
  };
}

/** @param {any} schema @param {any} root @returns {any[]} */
function variants(schema, root) {
  if (!isObject(schema)) return [];
  const { found } = resolve(schema, root);
  return [found, ...alternatives(found).map((one) => resolve(one, root).found)].filter(isObject);
}

/** By what an alternative is known: the literal that tells it apart, its title, or its type. @param {any} schema @param {any} root @returns {string} */
function titleOf(schema, root) {
  const { title, type, properties } = schema?.$ref ? lookup(root, schema.$ref) : (schema ?? {});
  const tag = Object.values(properties ?? {}).find((one) => typeof one?.const === "string");
  return tag ? heading(tag.const) : (title ?? String(type ?? ""));
}

/** @param {any} root @param {string} pointer @returns {any} */
function lookup(root, pointer) {
  const keys = pointer.split("/").slice(1).map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
  return keys.reduce((value, key) => value?.[key], root) ?? {};
}

/** @param {any} found @param {any} root @param {{ depth: number, decided: boolean, inside: boolean }} place @returns {Kind} */
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

/** @param {any} found @returns {any[]} */
function optionsOf({ type, enum: several, const: only }) {
  if (several) return several.filter((one) => one !== null);
  if (only !== undefined) return [only];
  return type === "boolean" ? [true, false] : [];
}

/** What the browser can check by itself, and how it lets a text be written. @param {any} found @param {any} start */
function attributesOf(found, start) {
  const { type, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern } = found;
  if (type === "number") return { type: "number", step: multipleOf ?? "any", min: minimum ?? exclusiveMinimum, max: maximum ?? exclusiveMaximum };
  if (type === "integer") return { type: "number", step: multipleOf ?? 1, min: minimum ?? (exclusiveMinimum + 1 || null), max: maximum ?? (exclusiveMaximum - 1 || null) };
  const known = FORMATS[format] ?? "text";
  if (known === "password") return { type: known, minlength: minLength, maxlength: maxLength, autocomplete: "off" };
  if (TIMES.includes(known)) return { type: known, step: stepOf(start) };
  const lines = /[\r\n]/.test(start) || (known === "text" && !(maxLength <= LONG_TEXT) && !pattern);
  return { type: known, minlength: minLength, maxlength: maxLength, ...(lines ? { lines } : isQuick(pattern) && { pattern: `[^]*?(?:${pattern})[^]*` }) };
}

/** Some patterns take a browser minutes: those are left to the server. @param {any} pattern */
function isQuick(pattern) {
  return typeof pattern === "string" && !pattern.includes("(") && (pattern.match(/[*+{]/g) ?? []).length < 3;
}
