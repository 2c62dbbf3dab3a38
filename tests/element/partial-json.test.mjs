import assert from "node:assert/strict";
import { test } from "node:test";

import { parsePartial } from "./agui/json/partial.js";

/** What each text says so far. */
const CASES = [
  ["", undefined],
  ["{", {}],
  ['{"a', {}],
  ['{"a"', {}],
  ['{"a":', {}],
  ['{"a": "', { a: "" }],
  ['{"a": "x\\', { a: "x" }],
  ['{"a": "x\\\\', { a: "x\\" }],
  ['{"a": "x\\n', { a: "x\n" }],
  ['{"a": "x\\u00e', { a: "x" }],
  ['{"a": "\\ud83d', { a: "" }],
  ['{"a": "\\ud83d\\ude00', { a: "😀" }],
  ['{"a": 1', {}],
  ['{"a": 12, "b": -1.5e3}', { a: 12, b: -1500 }],
  ['{"a": tru', {}],
  ['{"a": [true, null, fal', { a: [true, null] }],
  ['{"a": [{"b": [1, 2', { a: [{ b: [1] }] }],
  ['{"a": {"b": "c"}, "d', { a: { b: "c" } }],
  ['{"__proto__": 1, "b": 2', Object.fromEntries([["__proto__", 1]])],
  ["nonsense", undefined],
  ['{"a": nonsense, "b": 1}', undefined],
];

for (const [json, value] of CASES) {
  test(`${json || "nothing"} is read as far as it goes`, () => {
    assert.deepEqual(parsePartial(json), value);
  });
}

test("each beginning of a text is read, and none has what the whole text has not", () => {
  const value = { title: 'A "b" \\ ü 😀\n', list: [1, -2.5, true, null, { x: [] }, "z"], empty: {} };
  const json = JSON.stringify(value);
  for (let length = 1; length < json.length; length += 1) {
    const seen = parsePartial(json.slice(0, length));
    assert.ok(value.title.startsWith(seen.title ?? ""), json.slice(0, length));
    const whole = (seen.list ?? []).slice(0, -1);
    assert.deepEqual(whole, value.list.slice(0, whole.length));
  }
  assert.deepEqual(parsePartial(json), value);
});

test("a million letters are read in one go", () => {
  const text = "x".repeat(1_000_000);
  assert.equal(parsePartial(`{"a": "${text}`).a, text);
});
