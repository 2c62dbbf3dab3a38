import assert from "node:assert/strict";
import { test } from "node:test";

import { beginRun, emptyConversation, fail, fromThread, isExpired, loadFor, reduce } from "./agui/conversation/conversation.js";
import { textOf } from "./agui/conversation/messages.js";

await loadFor({ type: "TEXT_MESSAGE_CHUNK" });
await loadFor({ type: "STATE_DELTA" });

const play = (events, start = emptyConversation()) => events.reduce(reduce, start);
const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const text = (id, ...deltas) => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta })),
  { type: "TEXT_MESSAGE_END", messageId: id },
];
const call = (id, name, args = "{}", extra = {}) => [
  { type: "TOOL_CALL_START", toolCallId: id, toolCallName: name, ...extra },
  { type: "TOOL_CALL_ARGS", toolCallId: id, delta: args },
  { type: "TOOL_CALL_END", toolCallId: id },
];
const result = (id, content, extra = {}) => ({ type: "TOOL_CALL_RESULT", messageId: `m-${id}`, toolCallId: id, content, ...extra });
const interrupt = (...ids) => ({
  ...finished,
  outcome: { type: "interrupt", interrupts: ids.map((id) => ({ id: `int-${id}`, reason: "tool_call", toolCallId: id })) },
});

test("a message that the model reads in a run stands where it was read, once", () => {
  const message = { id: "m", role: "user", content: "Only ten", metadata: { read_in_run: true } };
  const delivered = { type: "CUSTOM", name: "message_delivered", value: { messageId: "m", message, mode: "steer", after: "m-c" } };
  const queued = { type: "CUSTOM", name: "message_queued", value: { messageId: "m", message, mode: "steer", position: 0 } };
  const run = [started, queued, ...text("a", "Look."), ...call("c", "list"), result("c", "[]"), delivered, ...text("b", "Ten.")];
  const c = play(run);
  assert.deepEqual(c.messages.map(({ id }) => id), ["a", "c", "m-c", "m", "b"]);
  assert.deepEqual(c.messages[3], message);
  // A page that has loaded the thread reads the run again from its beginning.
  assert.deepEqual(play(run, c).messages.map(({ id, content }) => [id, content]), c.messages.map(({ id, content }) => [id, content]));
});

test("text is put together by message", () => {
  const { messages, status } = play([started, ...text("a", "Hel", "lo"), finished]);
  assert.deepEqual(messages, [{ id: "a", role: "assistant", content: "Hello" }]);
  assert.equal(status, "idle");
});

test("a tool call goes from streaming to running to its outcome", () => {
  const [start, args, end] = call("c", "add", '{"a":1}');
  const statuses = [];
  [started, start, args, end, result("c", "2"), finished].reduce((state, event) => {
    const next = reduce(state, event);
    statuses.push(next.calls.c?.status);
    return next;
  }, emptyConversation());
  assert.deepEqual(statuses, [undefined, "streaming", "streaming", "running", "success", "success"]);
});

for (const [metadata, outcome] of [[{ outcome: "denied" }, "denied"], [{ outcome: "failed" }, "failed"], [undefined, "success"]]) {
  test(`a result with ${JSON.stringify(metadata)} is ${outcome}`, () => {
    const { calls } = play([started, ...call("c", "add"), result("c", "x", { metadata })]);
    assert.deepEqual(calls.c, { status: outcome, result: "x" });
  });
}

test("a result stands behind its call, also with text in between", () => {
  const { messages } = play([started, ...call("c", "add", "{}", { parentMessageId: "a" }), ...text("b", "…"), result("c", "2")]);
  assert.deepEqual(messages.map(({ id }) => id), ["a", "m-c", "b"]);
});

test("calls of one parent share its message", () => {
  const { messages } = play([started, ...text("a", "x"), ...call("1", "f", "{}", { parentMessageId: "a" }), ...call("2", "g", "{}", { parentMessageId: "a" })]);
  assert.equal(messages.length, 1);
  assert.deepEqual(messages[0].toolCalls.map(({ id }) => id), ["1", "2"]);
});

