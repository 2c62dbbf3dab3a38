// @ts-check
/**
 * Check a value against a JSON Schema of the version 2020-12.
 * https://json-schema.org/draft/2020-12/json-schema-validation
 *
 * With an unknown keyword in the schema no value fits, because that keyword could forbid it.
 * `format` is only a note, as in the standard. The page writes patterns, and a model writes values.
 */
import { canonical, isMultiple, isOfType, isRecord } from "./values.js";

/** @typedef {import("../types.d.ts").Schema} Schema */
/** @typedef {string | undefined | false} Wrong what is wrong, if anything is */
/** @typedef {{ path: string, schema: Schema, root: Schema, steps: { left: number } }} Place */
/**
 * @template Keyword, Value
 * @typedef {(keyword: Keyword, value: Value, place: Place) => Wrong} Check of one keyword
 */
/** @typedef {Required<Schema>} Keywords */
/** @typedef {{ [Name in keyof Keywords]?: Check<Keywords[Name], unknown> }} Checks */

/** Comparing one value with one schema is a step. */
const MAX_STEPS = 100_000;
/** The message about a value contains the messages about its parts. */
const MAX_LENGTH = 1000;
const NOTES = new Set(
  (
    "$schema $id $comment $defs definitions title description default examples deprecated " +
    "readOnly writeOnly format contentEncoding contentMediaType contentSchema discriminator " +
    "then else minContains maxContains"
  ).split(" "),
);
const LIMIT = /^(?:m(?:in|ax)|exclusive|multiple)/;

/**
 * Say what does not fit, in words for the model; undefined if everything fits. Throws if the schema
 * can't be used.
 * @param {Schema | undefined} schema of an object @param {unknown} value
 * @returns {string | undefined}
 */
export function misfit(schema, value) {
  const root = schema ?? {};
  if (!isRecord(value)) return "they must be of the type object";
  assertKnown(root, root);
  return check(root, value, { path: "", schema: root, root, steps: { left: MAX_STEPS } });
}

/**
 * @param {Schema | boolean} schema @param {unknown} value @param {Place} place
 * @returns {string | undefined}
 */
function check(schema, value, place) {
  if (!place.steps.left--) throw new Error("the schema is too complex to check");
  if (schema === true) return undefined;
  if (schema === false) return `${place.path || "a value"} is not allowed`;
  for (const [name, keyword] of Object.entries(schema)) {
    const wrong = CHECKS[name]?.(keyword, value, { ...place, schema });
    if (wrong) return wrong.replace(/^must/, `${place.path || "they"} must`).slice(0, MAX_LENGTH);
  }
  return undefined;
}

/**
 * Throw for an unknown keyword anywhere in the schema.
 * @param {unknown} schema @param {Schema} root
 */
