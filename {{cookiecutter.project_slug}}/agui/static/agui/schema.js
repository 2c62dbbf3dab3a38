// @ts-check
/**
 * JSON Schema to the fields of a form, and what is typed into them back to JSON. Pure: as data, without DOM.
 * What no simple field fits is typed in as JSON: the server checks every answer anyway.
 */
import { heading } from "./strings.js";

/**
 * @typedef {"text" | "number" | "check" | "choice" | "choices" | "group" | "json"} Kind
 * @typedef {{
 *   kind: Kind, name: string, label: string, help?: string, required: boolean,
 *   initial: any, blank: any, attributes: Record<string, any>, options: any[], fields: Field[],
 * }} Field `blank` is what a field that is left empty stands for; undefined: nothing is sent
 */

const MAX_DEPTH = 3;
const MAX_HOPS = 20;
const FORMATS = { date: "date", "date-time": "datetime-local", time: "time", email: "email", uri: "url" };

/**
 * @param {any} schema
 * @param {{ root?: any, name?: string, keyed?: boolean, initial?: any, depth?: number }} [place] keyed: the object must have it
 * @returns {Field}
 */
export function fieldOf(schema, { root = schema, name = "", keyed = true, initial, depth = 0 } = {}) {
  const { found, nullable } = resolve(schema, root);
  const start = initial ?? found.default;
  const attributes = attributesOf(found);
  const kind = kindOf(found, root, { depth, decided: typeof start === "boolean" && !nullable });
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
    else break;
  }
  const types = [found.type].flat().filter((type) => type !== "null");
  if (found.enum?.includes(null) || (Array.isArray(found.type) && found.type.includes("null"))) nullable = true;
  return { nullable, found: types.length === 1 ? { ...found, type: types[0] } : found };
}

/** @param {any} root @param {string} pointer @returns {any} */
function lookup(root, pointer) {
  const keys = pointer.split("/").slice(1).map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
  return keys.reduce((value, key) => value?.[key], root) ?? {};
}

/** @param {any} found @param {any} root @param {{ depth: number, decided: boolean }} place @returns {Kind} */
function kindOf(found, root, { depth, decided }) {
  const { type, properties, items } = found;
  if (found.$ref || found.anyOf || found.oneOf || found.allOf) return "json";
  if (type === "boolean" && decided) return "check";
  if (optionsOf(found).length) return "choice";
  if (type === "array" && items && optionsOf(resolve(items, root).found).length) return "choices";
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
function attributesOf({ type, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength }) {
  if (type !== "number" && type !== "integer") return { type: FORMATS[format] ?? "text", minlength: minLength, maxlength: maxLength };
  if (type === "number") return { type: "number", step: "any", min: minimum, max: maximum };
  return { type: "number", step: 1, min: minimum ?? (exclusiveMinimum + 1 || null), max: maximum ?? (exclusiveMaximum - 1 || null) };
}
