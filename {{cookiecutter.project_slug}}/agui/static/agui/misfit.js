// @ts-check
/**
 * Does a value fit a JSON Schema of the version 2020-12? https://json-schema.org/draft/2020-12/json-schema-validation
 *
 * A schema with a keyword that is not known here fits nothing: what it would forbid must not get through. `format` is a
 * note, as the standard has it. Patterns are the page's own, values are a model's.
 */

/** @typedef {(keyword: any, value: any, place: Place) => string | undefined | false} Check says what is wrong */
/** @typedef {{ path: string, schema: any, root: any, steps: { left: number } }} Place */

/** Each schema that is looked at with each value is a step. */
const MAX_STEPS = 100_000;
const NOTES = new Set(
  "$schema $id $comment $defs definitions title description default examples deprecated readOnly writeOnly format contentEncoding contentMediaType contentSchema discriminator then else minContains maxContains".split(" "),
);

/**
 * What of a value does not fit, in words for the model; undefined when all does. Throws when the schema can't be used.
 * @param {any} schema of an object @param {any} value @returns {string | undefined}
 */
export function misfit(schema, value) {
  const root = schema ?? {};
  if (!isObject(value)) return "they must be of the type object";
  assertKnown(root, root);
  return check(root, value, { path: "", schema: root, root, steps: { left: MAX_STEPS } });
}

/** @param {any} schema @param {any} value @param {Place} place @returns {string | undefined} */
function check(schema, value, place) {
  if (!place.steps.left--) throw new Error("the schema is too complex to check");
  if (schema === true) return undefined;
  if (schema === false) return `${place.path || "a value"} is not allowed`;
  for (const [name, keyword] of Object.entries(schema)) {
    const wrong = CHECKS[name]?.(keyword, value, { ...place, schema });
    if (wrong) return wrong.replace(/^must/, `${place.path || "they"} must`);
  }
  return undefined;
}

/** Refuse a schema with what is not known here, wherever it is. @param {any} schema @param {any} root */
function assertKnown(schema, root) {
  if (typeof schema === "boolean") return;
  if (!isObject(schema)) throw new Error(`${JSON.stringify(schema)} is no schema`);
  for (const [name, keyword] of Object.entries(schema)) {
    const isKnown = CHECKS[name] || (name === "$id" ? schema === root : NOTES.has(name) || name.startsWith("x-"));
    if (/^(?:m(?:in|ax)|exclusive|multiple)/.test(name) && !isNumber(keyword)) throw new Error(`${name} is no schema's limit: ${JSON.stringify(keyword)}`);
    if (!isKnown) throw new Error(`the schema has a keyword that this page does not know: ${JSON.stringify(name)}`);
    if (SCHEMA.has(name)) assertKnown(keyword, root);
    if (SCHEMAS.has(name)) for (const one of Object.values(keyword)) assertKnown(one, root);
    if (name === "$ref") resolve(keyword, root);
    if (name === "pattern") regex(keyword);
  }
}

/** Keywords whose value is a schema, and those that have schemas in a list or by name. */
const SCHEMA = new Set("additionalProperties propertyNames items contains not if then else".split(" "));
const SCHEMAS = new Set("$defs definitions properties patternProperties dependentSchemas prefixItems anyOf oneOf allOf".split(" "));