test("an interrupt makes its calls wait, and a resume sets them running", () => {
  const waiting = play([started, ...call("1", "drop"), ...call("2", "drop"), interrupt("1", "2")]);
  assert.equal(waiting.status, "waiting");
  assert.deepEqual([waiting.calls[1].status, waiting.calls[2].status], ["waiting", "waiting"]);
  const resumed = beginRun(waiting, { runId: "r2", messages: [] });
  assert.deepEqual([resumed.status, resumed.calls[1].status, resumed.interrupts], ["running", "running", []]);
  const done = play([{ ...started, runId: "r2" }, result("1", "ok"), result("2", "no", { metadata: { outcome: "denied" } }), finished], resumed);
  assert.deepEqual([done.calls[1].status, done.calls[2].status], ["success", "denied"]);
});

test("a question about an unknown call waits without one", () => {
  const waiting = play([started, interrupt("?")]);
  assert.deepEqual([waiting.status, waiting.interrupts.length, waiting.calls], ["waiting", 1, {}]);
  assert.deepEqual(beginRun(waiting, { runId: "r2", messages: [] }).calls, {});
});

test("an interrupt is expired from its time on; without one, or with an unreadable one, never", () => {
  const expiresAt = (ms) => ({ expiresAt: new Date(Date.now() + ms).toISOString() });
  assert.deepEqual([expiresAt(-1), expiresAt(60_000), {}, { expiresAt: "?" }].map(isExpired), [true, false, false, false]);
});

test("a failed run keeps what came, and no call goes on running", () => {
  const state = play([started, ...text("a", "half"), ...call("c", "add"), { type: "RUN_ERROR", message: "Sorry.", code: "timeout" }]);
  assert.equal(state.status, "failed");
  assert.deepEqual(state.error, { message: "Sorry.", code: "timeout", runId: "r" });
  assert.equal(state.messages[0].content, "half");
  assert.equal(state.calls.c.status, "stopped");
});

test("a cancelled run is stopped, not failed", () => {
  assert.equal(play([started, { ...finished, outcome: { type: "cancelled" } }]).status, "stopped");
});

test("the same events twice give the same messages", () => {
  const events = [started, ...text("a", "Hel", "lo"), ...call("c", "add", '{"a":1}', { parentMessageId: "a" }), result("c", "2"), finished];
  const once = play(events);
  assert.deepEqual(play(events, once).messages, once.messages);
  const stored = fromThread({ messages: once.messages, running: true });
  assert.deepEqual(play(events, stored).messages, once.messages);
});

test("a message reopened in the same run goes on", () => {
  assert.equal(play([started, ...text("a", "1"), ...text("a", "2")]).messages[0].content, "12");
});

test("chunks are written out", () => {
  const { messages, calls } = play([
    started,
    { type: "TEXT_MESSAGE_CHUNK", messageId: "a", delta: "Hel" },
    { type: "TEXT_MESSAGE_CHUNK", delta: "lo" },
    { type: "TOOL_CALL_CHUNK", toolCallId: "c", toolCallName: "add", delta: '{"a"' },
    { type: "TOOL_CALL_CHUNK", delta: ":1}" },
    { type: "REASONING_MESSAGE_CHUNK", messageId: "r", delta: "Hm" },
  ]);
  assert.equal(messages[0].content, "Hello");
  assert.equal(messages[1].toolCalls[0].function.arguments, '{"a":1}');
  assert.deepEqual(messages[2], { id: "r", role: "reasoning", content: "Hm" });
  assert.equal(calls.c.status, "running");
});

test("state follows snapshots and patches, and survives a patch that does not fit", (t) => {
  const { mock } = t.mock.method(console, "warn", () => {});
  const { state } = play([
    { type: "STATE_SNAPSHOT", snapshot: { a: [1], b: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/a/-", value: 2 }, { op: "remove", path: "/b" }] },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/nowhere/x", value: 2 }] },
  ]);
  assert.deepEqual(state, { a: [1, 2] });
  assert.equal(mock.callCount(), 1);
});

for (const snapshot of [null, 0, "", false, [], { a: 1 }]) {
  test(`${JSON.stringify(snapshot)} is a state`, () => {
    assert.deepEqual(play([{ type: "STATE_SNAPSHOT", snapshot: { old: 1 } }, { type: "STATE_SNAPSHOT", snapshot }]).state, snapshot);
  });
}

