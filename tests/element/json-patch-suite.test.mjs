// Are documents patched as the public json-patch-tests have it?
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { applyPatch } from "./agui/json/patch.js";

const load = createRequire(import.meta.url);
const records = ["tests.json", "spec_tests.json"].flatMap((file) => load(`json-patch-test-suite/${file}`));

/** Records that nobody can pass, which the suite has switched off itself. */
const DIFFERENCES = { "JSON.parse() takes the second of two members of one name": ["duplicate ops", "A.13 Invalid JSON Patch Document"] };

const judged = records.filter(({ patch, comment }) => patch && !Object.values(DIFFERENCES).flat().includes(comment));

test("documents are patched as the public suite has it, and stay as they were", () => {
  for (const { comment, doc, patch, expected = doc, error } of judged) {
    const before = structuredClone(doc);
    if (error === undefined) assert.deepEqual(applyPatch(doc, patch), expected, comment);
    else assert.throws(() => applyPatch(doc, patch), comment ?? error);
    assert.deepEqual(doc, before, comment);
  }
  assert.equal(judged.length, 93);
});
