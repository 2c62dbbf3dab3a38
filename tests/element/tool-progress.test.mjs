import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyConversation, loadFor, reduce } from "./agui/conversation/conversation.js";
import { duration } from "./agui/words/duration.js";

await loadFor({ type: "STEP_STARTED" });

const of = { metadata: { toolCallId: "c" } };
const begin = [{ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search" }, { type: "TOOL_CALL_END", toolCallId: "c" }];
const after = (...events) => [...begin, ...events].reduce(reduce, emptyConversation()).calls.c;

test("a call knows the step and the progress that its tool tells", () => {
  assert.deepEqual(after({ type: "STEP_STARTED", stepName: "Look", ...of }, { type: "CUSTOM", name: "x", value: { percent: 30 }, ...of }), {
    status: "running", step: "Look", percent: 30,
  });
  assert.equal(after({ type: "STEP_STARTED", stepName: "Look", ...of }, { type: "STEP_FINISHED", stepName: "Look", ...of }).step, undefined);
});

test("progress is between 0 and 100, and of a call that there is", () => {
  const percents = [-5, 400, "7", null, NaN].map((percent) => after({ type: "CUSTOM", name: "x", value: { percent }, ...of }).percent);
  assert.deepEqual(percents, [0, 100, undefined, undefined, undefined]);
  for (const toolCallId of ["d", "__proto__", undefined, 5]) {
    assert.equal(after({ type: "CUSTOM", name: "x", value: { percent: 5 }, metadata: { toolCallId } }).percent, undefined);
  }
});

test("what a call told of itself is over with its result, and its time is kept", () => {
  const told = { type: "CUSTOM", name: "x", value: { percent: 30 }, ...of };
  const result = { type: "TOOL_CALL_RESULT", messageId: "r", toolCallId: "c", content: "ok", metadata: { duration_ms: 12 } };
  assert.deepEqual(after(told, result, told), { status: "success", result: "ok", duration_ms: 12 });
});

test("times are short", () => {
  const times = [1000, 4210, 9960, 59_400, 59_600, 125_000].map((ms) => duration(ms, "en"));
  assert.deepEqual(times, ["1s", "4.2s", "10s", "59s", "1m 0s", "2m 5s"]);
});
