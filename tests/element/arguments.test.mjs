import assert from "node:assert/strict";
import { test } from "node:test";

import { hidden } from "./agui/tools/arguments.js";

/** Is what these keys lead to hidden? */
const hides = (paths, ...keys) => keys.reduce((secrets, key) => secrets.within(key), hidden(paths)).hides;

test("paths hide what they lead to, and nothing else", () => {
  const paths = [["pin"], ["doors", "*", "code"]];
  assert.deepEqual([hides(paths, "pin"), hides(paths, "name"), hides(paths)], [true, false, false]);
  assert.deepEqual([hides(paths, "doors", 0, "code"), hides(paths, "doors", "front", "code")], [true, true]);
  assert.deepEqual([hides(paths, "doors", 0), hides(paths, "doors", 0, "name"), hides(paths, "code")], [false, false, false]);
});
