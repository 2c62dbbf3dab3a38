// @ts-check
/**
 * JSON Schema to the fields of a form, and what is typed into them back to JSON. Pure: as data, without DOM.
 * What no simple field fits is typed in as JSON: the server checks every answer anyway.
 */
import { heading } from "./strings.js";

/**
 * @typedef {"text" | "number" | "check" | "choice" | "choices" | "group" | "list" | "union" | "fixed" | "json"} Kind
 * @typedef {{
 *   kind: Kind, name: string, label: string, help?: string, required: boolean,
 *   initial: any, blank: any, attributes: Record<string, any>, options: any[], fields: Field[],
 *   item?: (initial?: any) => Field, least?: number, most?: number, chosen?: number,
 * }} Field `blank` is what a field that is left empty stands for; undefined: nothing is sent. The fields of a union are
 *   its alternatives, of which one is chosen; those of a list are made as they are needed: a schema may contain itself
 */

const MAX_DEPTH = 4;
const MAX_HOPS = 20;
const MAX_ALTERNATIVES = 12;
const FORMATS = { date: "date", "date-time": "datetime-local", time: "time", email: "email", uri: "url" };

/** @typedef {{ root?: any, name?: string, keyed?: boolean, initial?: any, depth?: number }} Place keyed: the object must have it */

/** What can't be read is typed in as JSON. @param {any} schema @param {Place} [place] @returns {Field} */
export function fieldOf(schema, place = {}) {
  try {
    return read(schema, place);
  } catch {
    const { name = "", keyed = true, initial } = place;
    return { kind: "json", name, label: heading(name), required: keyed, initial, blank: undefined, attributes: {}, options: [], fields: [] };
  }
}

/** @param {any} schema @param {Place} place @returns {Field} */
function read(schema, { root = schema, name = "", keyed = true, initial, depth = 0 }) {
  const { found, nullable } = resolve(schema, root);
  const start = initial === undefined ? found.default : initial;
  const attributes = attributesOf(found);
  const kind = kindOf(found, root, { depth, decided: typeof start === "boolean" && !nullable, inside: Boolean(name) && keyed });
  /** @type {Field} */
  const field = {
    kind, name, label: found.title || heading(name), help: found.description, required: keyed && !nullable,
    initial: start, blank: undefined, attributes: kind === "json" ? {} : attributes, options: [], fields: [],
  };
  if (nullable && (keyed || start != null)) field.blank = null;
  else if (kind === "text" && attributes.type === "text" && start) field.blank = "";
  if (kind === "choice") field.options = optionsOf(found);
  if (kind === "choices") field.options = optionsOf(resolve(found.items, root).found);
  if (kind === "group") {
    field.fields = Object.entries(found.properties).map(([key, one]) =>
      fieldOf(one, { root, name: key, keyed: Boolean(found.required?.includes(key)), initial: start?.[key], depth: depth + 1 }),
    );
  }
  if (kind === "list") {
    field.item = (one) => fieldOf(found.items, { root, initial: one, depth: depth + 1 });
    Object.assign(field, { least: found.minItems ?? 0, most: found.maxItems ?? Infinity });
  }
  if (kind === "union") {
    const all = alternatives(found);
    const fit = all.findIndex((one) => start != null && accepts(resolve(one, root).found, start));
    field.chosen = Math.max(0, fit);
    field.fields = all.map((one, index) => {
      const initial = index === fit ? start : undefined;
      return { ...fieldOf(one, { root, initial, depth: depth + 1 }), label: titleOf(one, root) };
    });
  }
  if (kind === "fixed") field.initial = found.const;
  return field;
}

/** What an input shows at first. @param {Field} field @returns {string} */
export function toInput({ kind, initial, attributes }) {
  if (initial == null) return "";
  if (kind === "json") return JSON.stringify(initial, null, 2);
  if (attributes.type !== "datetime-local") return String(initial);
  const date = new Date(initial);
  return Number.isNaN(date.getTime()) ? "" : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What an input's text stands for; throws when it should be JSON and isn't. @param {Field} field @param {string} text @returns {any} */
export function fromInput({ kind, blank, attributes }, text) {
  if (!text.trim()) return blank;
  if (kind === "json") return JSON.parse(text);
  if (kind === "number") return Number(text);
  return attributes.type === "datetime-local" ? new Date(text).toISOString() : text;
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

/** Several that are one field: only literals, or a number that may also come as a text. @param {any[]} among */
function merged(among) {
  if (among.every((one) => one?.enum || one?.const !== undefined)) return { enum: among.flatMap((one) => one.enum ?? [one.const]) };
  const numbers = among.filter((one) => one?.type === "number" || one?.type === "integer");
  const asTexts = among.filter((one) => one?.type === "string" && one.pattern);
  return numbers.length === 1 && asTexts.length === among.length - 1 ? numbers[0] : null;
}

/** @param {any} found @returns {any[]} */
function alternatives({ anyOf, oneOf, type }) {
  const all = anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((one) => ({ type: one })) : []);
  return all.filter((one) => one?.type !== "null");
}

/** Could it be a value of this? @param {any} found @param {any} value */
function accepts({ type, enum: several, const: only, properties, required = [] }, value) {
  if (several || only !== undefined) return (several ?? [only]).includes(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type !== "object" && !properties) return typeof value === type;
  const fits = ([name, one]) => one.const === undefined || one.const === value[name];
  if (typeof value !== "object" || Array.isArray(value)) return false;
  return required.every((name) => name in value) && Object.entries(properties ?? {}).every(fits);
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
  const { type, properties, items } = found;
  if (found.$ref || found.allOf) return "json";
  const count = alternatives(found).length;
  if (count) return depth < MAX_DEPTH && count <= MAX_ALTERNATIVES ? "union" : "json";
  if (inside && found.const !== undefined) return "fixed";
  if (type === "boolean" && decided) return "check";
  if (optionsOf(found).length) return "choice";
  if (type === "array" && items && optionsOf(resolve(items, root).found).length) return "choices";
  if (type === "array" && items && !found.prefixItems) return depth < MAX_DEPTH ? "list" : "json";
  if (properties && (type ?? "object") === "object") return depth < MAX_DEPTH ? "group" : "json";
  if (type === "number" || type === "integer") return "number";
  return !type || type === "string" ? "text" : "json";
}

/** @param {any} found @returns {any[]} */
function optionsOf({ type, enum: several, const: only }) {
  if (several) return several.filter((one) => one !== null);
  if (only !== undefined) return [only];
  return type === "boolean" ? [true, false] : [];
}

/** What the browser can check by itself. @param {any} found */
function attributesOf({ type, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength }) {
  if (type !== "number" && type !== "integer") return { type: FORMATS[format] ?? "text", minlength: minLength, maxlength: maxLength };
  if (type === "number") return { type: "number", step: multipleOf ?? "any", min: minimum ?? exclusiveMinimum, max: maximum ?? exclusiveMaximum };
  return { type: "number", step: multipleOf ?? 1, min: minimum ?? (exclusiveMinimum + 1 || null), max: maximum ?? (exclusiveMaximum - 1 || null) };
}
