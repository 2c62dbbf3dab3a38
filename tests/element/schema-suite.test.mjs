// Does misfit() judge as the public JSON-Schema-Test-Suite and another validator do? What it refuses is written down.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Validator } from "@cfworker/json-schema";

import { misfit } from "./agui/json/misfit.js";

/** Schemas of the suite (which npm has for draft 4) that fit nothing here, and why. */
const REFUSED = {
  "since 2020-12, `items` and `additionalItems` are `prefixItems` and `items`": [
    "additionalItems: additionalItems are allowed by default",
    "additionalItems: additionalItems as false without items",
    "additionalItems: additionalItems as schema",
    "additionalItems: array of items with no additionalItems",
    "additionalItems: items is schema, no additionalItems",
    "items: an array of schemas for items",
    "ref: relative pointer ref to array",
  ],
  "since 2019-09, `dependencies` are `dependentRequired` and `dependentSchemas`": [
    "dependencies: dependencies",
    "dependencies: multiple dependencies",
    "dependencies: multiple dependencies subschema",
  ],
  "since draft 6, exclusive limits are numbers": ["maximum: exclusiveMaximum validation", "minimum: exclusiveMinimum validation"],
  "definitions stand in `$defs` and not among the keywords": ["ref: escaped pointer ref"],
  "nothing is fetched": [
    "definitions: invalid definition",
    "definitions: valid definition",
    "ref: remote ref, containing refs itself",
    "refRemote: change resolution scope",
    "refRemote: fragment within remote ref",
    "refRemote: ref within remote ref",
    "refRemote: remote ref",
  ],
};

/** Arguments are an object, so the value is one of its properties. */
const wrapped = (schema) => JSON.parse(JSON.stringify({ properties: { v: schema } }).replaceAll('"$ref":"#', '"$ref":"#/properties/v'));

/** Is it right? "refused" when the schema can't be used. */
function verdict(schema, value) {
  try {
    return misfit(wrapped(schema), { v: value }) === undefined;
  } catch (error) {
    assert.match(error.message, /keyword|no schema|leads nowhere/);
    return "refused";
  }
}

test("the values of the public suite are judged as it has them", () => {
  const folder = fileURLToPath(new URL("node_modules/json-schema-test-suite/tests/draft4", import.meta.url));
  const refused = new Set();
  let judged = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    for (const { description, schema, tests } of JSON.parse(readFileSync(`${folder}/${file}`, "utf8"))) {
      for (const { data, valid, description: what } of tests) {
        const found = verdict(schema, data);
        if (found === "refused") refused.add(`${file.slice(0, -5)}: ${description}`);
        else judged += assert.equal(found, valid, `${file}: ${description}: ${what}`) ?? 1;
      }
    }
  }
  assert.equal(judged, 213);
  assert.deepEqual([...refused].sort(), Object.values(REFUSED).flat().sort());
});

/** Numbers that are the same in each run. @param {number} seed */
function generator(seed) {
  const next = () => ((seed = (seed * 1103515245 + 12345) % 2 ** 31), seed / 2 ** 31);
  const pick = (list) => list[Math.floor(next() * list.length)];
  return { next, pick };
}

const VALUES = [null, true, 0, 1, -1.5, 3, 0.3, "", "a", "ab", "abc", "👋👋", [], [1], [1, 1], ["a", 2, null], {}, { a: 1 }, { a: "b", b: [1] }, { c: { a: 0 } }];

/** @param {any} random @param {number} depth */
function schemaOf({ next, pick }, depth) {
  const inner = () => schemaOf({ next, pick }, depth - 1);
  const keywords = {
    type: () => pick(["string", "number", "integer", "boolean", "null", "array", "object", ["string", "null"]]),
    enum: () => [pick(VALUES), pick(VALUES)],
    const: () => pick(VALUES),
    minimum: () => pick([0, 1]),
    maximum: () => pick([0, 2]),
    exclusiveMinimum: () => 1,
    exclusiveMaximum: () => 1,
    multipleOf: () => pick([0.1, 2]),
    minLength: () => 2,
    maxLength: () => 2,
    pattern: () => pick(["^a", "b$"]),
    required: () => [pick(["a", "b"])],
    minProperties: () => 1,
    maxProperties: () => 1,
    minItems: () => 2,
    maxItems: () => 1,
    uniqueItems: () => true,
    dependentRequired: () => ({ a: ["b"] }),
    ...(depth && {
      properties: () => ({ a: inner(), b: inner() }),
      patternProperties: () => ({ "^c": inner() }),
      additionalProperties: () => pick([false, inner()]),
      propertyNames: () => inner(),
      dependentSchemas: () => ({ a: inner() }),
      items: inner,
      prefixItems: () => [inner(), inner()],
      contains: inner,
      anyOf: () => [inner(), inner()],
      oneOf: () => [inner(), inner()],
      allOf: () => [inner(), inner()],
      not: inner,
      if: inner,
      then: inner,
      else: inner,
      $ref: () => "#/$defs/shared",
    }),
  };
  return Object.fromEntries(Array.from({ length: pick([1, 1, 2, 3]) }, () => pick(Object.keys(keywords))).map((name) => [name, keywords[name]()]));
}

test("schemas of 2020-12 are judged as another validator judges them", () => {
  const random = generator(20);
  let wrong = 0;
  for (let round = 0; round < 3000; round++) {
    const schema = { properties: { v: schemaOf(random, 2) }, $defs: { shared: schemaOf(random, 0) } };
    const oracle = new Validator(schema, "2020-12");
    for (const v of VALUES) {
      const { valid } = oracle.validate({ v });
      assert.equal(misfit(schema, { v }) === undefined, valid, JSON.stringify([schema, v]));
      if (!valid) wrong++;
    }
  }
  assert.ok(wrong > 10_000 && wrong < 50_000, `${wrong} values do not fit`);
});
