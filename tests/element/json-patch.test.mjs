import assert from "node:assert/strict";
import { test } from "node:test";

import { applyPatch } from "./agui/json/patch.js";

const document = { a: [1, 2], "x/y": { "~": 0 } };

for (const [operation, expected] of [
  [{ op: "add", path: "/a/1", value: 9 }, { ...document, a: [1, 9, 2] }],
  [{ op: "add", path: "/a/-", value: 9 }, { ...document, a: [1, 2, 9] }],
  [{ op: "replace", path: "/x~1y/~0", value: null }, { ...document, "x/y": { "~": null } }],
  [{ op: "remove", path: "/a/0" }, { ...document, a: [2] }],
  [{ op: "move", from: "/a/0", path: "/b" }, { ...document, a: [2], b: 1 }],
  [{ op: "copy", from: "/a", path: "/b" }, { ...document, b: [1, 2] }],
  [{ op: "test", path: "/a/0", value: 1 }, document],
  [{ op: "replace", path: "", value: 0 }, 0],
]) {
  test(JSON.stringify(operation), () => assert.deepEqual(applyPatch(document, [operation]), expected));
}

for (const operation of [
  { op: "replace", path: "/b/c", value: 1 }, { op: "add", path: "/b/c", value: 1 }, { op: "remove", path: "/b" },
  { op: "add", path: "/a/4", value: 1 }, { op: "add", path: "/a/01", value: 1 }, { op: "add", path: "/a/", value: 1 },
  { op: "remove", path: "/a/-" }, { op: "remove", path: "/a/length" }, { op: "replace", path: "/toString", value: 1 },
  { op: "add", path: "/b" }, { op: "test", path: "/a/0", value: 2 }, { op: "add", path: "b", value: 1 },
  { op: "add", path: "/__proto__", value: {} }, { op: "replace", path: "/a/length", value: 0 }, { op: "nonsense", path: "/a" },
]) {
  test(`refused: ${JSON.stringify(operation)}`, () => {
    const before = structuredClone(document);
    assert.throws(() => applyPatch(document, [{ op: "add", path: "/a/-", value: 3 }, operation]));
    assert.deepEqual(document, before);
  });
}
