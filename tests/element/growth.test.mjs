// Patches, streams, arguments, forms and spoken answers: whatever is repeated, the work grows with it and not with its square.
import assert from "node:assert/strict";
import { test } from "node:test";

import { applyPatch } from "./agui/json/patch.js";
import { misfit } from "./agui/json/misfit.js";
import { fieldOf } from "./agui/approvals/schema.js";
import { secretsOf } from "./agui/json/schema-parts.js";
import { phrasesOf } from "./agui/page/speech-text.js";
import { SseParser } from "./agui/http/sse.js";
import { fastest, growsTooFast, units } from "./growth.mjs";

const listOf = (count, make) => Array.from({ length: count }, (_, index) => make(index));

/** What is slow of these, each of which makes work of a size. The first one is as it should be. */
function slow(works, size) {
  const calm = Math.max(fastest(Object.values(works)[0](4 * size)), 0.2);
  return Object.keys(works).filter((name) => growsTooFast(works[name], size, calm));
}

const OPERATIONS = [
  { op: "test", path: "/text", value: "words" },
  { op: "add", path: "/list/-", value: 1 },
  { op: "add", path: "/list/0", value: [] },
  { op: "remove", path: "/list/0" },
  { op: "replace", path: "/list/1", value: 2 },
  { op: "move", from: "/list/0", path: "/list/1" },
  { op: "copy", from: "/list", path: "/copied" },
  { op: "add", path: "/names/new", value: 1 },
  { op: "replace", path: "/names/k0", value: {} },
];

/** An object that is copied while it changes has as many versions, which no patch can share: that costs what it says. */
const isVersions = (unit) => unit.some(({ op }) => op === "copy") && unit.some(({ op, path }) => op !== "test" && path.startsWith("/list"));

test("operations on a large state, in any order", () => {
  const patch = (unit) => (size) => {
    const state = { text: "words", list: Array(2 * size).fill(1), names: Object.fromEntries(listOf(size, (index) => [`k${index}`, index])) };
    return () => applyPatch(state, listOf(size, (index) => unit[index % unit.length]));
  };
  const all = [1, 2, 3].flatMap((length) => [...units(OPERATIONS, length)]).filter((unit) => !isVersions(unit));
  const works = Object.fromEntries(all.map((unit) => [JSON.stringify(unit.map(({ op, path }) => [op, path])), patch(unit)]));
  assert.deepEqual(slow(works, 500), []);
  assert.ok(all.length > 150);
});

test("pieces of a stream, in any order", () => {
  const PIECES = ["data: x\n", "\n", "\r", ":\n", "id: 1\n", "x", "data: ", "\r\n", `data: ${"y".repeat(500)}`];
  const stream = (unit) => (size) => () => {
    const parser = new SseParser();
    for (let index = 0; index < size; index++) parser.push(unit[index % unit.length]);
    parser.push("\n\n");
  };
  const all = [1, 2, 3].flatMap((length) => [...units(PIECES, length)]);
  assert.deepEqual(slow(Object.fromEntries(all.map((unit) => [JSON.stringify(unit), stream(unit)])), 4000), []);
});

const DEEPEST = 400;
const MANY = listOf(100, (index) => `option ${index}`);
const within = { $ref: "#/$defs/any" };
const tagged = (kind) => ({ type: "object", properties: { kind: { const: kind }, v: within }, required: ["kind"] });
const SCHEMAS = {
  forms: { anyOf: [{ type: "array", items: within }, { type: "object", additionalProperties: within }, { type: "string" }] },
  "one of forms": { oneOf: [{ type: "array", items: within }, { type: "object", additionalProperties: within }, { type: "string" }] },
  kinds: { anyOf: [tagged("a"), tagged("b"), { type: "null" }] },
  anything: {},
  options: { type: "array", items: { enum: MANY } },
  "one option": { enum: MANY },
  set: { type: "array", uniqueItems: true },
  names: { type: "object", propertyNames: { pattern: "^k" }, patternProperties: { "^x": {} }, additionalProperties: { type: ["string", "null"] } },
  contained: { contains: { const: [] }, minContains: 5 },
};
const PARTS = [null, 1, "", "a", [], {}, [1], { a: 1 }, [[]], { kind: "b", v: {} }];
const SHAPES = {
  wide: (part, size) => Array(size).fill(part),
  named: (part, size) => Object.fromEntries(listOf(size, (index) => [`k${index}`, part])),
  deep: (part, size) => listOf(Math.min(size, DEEPEST), () => 0).reduce((inner) => [inner], part),
  "deep in names": (part, size) => listOf(Math.min(size, DEEPEST), () => 0).reduce((v) => ({ kind: "b", v }), part),
};

/** Arguments of each schema and shape. */
function* drawn() {
  for (const [name, any] of Object.entries(SCHEMAS)) {
    const schema = { type: "object", properties: { v: within }, $defs: { any } };
    for (const [shape, make] of Object.entries(SHAPES)) {
      for (const part of PARTS) yield { name: `${name}, ${shape}: ${JSON.stringify(part)}`, schema, make: (size) => ({ v: make(part, size) }) };
    }
  }
}

const TOO_COMPLEX = /too complex/;
const unlessTooComplex = (work) => {
  try {
    return work();
  } catch (error) {
    assert.match(error.message, TOO_COMPLEX);
  }
};

test("arguments of a page's tool", () => {
  const works = {};
  for (const { name, schema, make } of drawn()) {
    works[name] = (size) => {
      const value = make(size);
      return () => unlessTooComplex(() => misfit(schema, value));
    };
  }
  assert.deepEqual(slow(works, 100), []);
});

test("what does not fit is said in few words", () => {
  for (const { name, schema, make } of drawn()) assert.ok((unlessTooComplex(() => misfit(schema, make(DEEPEST))) ?? "").length <= 1000, name);
});

test("arguments that a person looks at", () => {
  const works = {};
  for (const { name, schema, make } of drawn()) {
    works[name] = (size) => {
      const value = make(size);
      return () => [fieldOf(schema, { initial: value }), secretsOf([schema], schema).within("v").within(0).hides];
    };
  }
  assert.deepEqual(slow(works, 100), []);
});

test("answers that are read aloud", () => {
  const pieces = [..."*_~`[]()<!\\|>-a \n1.#:", "```", "~~~", "http://", "![", "](", "$", "\\("];
  const all = [1, 2, 3].flatMap((length) => [...units(pieces, length)]).map((unit) => unit.join(""));
  const reading = (unit) => (size) => {
    const answer = unit.repeat(size / unit.length);
    return () => phrasesOf(answer);
  };
  // Sixteen times of it are still within what is read.
  assert.deepEqual(all.filter((unit) => growsTooFast(reading(unit), 3000, 0.25)), []);
});