/** @type {Record<string, Check>} */
const CHECKS = {
  // @ts-ignore: without a prototype, "toString" is no keyword
  __proto__: null,
  type: (types, value) => ![types].flat().some((type) => TYPES[type]?.(value)) && `must be of the type ${[types].flat().join(" or ")}`,
  enum: (options, value) => !options.some((option) => isSame(option, value)) && `must be one of ${JSON.stringify(options)}`,
  const: (option, value) => !isSame(option, value) && `must be ${JSON.stringify(option)}`,

  minimum: (limit, value) => value < limit && isNumber(value) && `must be at least ${limit}`,
  maximum: (limit, value) => value > limit && isNumber(value) && `must be at most ${limit}`,
  exclusiveMinimum: (limit, value) => value <= limit && isNumber(value) && `must be more than ${limit}`,
  exclusiveMaximum: (limit, value) => value >= limit && isNumber(value) && `must be less than ${limit}`,
  multipleOf: (step, value) => isNumber(value) && !isMultiple(value, step) && `must be a multiple of ${step}`,

  minLength: (limit, value) => typeof value === "string" && [...value].length < limit && `must have at least ${limit} characters`,
  maxLength: (limit, value) => typeof value === "string" && [...value].length > limit && `must have at most ${limit} characters`,
  pattern: (source, value) => typeof value === "string" && !regex(source).test(value) && `must match ${source}`,

  required: (names, value, { path }) => isObject(value) && absent(names, value, path),
  minProperties: (limit, value) => isObject(value) && Object.keys(value).length < limit && `must have at least ${limit} properties`,
  maxProperties: (limit, value) => isObject(value) && Object.keys(value).length > limit && `must have at most ${limit} properties`,
  dependentRequired: (lists, value, { path }) =>
    isObject(value) && first(Object.entries(lists), ([name, names]) => Object.hasOwn(value, name) && absent(names, value, path)),
  dependentSchemas: (schemas, value, place) =>
    isObject(value) && first(Object.entries(schemas), ([name, schema]) => Object.hasOwn(value, name) && check(schema, value, place)),
  propertyNames: (schema, value, place) =>
    isObject(value) && first(Object.keys(value), (name) => check(schema, name, { ...place, path: `the name ${JSON.stringify(name)}` })),
  properties: (schemas, value, place) =>
    isObject(value) && first(Object.keys(value), (name) => Object.hasOwn(schemas, name) && check(schemas[name], value[name], inside(place, name))),
  patternProperties: (schemas, value, place) =>
    isObject(value) &&
    first(Object.entries(schemas), ([source, schema]) =>
      first(Object.keys(value), (name) => regex(source).test(name) && check(schema, value[name], inside(place, name))),
    ),
  additionalProperties: (schema, value, place) =>
    isObject(value) &&
    first(Object.keys(value), (name) => {
      const { properties = {}, patternProperties = {} } = place.schema;
      if (Object.hasOwn(properties, name) || Object.keys(patternProperties).some((source) => regex(source).test(name))) return undefined;
      return schema === false ? `${inside(place, name).path} is unknown` : check(schema, value[name], inside(place, name));
    }),

  minItems: (limit, value) => Array.isArray(value) && value.length < limit && `must have at least ${limit} items`,
  maxItems: (limit, value) => Array.isArray(value) && value.length > limit && `must have at most ${limit} items`,
  uniqueItems: (unique, value) => unique && Array.isArray(value) && new Set(value.map(canonical)).size < value.length && "must have no item twice",
  prefixItems: (schemas, value, place) =>
    Array.isArray(value) && first(value.slice(0, schemas.length), (item, index) => check(schemas[index], item, atIndex(place, index))),
  items: (schema, value, place) => {
    const before = place.schema.prefixItems?.length ?? 0;
    return Array.isArray(value) && first(value.slice(before), (item, index) => check(schema, item, atIndex(place, before + index)));
  },
  contains: (schema, value, place) => {
    const { minContains = 1, maxContains = Infinity } = place.schema;
    const count = Array.isArray(value) ? value.filter((item) => !check(schema, item, place)).length : minContains;
    return (count < minContains || (count > maxContains && Array.isArray(value))) && "must have other items";
  },

  $ref: (pointer, value, place) => check(resolve(pointer, place.root), value, place),
  allOf: (schemas, value, place) => first(schemas, (schema) => check(schema, value, place)),
  anyOf: (schemas, value, place) => {
    const wrongs = schemas.map((schema) => check(schema, value, place));
    return wrongs.every(Boolean) && wrongs.join(", or ");
  },
  oneOf: (schemas, value, place) => {
    const wrongs = schemas.map((schema) => check(schema, value, place)).filter(Boolean);
    if (wrongs.length === schemas.length) return wrongs.join(", or ") || "must not be there";
    return wrongs.length < schemas.length - 1 && "must fit only one of the forms";
  },
  not: (schema, value, place) => !check(schema, value, place) && `must not fit ${JSON.stringify(schema)}`,
  if: (schema, value, place) => {
    const { then = true, else: otherwise = true } = place.schema;
    return check(check(schema, value, place) ? otherwise : then, value, place);
  },
};

/** @type {Record<string, (value: any) => boolean>} */
const TYPES = {
  // @ts-ignore: without a prototype, "toString" is no type
  __proto__: null,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => isObject(value),
};

/** @param {any} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** @param {any} value */
const isNumber = (value) => typeof value === "number";
/** @param {any} one @param {any} other */
const isSame = (one, other) => canonical(one) === canonical(other);

/** A value as JSON, with sorted names. @param {any} value @returns {string} */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

/** @param {number} value @param {number} step */
function isMultiple(value, step) {
  const times = value / step;
  return Number.isFinite(times) && Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times) % 1 ? 1 : 0);
}

/** @param {string[]} names @param {any} value @param {string} path */
function absent(names, value, path) {
  const missing = names.find((name) => !Object.hasOwn(value, name));
  return missing === undefined ? undefined : `${path ? `${path}.` : ""}${missing} is missing`;
}

/** @param {Place} place @param {string} name @returns {Place} */
const inside = (place, name) => ({ ...place, path: place.path ? `${place.path}.${name}` : name });

/** @param {Place} place @param {number} index @returns {Place} */
const atIndex = (place, index) => ({ ...place, path: `${place.path}[${index}]` });

/** @param {string} source of a regular expression */
function regex(source) {
  try {
    return new RegExp(source, "u");
  } catch {
    return new RegExp(source); // Python and older JavaScript escape more than is needed
  }
}

/** What a reference within the schema means. @param {string} pointer @param {any} root @returns {any} */
function resolve(pointer, root) {
  const parts = /^#(?:\/|$)/.test(pointer) ? pointer.split("/").slice(1) : [""];
  const unescaped = parts.map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
  const found = unescaped.reduce((value, part) => (Object.hasOwn(Object(value), part) ? value[part] : undefined), root);
  if (found === undefined) throw new Error(`the schema has a reference that leads nowhere: ${JSON.stringify(pointer)}`);
  return found;
}

/** The first that is found. @template T @param {T[]} items @param {(item: T, index: number) => string | undefined | false} find */
function first(items, find) {
  for (const [index, item] of items.entries()) {
    const wrong = find(item, index);
    if (wrong) return wrong;
  }
  return undefined;
}
