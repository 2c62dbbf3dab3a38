// The context of a turn, as the page describes it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { readContext } from "./agui/session/turns.js";

for (const [name, getContext] of Object.entries({
  throws: () => { throw new Error("no"); },
  rejects: () => Promise.reject(1),
  "is no list": () => 7,
})) {
  test(`a context that ${name} is none, and is told in the console`, async (t) => {
    const logged = t.mock.method(console, "error", () => {});
    assert.deepEqual(await readContext(getContext), []);
    assert.deepEqual(logged.mock.calls.map((call) => call.arguments[0]), ["agui-chat:"]);
  });
}

test("a context may be asynchronous, and of any values", async () => {
  const context = await readContext(async () => [{ description: "Rows", value: [1, 2] }, { description: "Nothing" }]);
  assert.deepEqual(context, [{ description: "Rows", value: "[1,2]" }, { description: "Nothing", value: "" }]);
});