test("a patch is applied as a whole or not at all", (t) => {
  t.mock.method(console, "warn", () => {});
  const delta = [{ op: "replace", path: "/a", value: 2 }, { op: "remove", path: "/nowhere" }];
  assert.deepEqual(play([{ type: "STATE_SNAPSHOT", snapshot: { a: 1 } }, { type: "STATE_DELTA", delta }]).state, { a: 1 });
});

test("the steps are those that are on, and none after the run", () => {
  const begin = (stepName, extra) => ({ type: "STEP_STARTED", stepName, ...extra });
  const end = (stepName, extra) => ({ type: "STEP_FINISHED", stepName, ...extra });
  const running = play([started, begin("read"), begin("search"), begin("search", { subagentRunId: "s" }), end("search"), end("never begun")]);
  assert.deepEqual(running.steps, ["read", "search"]);
  assert.deepEqual(play([end("search"), begin("write")], running).steps, ["read", "write"]);
  for (const last of [finished, { type: "RUN_ERROR", message: "x" }]) assert.deepEqual(reduce(running, last).steps, []);
});

test("activities are shown, replaced and patched", () => {
  const activity = { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "plan", content: { steps: [] } };
  const { messages } = play([
    activity,
    { ...activity, content: { steps: ["no"] }, replace: false },
    { type: "ACTIVITY_DELTA", messageId: "p", activityType: "plan", patch: [{ op: "add", path: "/steps/0", value: "one" }] },
  ]);
  assert.deepEqual(messages, [{ id: "p", role: "activity", activityType: "plan", content: { steps: ["one"] } }]);
});

test("an activity patch for what is no activity, or has no such path, changes nothing", (t) => {
  const { mock } = t.mock.method(console, "warn", () => {});
  const before = play([...text("a", "x"), { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "plan", content: {} }]);
  for (const messageId of ["a", "p", "?"]) {
    const delta = { type: "ACTIVITY_DELTA", messageId, activityType: "plan", patch: [{ op: "replace", path: "/no/where", value: 1 }] };
    assert.deepEqual(reduce(before, delta).messages, before.messages);
  }
  assert.equal(mock.callCount(), 1);
});

test("an activity takes the place of a message with its id", () => {
  const { messages } = play([...text("a", "x"), { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "plan", content: { n: 1 } }]);
  assert.deepEqual(messages, [{ id: "a", role: "activity", activityType: "plan", content: { n: 1 } }]);
});

test("a snapshot replaces messages but keeps reasoning that only the page knows", () => {
  const { messages, calls } = play([
    ...text("a", "old"), ...text("gone", "x"),
    { type: "REASONING_MESSAGE_START", messageId: "r", role: "reasoning" },
    { type: "MESSAGES_SNAPSHOT", messages: [
      { id: "a", role: "assistant", toolCalls: [{ id: "c", type: "function", function: { name: "add", arguments: "{}" } }] },
      { id: "t", role: "tool", toolCallId: "c", content: "2" },
    ] },
  ]);
  assert.deepEqual(messages.map(({ id }) => id), ["a", "r", "t"]);
  assert.equal(calls.c.status, "success");
});

test("untouched messages stay identical", () => {
  const before = play([started, ...text("a", "x"), ...text("b", "y")]);
  const after = reduce(before, { type: "TEXT_MESSAGE_CONTENT", messageId: "b", delta: "z" });
  assert.equal(after.messages[0], before.messages[0]);
  assert.notEqual(after.messages[1], before.messages[1]);
});

test("a stored thread with broken entries is shown as far as possible", () => {
  const { messages, calls, status } = fromThread({ messages: [
    null, { role: "user", content: "no id" }, { id: "1", role: "user", content: "hi" },
    { id: "2", role: "assistant", content: "x", toolCalls: null },
    { id: "3", role: "assistant", toolCalls: [null, { id: "c" }, { id: "d", function: { name: "f", arguments: { a: 1 } } }] },
  ] });
  assert.deepEqual(messages.map(({ id }) => id), ["1", "2", "3"]);
  assert.deepEqual(messages[2].toolCalls, [{ id: "d", function: { name: "f", arguments: '{"a":1}' } }]);
  assert.equal(calls.d.status, "stopped");
  assert.equal(status, "idle");
});

