// Several open questions: what may be approved together, and a message instead of an answer.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { mayApproveTogether, openQuestions } from "./agui/approvals/open-questions.js";
import { RECORD_WORDS, verdict } from "./agui/approvals/record.js";
import { denial } from "./agui/session/answers.js";
import { Session } from "./agui/session/session.js";
import { isKnown } from "./agui/session/turns.js";

const PAST = "2020-01-01T00:00:00Z";
const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const failed = [started, { type: "RUN_ERROR", code: "model_error", message: "A sentence.", metadata: { runId: "r" } }];
const asks = (...interrupts) => [started, { ...finished, outcome: { type: "interrupt", interrupts } }];
const approval = (id, metadata, extra) => ({ id, reason: "tool_call", metadata, ...extra });
const form = (id, extra) => ({ id, reason: "input_required", ...extra });
const approved = { status: "resolved", payload: { approved: true } };
const denied = (reason) => ({ status: "resolved", payload: { approved: false, ...(reason && { reason }) } });

function sessionOf(...runs) {
  const server = { hasThreads: true, inputs: [], stored: { messages: [], pending: [] } };
  server.run = async (input) => {
    server.inputs.push(structuredClone(input));
    const events = runs.shift();
    if (events instanceof Error) throw events;
    return (async function* () {
      for (const [index, event] of events.entries()) yield { id: `r:${index}`, event };
    })();
  };
  server.thread = async () => server.stored;
  return { server, session: new Session(server) };
}

async function run(session, action) {
  const end = once(session, "end");
  action();
  await end;
}

const ids = (interrupts) => interrupts.map(({ id }) => id);

test("only what is not marked as destructive may be approved together", () => {
  assert.ok(mayApproveTogether(approval("a")));
  assert.ok(mayApproveTogether(approval("a", { "x-destructive": false })));
  assert.ok(!mayApproveTogether(approval("a", { "x-destructive": true })));
  assert.ok(!mayApproveTogether(approval("a", {}, { expiresAt: PAST })));
  assert.ok(!mayApproveTogether(form("a")));
});

test("what is decided is not decided again with the others", () => {
  const all = [approval("a"), approval("b", { "x-destructive": true }), form("c"), approval("d"), approval("e")];
  const open = openQuestions(all, ({ id }) => (id === "a" ? approved : undefined));
  assert.deepEqual([ids(open.left), ids(open.together), open.recorded], [["b", "c", "d", "e"], ["d", "e"], 1]);
  assert.deepEqual([open.keepsSome, open.hasApproval], [true, true]);
  // A single one has its own button.
  assert.deepEqual(openQuestions(all.slice(0, 3), () => undefined).together, []);
  assert.ok(!openQuestions([form("a"), form("b")], () => undefined).hasApproval);
  assert.ok(!openQuestions([approval("a"), approval("b"), form("c")], () => undefined).keepsSome);
});

test("a denial has a reason that the server takes, and forms and expired questions are only cancelled", () => {
  assert.deepEqual(denial(approval("a"), "No."), denied("No."));
  assert.deepEqual(denial(approval("a")), denied());
  for (const one of [form("a"), approval("a", {}, { expiresAt: PAST })]) assert.deepEqual(denial(one, "No."), { status: "cancelled" });
  // Half of a pair of surrogates is no text.
  const { reason } = denial(approval("a"), `${"x".repeat(1999)}😀😀`).payload;
  assert.equal(reason, `${"x".repeat(1999)}😀`);
});

test("a recorded answer is told in words", () => {
  const told = (decision, expired = false) => verdict(decision, RECORD_WORDS, expired);
  assert.equal(told(approved), "Approved");
  assert.equal(told({ status: "resolved", payload: { approved: true, editedArgs: {} } }), "Approved with changes");
  assert.deepEqual([told(denied()), told(denied("No."))], ["Denied", "Denied: No."]);
  assert.deepEqual([told({ status: "resolved", payload: "Monday" }), told({ status: "resolved", payload: null })], ["Answered", "Answered"]);
  assert.deepEqual([told({ status: "cancelled" }), told({ status: "cancelled" }, true)], ["Skipped", "Dismissed"]);
});