function assertKnown(schema, root) {
  if (typeof schema === "boolean") return;
  if (!isRecord(schema)) throw new Error(`${JSON.stringify(schema)} is no schema`);
  for (const [name, keyword] of Object.entries(schema)) {
    const isNote = name === "$id" ? schema === root : NOTES.has(name) || name.startsWith("x-");
    if (LIMIT.test(name) && typeof keyword !== "number") {
      throw new Error(`${name} is no schema's limit: ${JSON.stringify(keyword)}`);
    }
    if (!CHECKS[name] && !isNote) {
      const what = "the schema has a keyword that this page does not know";
      throw new Error(`${what}: ${JSON.stringify(name)}`);
    }
    if (SCHEMA.has(name)) assertKnown(keyword, root);
    if (SCHEMAS.has(name)) {
      for (const one of Object.values(/** @type {object} */ (keyword))) assertKnown(one, root);
    }
    if (name === "$ref") resolve(/** @type {string} */ (keyword), root);
    if (name === "pattern") regex(/** @type {string} */ (keyword));
  }
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const SCHEMA = new Set(
  "additionalProperties propertyNames items contains not if then else".split(" "),
);
const SCHEMAS = new Set(
  (
    "$defs definitions properties patternProperties dependentSchemas prefixItems " +
    "anyOf oneOf allOf"
  ).split(" "),
);

// Most keywords are about values of one type, and others always fit.
/** @template K @param {Check<K, number>} check @returns {Check<K, unknown>} */
const ofNumber = (check) => (keyword, value, place) => {
  return typeof value === "number" && check(keyword, value, place);
};
/** @template K @param {Check<K, string>} check @returns {Check<K, unknown>} */
const ofText = (check) => (keyword, value, place) => {
  return typeof value === "string" && check(keyword, value, place);
};
/** @template K @param {Check<K, unknown[]>} check @returns {Check<K, unknown>} */
const ofList = (check) => (keyword, value, place) => {
  return Array.isArray(value) && check(keyword, value, place);
};
/**
 * @template K
 * @param {Check<K, Record<string, unknown>>} check @returns {Check<K, unknown>}
 */
const ofObject = (check) => (keyword, value, place) => {
  return isRecord(value) && check(keyword, value, place);
};

/** @param {number} limit @param {string} what */
const tooFew = (limit, what) => `must have at least ${limit} ${what}`;
/** @param {number} limit @param {string} what */
const tooMany = (limit, what) => `must have at most ${limit} ${what}`;

/** @type {Checks} */
const CHECKS = {
  // @ts-ignore: without a prototype, "toString" is no keyword
  __proto__: null,
  type: (types, value) => {
    const names = [types].flat();
    if (names.some((name) => isOfType(value, name))) return undefined;
    return `must be of the type ${names.join(" or ")}`;
  },
  enum: (options, value) => {
    const texts = options.map(canonical);
    return !texts.includes(canonical(value)) && `must be one of ${JSON.stringify(options)}`;
  },
  const: (option, value) => {
    return canonical(option) !== canonical(value) && `must be ${JSON.stringify(option)}`;
  },

  minimum: ofNumber((limit, value) => value < limit && `must be at least ${limit}`),
  maximum: ofNumber((limit, value) => value > limit && `must be at most ${limit}`),
  exclusiveMinimum: ofNumber((limit, value) => value <= limit && `must be more than ${limit}`),
  exclusiveMaximum: ofNumber((limit, value) => value >= limit && `must be less than ${limit}`),
  multipleOf: ofNumber((step, value) => {
    return !isMultiple(value, step) && `must be a multiple of ${step}`;
  }),

  minLength: ofText((limit, text) => [...text].length < limit && tooFew(limit, "characters")),
  maxLength: ofText((limit, text) => [...text].length > limit && tooMany(limit, "characters")),
  pattern: ofText((source, text) => !regex(source).test(text) && `must match ${source}`),

  required: ofObject((names, value, { path }) => absent(names, value, path)),
  minProperties: ofObject((limit, value) => {
    return Object.keys(value).length < limit && tooFew(limit, "properties");
  }),
  maxProperties: ofObject((limit, value) => {
    return Object.keys(value).length > limit && tooMany(limit, "properties");
  }),
  dependentRequired: ofObject((lists, value, { path }) => {
    return first(Object.entries(lists), ([name, names]) => {
      return Object.hasOwn(value, name) && absent(names, value, path);
    });
  }),
  dependentSchemas: ofObject((schemas, value, place) => {
    return first(Object.entries(schemas), ([name, schema]) => {
      return Object.hasOwn(value, name) && check(schema, value, place);
    });
  }),
  propertyNames: ofObject((schema, value, place) => {
    return first(Object.keys(value), (name) => {
      return check(schema, name, { ...place, path: `the name ${JSON.stringify(name)}` });
    });
  }),
  properties: ofObject((schemas, value, place) => {
    return first(Object.keys(value), (name) => {
      if (!Object.hasOwn(schemas, name)) return undefined;
      return check(schemas[name], value[name], inside(place, name));
    });
  }),
  patternProperties: ofObject((schemas, value, place) => {
    return first(Object.entries(schemas), ([source, schema]) => {
      const names = Object.keys(value).filter((name) => regex(source).test(name));
      return first(names, (name) => check(schema, value[name], inside(place, name)));
    });
  }),
  additionalProperties: ofObject((schema, value, place) => {
    const { properties = {}, patternProperties = {} } = place.schema;
    const sources = Object.keys(patternProperties);
    return first(Object.keys(value), (name) => {
      if (Object.hasOwn(properties, name)) return undefined;
      if (sources.some((source) => regex(source).test(name))) return undefined;
      if (schema === false) return `${inside(place, name).path} is unknown`;
      return check(schema, value[name], inside(place, name));
    });
  }),

  minItems: ofList((limit, list) => list.length < limit && tooFew(limit, "items")),
  maxItems: ofList((limit, list) => list.length > limit && tooMany(limit, "items")),
  uniqueItems: ofList((unique, list) => {
    const different = new Set(list.map(canonical)).size;
    return unique && different < list.length && "must have no item twice";
  }),
  prefixItems: ofList((schemas, list, place) => {
    return first(list.slice(0, schemas.length), (item, index) => {
      return check(schemas[index], item, atIndex(place, index));
    });
  }),
  items: ofList((schema, list, place) => {
    const before = place.schema.prefixItems?.length ?? 0;
    return first(list.slice(before), (item, index) => {
      return check(schema, item, atIndex(place, before + index));
    });
  }),
  contains: ofList((schema, list, place) => {
    const { minContains = 1, maxContains = Infinity } = place.schema;
    const fitting = list.filter((item) => !check(schema, item, place));
    const { length } = fitting;
    return (length < minContains || length > maxContains) && "must have other items";
  }),

  $ref: (pointer, value, place) => check(resolve(pointer, place.root), value, place),
  allOf: (schemas, value, place) => first(schemas, (schema) => check(schema, value, place)),
  anyOf: (schemas, value, place) => {
    const wrongs = schemas.map((schema) => check(schema, value, place));
    return wrongs.every(Boolean) && wrongs.join(", or ");
  },
  oneOf: (schemas, value, place) => {
    const all = schemas.map((schema) => check(schema, value, place));
    const wrongs = all.filter(Boolean);
    if (wrongs.length === schemas.length) return wrongs.join(", or ") || "must not be there";
    return wrongs.length < schemas.length - 1 && "must fit only one of the forms";
  },
  not: (schema, value, place) => {
    return !check(schema, value, place) && `must not fit ${JSON.stringify(schema)}`;
  },
  if: (schema, value, place) => {
    const { then = true, else: otherwise = true } = place.schema;
    return check(check(schema, value, place) ? otherwise : then, value, place);
  },
};

/** @param {string[]} names @param {object} value @param {string} path */
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
    return new RegExp(source); // Python and older JavaScript escape more than necessary.
  }
}

/**
 * Resolve a reference within the schema.
 * @param {string} pointer @param {Schema} root @returns {Schema | boolean}
 */
function resolve(pointer, root) {
  const parts = /^#(?:\/|$)/.test(pointer) ? pointer.split("/").slice(1) : [""];
  /** @type {unknown} */
  let found = root;
  for (const part of parts) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    const within = Object(found);
    found = Object.hasOwn(within, name) ? within[name] : undefined;
  }
  if (found !== undefined) return /** @type {Schema | boolean} */ (found);
  const what = "the schema has a reference that leads nowhere";
  throw new Error(`${what}: ${JSON.stringify(pointer)}`);
}

/**
 * Return the first result of `find` that is not falsy.
 * @template T @param {T[]} items @param {(item: T, index: number) => Wrong} find
 */
function first(items, find) {
  for (const [index, item] of items.entries()) {
    const wrong = find(item, index);
    if (wrong) return wrong;
  }
  return undefined;
}