test("a stored thread knows its open questions", () => {
  const message = { id: "3", role: "assistant", toolCalls: [{ id: "d", function: { name: "f", arguments: "{}" } }] };
  const { calls, status, interrupts } = fromThread({ messages: [message], pending: [{ id: "int-d", toolCallId: "d" }] });
  assert.equal(calls.d.status, "waiting");
  assert.equal(status, "waiting");
  assert.equal(interrupts.length, 1);
});

test("a user's turn is shown once, also when it is sent again", () => {
  const input = { runId: "r", messages: [{ id: "u", role: "user", content: "hi" }] };
  const once = beginRun(emptyConversation(), input);
  assert.equal(beginRun(fail(once, { code: "connection_lost" }), input).messages.length, 1);
});

test("unknown events, orphans and broken patches change nothing", () => {
  const before = play([started, ...text("a", "x")]);
  for (const event of [
    { type: "SOMETHING_NEW" }, { type: "toString" }, { type: "RAW", event: {} }, { type: "CUSTOM", name: "x", value: 1 },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "?", delta: "x" }, { type: "TOOL_CALL_ARGS", toolCallId: "?", delta: "x" },
    { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n" }, { type: "TEXT_MESSAGE_CHUNK", delta: "x" },
  ]) assert.deepEqual(reduce(before, event), before, event.type);
});

test("every event type of AG-UI 1.0 is taken without an error", () => {
  const types = `RUN_STARTED RUN_FINISHED RUN_ERROR STEP_STARTED STEP_FINISHED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT
    TEXT_MESSAGE_END TEXT_MESSAGE_CHUNK TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT
    STATE_SNAPSHOT STATE_DELTA MESSAGES_SNAPSHOT ACTIVITY_SNAPSHOT ACTIVITY_DELTA RAW CUSTOM REASONING_START REASONING_END
    REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK REASONING_ENCRYPTED_VALUE
    SUBAGENT_STARTED SUBAGENT_FINISHED SUBAGENT_ERROR`.split(/\s+/);
  assert.equal(types.length, 31);
  const fields = { messageId: "m", toolCallId: "c", toolCallName: "f", delta: [], messages: [], patch: [], content: {}, subagentRunId: "s" };
  for (const type of types) assert.ok(reduce(emptyConversation(), { type, ...fields }).messages, type);
});

test("text of parts is joined", () => {
  assert.equal(textOf([{ type: "text", text: "a" }, { type: "image", source: {} }, { type: "text", text: "b" }]), "ab");
});

test("a stored thread may hold what this page doesn't know, and activities where they were", () => {
  const stored = [
    { id: "u", role: "user", content: "hi", metadata: { unknown: [1] } },
    { id: "p", role: "activity", activityType: "plan", content: { steps: ["one"] } },
    { id: "x", role: "new-in-2.0", content: [] },
    { id: "a", role: "assistant", content: "Hello" },
  ];
  const { messages, status } = fromThread({ messages: stored, branches: { u: [{ id: "e", text: "hi", current: true }] }, new: 1 });
  assert.deepEqual([messages, status], [stored, "idle"]);
});

test("suggestions are kept with the message that they come after, and with no other", () => {
  const value = { messageId: "a", suggestions: ["Buy milk"] };
  const suggested = { type: "CUSTOM", name: "follow_ups", value };
  const { messages } = play([started, ...text("a", "Hello"), suggested, finished]);
  assert.deepEqual(messages, [{ id: "a", role: "assistant", content: "Hello", metadata: { follow_ups: ["Buy milk"] } }]);
  for (const odd of [{ ...value, messageId: "b" }, {}, null]) {
    const { messages: same } = play([started, ...text("a", "Hello"), { ...suggested, value: odd }, finished]);
    assert.deepEqual(same, [{ id: "a", role: "assistant", content: "Hello" }]);
  }
});