test("a message denies what is open, keeps what is recorded, and goes with the answers", async () => {
  const { server, session } = sessionOf(asks(approval("a"), approval("b", { "x-destructive": true }), form("c")), [started, finished]);
  await run(session, () => session.send("hi"));
  session.decide("a", approved);
  await run(session, () => assert.ok(session.send(" Not today. ")));
  const { resume, messages } = server.inputs[1];
  assert.deepEqual(resume, [
    { interruptId: "a", ...approved },
    { interruptId: "b", ...denied("Not today.") },
    { interruptId: "c", status: "cancelled" },
  ]);
  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [["user", "Not today."]]);
  assert.deepEqual(session.conversation.messages.map(({ content }) => content), ["hi", "Not today."]);
  assert.equal(session.conversation.status, "idle");
});

test("a message with files only is a denial by their names, and has the files", async () => {
  const { server, session } = sessionOf(asks(approval("a")), [started, finished]);
  await run(session, () => session.send("hi"));
  const files = [{ id: "f", name: "a.pdf", mime: "application/pdf", size: 3 }];
  await run(session, () => assert.ok(session.send("", files)));
  assert.equal(server.inputs[1].resume[0].payload.reason, "a.pdf");
  assert.deepEqual(server.inputs[1].messages[0].metadata, { attachments: files });
});

test("answers that the server refuses give the message back, and the questions that are open", async () => {
  const { server, session } = sessionOf(asks(approval("a")), [started, { type: "RUN_ERROR", code: "interrupt_unknown", message: "No." }]);
  await run(session, () => session.send("hi"));
  server.stored = { messages: [{ id: "u", role: "user", content: "hi" }], pending: [approval("b")] };
  const returned = once(session, "returned");
  await run(session, () => session.send("Not today."));
  assert.equal((await returned)[0].detail.content, "Not today.");
  assert.deepEqual(ids(session.conversation.interrupts), ["b"]);
  assert.equal(session.conversation.status, "waiting");
});

test("after a failure the message is tried again without the answers, which count once", async () => {
  const { server, session } = sessionOf(asks(approval("a")), failed, [started, finished]);
  await run(session, () => session.send("hi"));
  await run(session, () => session.send("Not today."));
  await run(session, () => session.retry());
  assert.equal(server.inputs[2].resume, undefined);
  assert.equal(server.inputs[2].messages.at(-1).content, "Not today.");
});

test("a message beside answers is known by itself: another tab may have answered", () => {
  const message = { id: "u", role: "user", content: "Not today." };
  const turn = { input: { messages: [message], resume: [{ interruptId: "a", ...denied() }] }, versions: 0 };
  assert.ok(!isKnown({ messages: [], pending: [] }, turn));
  assert.ok(isKnown({ messages: [message], pending: [] }, turn));
});

test("if the page's own call is asked about, the message waits for what the agent says to the denial", async () => {
  const call = [
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "paint", parentMessageId: "p" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
  ];
  const { server, session } = sessionOf([started, ...call, finished], [started, finished], [started, finished]);
  const painted = [];
  const paint = { name: "paint", destructive: true, handler: () => painted.push("done") };
  session.offer(new Map([["paint", paint]]));
  await run(session, () => session.send("Paint it"));
  assert.deepEqual(ids(session.conversation.interrupts), ["page-c"]);
  const ends = new Promise((done) => {
    let count = 0;
    session.addEventListener("end", () => (count += 1) === 2 && done());
  });
  assert.ok(session.send("Not today."));
  assert.equal(session.queued.text, "Not today.");
  await ends;
  assert.deepEqual(painted, []);
  assert.equal(server.inputs[1].messages[0].content, "The user denied this: Not today.");
  assert.equal(server.inputs[2].messages[0].content, "Not today.");
  assert.equal(session.queued, null);
});
