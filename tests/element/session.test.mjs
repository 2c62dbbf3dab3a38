import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { Session } from "./agui/session/session.js";

const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const refused = (code) => [started, { type: "RUN_ERROR", code, message: "A sentence." }];
const asks = (...interrupts) => [started, { ...finished, outcome: { type: "interrupt", interrupts } }];
const question = (id, extra = {}) => ({ id, reason: "input_required", ...extra });
const resolved = (payload) => ({ status: "resolved", payload });

/** A session whose server answers each run with the next of these lists of events. */
function sessionOf(...runs) {
  const server = { hasThreads: true, inputs: [], reads: 0, stored: { messages: [], pending: [] } };
  server.run = async (input) => {
    server.inputs.push(input);
    const events = runs.shift();
    return (async function* () {
      for (const [index, event] of events.entries()) yield { id: `r:${index}`, event };
    })();
  };
  server.thread = async () => ((server.reads += 1), server.stored);
  return { server, session: new Session(server) };
}

/** Do it, and wait until the run that it starts has ended. */
async function run(session, action) {
  const end = once(session, "end");
  action();
  await end;
}

test("approvals and questions are answered in one resume, with the last of them", async () => {
  const { server, session } = sessionOf(asks(question("a"), { id: "b", reason: "tool_call" }, question("c")), [started, finished]);
  await run(session, () => session.send("hi"));
  session.decide("c", { status: "cancelled" });
  session.decide("a", resolved({ day: "Monday" }));
  assert.equal(server.inputs.length, 1);
  await run(session, () => session.decide("b", resolved({ approved: true })));
  assert.deepEqual(server.inputs[1].resume, [
    { interruptId: "a", status: "resolved", payload: { day: "Monday" } },
    { interruptId: "b", status: "resolved", payload: { approved: true } },
    { interruptId: "c", status: "cancelled" },
  ]);
  assert.deepEqual(server.inputs[1].messages, []);
});

test("an answer that is taken back is not sent", async () => {
  const { server, session } = sessionOf(asks(question("a"), question("b")));
  await run(session, () => session.send("hi"));
  session.decide("a", resolved("x"));
  session.decide("a", null);
  session.decide("b", resolved("y"));
  assert.equal(server.inputs.length, 1);
});

test("what expires while it is shown can only be put away", async (t) => {
  t.mock.timers.enable({ apis: ["Date", "setTimeout"], now: Date.parse("2026-01-01T00:00:00Z") });
  const late = question("a", { expiresAt: "2026-01-01T00:01:00Z" });
  const { server, session } = sessionOf(asks(late, question("b")), [started, finished]);
  await run(session, () => session.send("hi"));
  session.decide("a", resolved("in time"));
  let changes = 0;
  session.addEventListener("change", () => (changes += 1));
  t.mock.timers.tick(59_999);
  assert.deepEqual([changes, session.decisionOn(late)], [0, resolved("in time")]);
  t.mock.timers.tick(1);
  assert.deepEqual([changes, session.decisionOn(late)], [1, undefined]);
  session.decide("b", resolved("y"));
  session.decide("a", resolved("too late"));
  assert.equal(server.inputs.length, 1);
  await run(session, () => session.decide("a", { status: "cancelled" }));
  assert.deepEqual(server.inputs[1].resume[0], { interruptId: "a", status: "cancelled" });
});

for (const code of ["interrupt_pending", "interrupt_unknown", "interrupt_expired", "invalid_resume"]) {
  test(`after ${code} the page shows what is really open, and why`, async () => {
    const { server, session } = sessionOf(asks(question("a")), refused(code));
    await run(session, () => session.send("hi"));
    server.stored = { messages: [{ id: "u", role: "user", content: "hi" }], pending: [question("b")] };
    await run(session, () => session.decide("a", resolved("x")));
    const { status, error, interrupts, messages } = session.conversation;
    assert.deepEqual(interrupts, [question("b")]);
    assert.deepEqual([status, error.code, error.message], ["waiting", code, "A sentence."]);
    assert.deepEqual(messages, server.stored.messages);
  });
}

test("when nothing is open any more, the user may go on", async () => {
  const { session } = sessionOf(asks(question("a")), refused("interrupt_unknown"), [started, finished]);
  await run(session, () => session.send("hi"));
  await run(session, () => session.decide("a", resolved("x")));
  assert.deepEqual([session.conversation.status, session.conversation.error.code], ["failed", "interrupt_unknown"]);
  await run(session, () => assert.ok(session.send("again")));
  assert.deepEqual([session.conversation.status, session.conversation.error], ["idle", null]);
});

test("a message that was not taken is given back", async () => {
  const { server, session } = sessionOf(refused("interrupt_pending"));
  server.stored = { messages: [], pending: [question("a")] };
  const returned = once(session, "returned");
  await run(session, () => session.send("my words"));
  assert.equal((await returned)[0].detail.content, "my words");
  assert.deepEqual(session.conversation.messages, []);
});

test("other failures leave the thread as it is shown", async () => {
  const { server, session } = sessionOf(refused("model_error"));
  await run(session, () => session.send("hi"));
  assert.deepEqual([server.reads, session.conversation.messages.length, session.conversation.status], [0, 1, "failed"]);
});

test("a message names its files, and has a text also if it is nothing but files", async () => {
  const { server, session } = sessionOf([started, finished], [started, finished]);
  const uploaded = { id: "1", name: "a.txt", mime: "text/plain", size: 2 };
  await run(session, () => session.send(" Read it ", [uploaded]));
  await run(session, () => session.send(" ", [uploaded, { ...uploaded, id: "2", name: "b.txt" }]));
  const [first, second] = server.inputs.map(({ messages }) => messages[0]);
  assert.deepEqual([first.content, first.metadata], ["Read it", { attachments: [uploaded] }]);
  assert.equal(second.content, "a.txt, b.txt");
  assert.equal(session.send(" ", []), false);
});

test("a message without files has no metadata", async () => {
  const { server, session } = sessionOf([started, finished]);
  await run(session, () => session.send("hi"));
  assert.deepEqual(Object.keys(server.inputs[0].messages[0]), ["id", "role", "content"]);
});