test("sources are kept with their answer", () => {
  const sources = [{ number: 1, title: "Hours" }];
  const told = { type: "CUSTOM", name: "sources", value: { messageId: "a", sources } };
  const { messages } = play([started, ...text("a", "Hello"), told, finished]);
  assert.deepEqual(messages, [{ id: "a", role: "assistant", content: "Hello", metadata: { sources } }]);
});

const prompt = (id) => ({ id, role: "user", content: "hi" });
const failed = { type: "RUN_ERROR", message: "Sorry.", code: "timeout", metadata: { runId: "3f2a91bc" } };

test("a failure stays with its turn when the next message is sent", () => {
  const broken = play([started, failed], beginRun(emptyConversation(), { runId: "r", messages: [prompt("u1")] }));
  assert.deepEqual(broken.error, { message: "Sorry.", code: "timeout", runId: "3f2a91bc" });
  const next = play([started, finished], beginRun(broken, { runId: "r2", messages: [prompt("u2")] }));
  assert.equal(next.error, null);
  assert.deepEqual(next.failures, { u1: broken.error });
});

test("until its message is tried again", () => {
  const broken = play([started, failed], beginRun(emptyConversation(), { runId: "r", messages: [prompt("u1")] }));
  assert.deepEqual(play([started, finished], beginRun(broken, { runId: "r2", messages: [prompt("u1")] })).failures, {});
});

test("what never reached the server is no failure of a turn", () => {
  const lost = fail(beginRun(emptyConversation(), { runId: "r", messages: [prompt("u1")] }), { code: "connection_lost" });
  assert.deepEqual(beginRun(lost, { runId: "r2", messages: [prompt("u2")] }).failures, {});
});

test("a stored thread tells its failures, and that of its last turn is the present one", () => {
  const failures = { u1: { code: "timeout", message: "Slow.", runId: "1" }, u2: { code: "model_error", message: "Odd.", runId: "2" } };
  const thread = { messages: [prompt("u1"), prompt("u2")], failures };
  const { error, status } = fromThread(thread);
  assert.deepEqual([error, status], [failures.u2, "failed"]);
  assert.deepEqual([fromThread({ ...thread, running: true }).error, fromThread({ ...thread, running: true }).status], [null, "running"]);
  assert.equal(fromThread({ ...thread, pending: [{ id: "i", toolCallId: "c" }] }).error, null);
  assert.equal(fromThread({ messages: [...thread.messages, prompt("u3")], failures }).status, "idle");
});

test("an error tells when a budget begins again, and to a developer what the provider said", () => {
  const metadata = { runId: "3f2a91bc", resets_at: "2026-11-23T00:00:00+00:00", debug: { hint: "Look there.", cause: "401" } };
  const { error } = play([started, { ...failed, metadata }]);
  assert.deepEqual([error.until, error.debug], [metadata.resets_at, metadata.debug]);
});

test("files that the model can't read are noted with the answer", () => {
  const answer = { type: "TEXT_MESSAGE_START", messageId: "a", role: "assistant" };
  const files = [{ mime: "audio/wav", size: 3 }];
  const { messages } = play([started, answer, { type: "CUSTOM", name: "files_left_out", value: { messageId: "a", files } }]);
  assert.deepEqual(messages[0].metadata, { files_left_out: files });
});

test("what a part adds to an answer is in its metadata, and nothing else is", () => {
  const answer = { type: "TEXT_MESSAGE_START", messageId: "a", role: "assistant" };
  const custom = (name, value) => ({ type: "CUSTOM", name, value });
  const others = [custom("two", { messageId: "a", x: 1, y: 2 }), custom("none", { messageId: "a" }), custom("share", { messageId: "a", percent: 5 })];
  const { messages } = play([started, answer, custom("weather", { messageId: "a", degrees: 21 }), custom("stock", { count: 3 }), ...others]);
  assert.deepEqual(messages[0].metadata, { weather: 21 });
});

test("an answer that is not whole has the reason", () => {
  const answer = { type: "TEXT_MESSAGE_START", messageId: "a", role: "assistant" };
  const value = { messageId: "a", reason: "length" };
  const { messages } = play([started, answer, { type: "CUSTOM", name: "answer_cut", value }]);
  assert.deepEqual(messages[0].metadata, { answer_cut: "length" });
});
