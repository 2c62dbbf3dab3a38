import assert from "node:assert/strict";
import { test } from "node:test";

import { editable, onlyFree } from "./agui/approvals/edited-arguments.js";

const TEXT = { type: "string" };

/** The schema of an approval with these arguments. */
const answer = (properties) => ({ properties: { editedArgs: { type: "object", properties } } });

test("a form has the arguments that may be changed", () => {
  const schema = editable(answer({ id: { ...TEXT, readOnly: true }, note: TEXT }));
  assert.deepEqual(Object.keys(schema.properties), ["id", "note"]);
  assert.deepEqual(Object.keys(onlyFree(schema).properties), ["note"]);
});

test("there is no form if nothing may be changed", () => {
  assert.equal(editable(answer({ id: { ...TEXT, readOnly: true } })), null);
  assert.equal(editable(answer({})), null);
  assert.equal(editable({ properties: { approved: { type: "boolean" } } }), null);
  assert.equal(onlyFree(null), null);
});
