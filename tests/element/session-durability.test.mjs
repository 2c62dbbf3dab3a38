import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { HttpError } from "./agui/http/client.js";
import { Session } from "./agui/session/session.js";
import { keep } from "./agui_feedback/judging.js";

const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const said = (id, delta) => [{ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" }, { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta }, { type: "TEXT_MESSAGE_END", messageId: id }];
const busy = () => new HttpError(409, { error: "conflict" });
const lost = () => new TypeError("Failed to fetch");
const numbered = (events, from = 0) => (async function* () {
  for (const [index, event] of events.entries()) {
    if (event instanceof Error) throw event;
    yield { id: `r:${from + index}`, event: await event };
  }
})();

/** A session whose server does the next of these with each run: throws an error, or yields these events. */
function sessionOf(...runs) {
  const server = { hasThreads: true, bodies: [], asked: [], stored: { messages: [], pending: [] }, follows: [] };
  server.run = async (input) => {
    server.bodies.push(JSON.stringify(input));
    const next = runs.shift();
    if (next instanceof Error) throw next;
    return numbered(next);
  };
  server.thread = async () => {
    if (server.stored instanceof Error) throw server.stored;
    return server.stored;
  };
  server.follow = async (_, last) => {
    server.asked.push(last);
    const next = server.follows.shift();
    return next && numbered(next, 10);
  };
  const kept = new Map();
  const memory = { unfinished: (id) => JSON.parse(kept.get(id) ?? "null"), finishLater: (id, work) => (work ? kept.set(id, JSON.stringify(work)) : kept.delete(id)) };
  const told = [];
  const page = () => new Session(server, { memory, tabs: { tell: (message) => told.push(message) } });
  return { server, kept, told, page, session: page() };
}

async function run(session, action) {
  const end = once(session, "end");
  action();
  await end;
}

const texts = ({ conversation }) => conversation.messages.map(({ content }) => content);
const user = (id, content) => ({ id, role: "user", content });
const known = (server, index = 0) => JSON.parse(server.bodies[index]).messages[0];
const gate = () => {
  let open;
  return [new Promise((resolve) => (open = resolve)), (event) => open(event)];
};

test("what never arrived is sent again as the very same body, by the next page too", async () => {
  let asked = 0;
  const { server, session, page, kept } = sessionOf(lost(), lost(), [started, ...said("a", "Hi."), finished]);
  server.stored = new HttpError(404, {});
  session.getContext = () => [{ description: "asked", value: String((asked += 1)) }];
  await run(session, () => session.send("hello"));
  assert.equal(session.conversation.error.code, "connection_lost");
  await run(session, () => session.retry());
  const next = page();
  await run(next, () => next.open(session.threadId));
  assert.equal(new Set(server.bodies).size, 1);
  assert.deepEqual([server.bodies.length, texts(next), kept.size], [3, ["hello", "Hi."], 0]);
});

test("what never arrived is kept while even the thread is out of reach", async () => {
  const { server, session, page } = sessionOf(lost(), [started, ...said("a", "Hi."), finished]);
  await run(session, () => session.send("hello"));
  server.stored = lost();
  const next = page();
  await next.open(session.threadId);
  assert.equal(next.conversation.error.code, "connection_lost");
  server.stored = new HttpError(404, {});
  const last = page();
  await run(last, () => last.open(session.threadId));
  assert.deepEqual([server.bodies.length, texts(last)], [2, ["hello", "Hi."]]);
});

test("what arrived unseen is not sent again", async () => {
  const { server, session, page, kept } = sessionOf(lost());
  await run(session, () => session.send("hello"));
  server.stored = { messages: [known(server), { id: "a", role: "assistant", content: "Hi." }] };
  const next = page();
  await next.open(session.threadId);
  assert.deepEqual([server.bodies.length, texts(next), kept.size], [1, ["hello", "Hi."], 0]);
});

test("another answer is asked for once, although its message is known before", async () => {
  const { server, session, page } = sessionOf([started, ...said("a", "Hi."), finished], lost(), [started, ...said("b", "Hello."), finished]);
  await run(session, () => session.send("hello"));
  const { id } = known(server);
  server.stored = { messages: [user(id, "hello"), { id: "a", role: "assistant", content: "Hi." }] };
  await run(session, () => session.regenerate(id));
  assert.deepEqual(texts(session), ["hello"]);
  const next = page();
  await run(next, () => next.open(session.threadId));
  assert.deepEqual([server.bodies.length, texts(next)], [3, ["hello", "Hello."]]);
  server.stored = { ...server.stored, branches: { [id]: [{ id: "1", text: "hello", current: true }, { id: "2", text: "hello", current: false }] } };
  const last = page();
  await last.open(session.threadId);
  assert.deepEqual([server.bodies.length, last.branches[id].length], [3, 2]);
});

test("after an edit the versions are known", async () => {
  const { server, session } = sessionOf([started, ...said("a", "Hi."), finished], [started, ...said("b", "Hello."), finished]);
  await run(session, () => session.send("hello"));
  const { id } = known(server);
  const branches = { [id]: [{ id: "1", text: "hello", current: false }, { id: "2", text: "good day", current: true }] };
  server.stored = { messages: [], branches };
  await run(session, () => session.edit(id, "good day"));
  assert.deepEqual([session.branches, texts(session)], [branches, ["good day", "Hello."]]);
});

test("an edit that never arrived leaves what was there when something else is said", async () => {
  const { server, session } = sessionOf([started, ...said("a", "Hi."), finished], lost(), [started, finished]);
  await run(session, () => session.send("hello"));
  await run(session, () => session.edit(known(server).id, "good day"));
  assert.deepEqual(texts(session), ["good day"]);
  await run(session, () => session.send("and now?"));
  assert.deepEqual(texts(session), ["hello", "Hi.", "and now?"]);
});

test("a run is followed from the last event seen, and its end is never taken for a reason to ask anew", async () => {
  const { server, session } = sessionOf([started, ...said("a", "Hel").slice(0, 2), lost()]);
  server.follows = [[{ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "lo" }, { type: "TEXT_MESSAGE_END", messageId: "a" }, finished]];
  await run(session, () => session.send("hello"));
  assert.deepEqual([server.asked, server.bodies.length, texts(session)], [["r:2"], 1, ["hello", "Hello"]]);
});

test("a message to a busy thread waits until the other run has ended", async () => {
  const { server, session } = sessionOf(busy(), [started, ...said("b", "Yes."), finished]);
  const first = { messages: [user("u", "other")], running: true };
  const later = { messages: [user("u", "other"), { id: "a", role: "assistant", content: "Hi." }] };
  server.thread = async () => (server.asked.length ? later : first);
  server.follows = [[started, ...said("a", "Hi."), finished]];
  session.send("me too");
  await once(session, "end");
  assert.equal(session.queued, null);
  await once(session, "end");
  assert.deepEqual([server.bodies.length, texts(session)], [2, ["other", "Hi.", "me too", "Yes."]]);
});

test("the busy run may be one's own: then nothing is sent again", async () => {
  const { server, session } = sessionOf(busy());
  const end = once(session, "end");
  session.send("hello");
  server.stored = { messages: [session.conversation.messages[0]], running: true };
  server.follows = [[started, ...said("a", "Hi."), finished]];
  await end;
  assert.deepEqual([server.bodies.length, session.queued, texts(session)], [1, null, ["hello", "Hi."]]);
});

test("a thread that stays busy is a failure in the end, and the words are kept", async () => {
  const { server, session } = sessionOf(...Array.from({ length: 9 }, busy));
  session.send("hello");
  while (session.conversation.status !== "failed") await once(session, "change");
  assert.deepEqual([server.bodies.length, session.conversation.error.code, texts(session)], [4, "conflict", ["hello"]]);
});

test("one message is queued while a run is on, and sent when it has ended well", async () => {
  const [pause, go] = gate();
  const { server, session } = sessionOf([started, pause], [started, finished]);
  session.send("one");
  assert.deepEqual([session.send("two"), session.send("three")], [true, false]);
  assert.equal(session.queued.text, "two");
  assert.equal(session.unqueue().text, "two");
  assert.equal(session.unqueue(), null);
  session.send("four");
  server.stored = { messages: [user("one", "one")] };
  go(finished);
  await once(session, "end");
  await once(session, "end");
  assert.deepEqual(texts(session), ["one", "four"]);
  assert.equal(server.bodies.length, 2);
});

test("what keeps messages during a run takes them from the tab, and only then", async () => {
  const [end, release] = gate();
  const { server, session } = sessionOf([started, ...said("a", "Hi."), end], [started, ...said("b", "Bye."), finished]);
  const taken = [];
  session.later = { take: ({ text }) => text !== "mine" && taken.push(text) > 0, has: () => false };
  const done = once(session, "end");
  session.send("one");
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([session.send("two"), session.send("three"), session.queued, taken], [true, true, null, ["two", "three"]]);
  assert.deepEqual([session.send("mine"), session.queued.text], [true, "mine"]);
  release(finished);
  await done;
  await run(session, () => {});
  assert.deepEqual([server.bodies.length, taken], [2, ["two", "three"]]);
  session.later = null;
});

test("a message behind one that found no network is the tab's", async () => {
  const { session } = sessionOf(lost(), lost());
  const taken = [];
  session.later = { take: ({ text }) => taken.push(text) > 0, has: () => false };
  await run(session, () => session.send("one"));
  await run(session, () => session.send("two"));
  assert.deepEqual([session.queued.text, taken], ["two", []]);
});

test("a message that stops the run is sent after the stop", async () => {
  const [end, release] = gate();
  const stopped = { ...finished, outcome: { type: "cancelled" } };
  const { server, session } = sessionOf([started, ...said("a", "Hi."), end], [started, ...said("b", "Bye."), finished]);
  session.later = { take: (message) => void (message.stops = true), has: () => false };
  const done = once(session, "end");
  session.send("one");
  await new Promise((resolve) => setTimeout(resolve));
  session.send("now");
  release(stopped);
  await done;
  await run(session, () => {});
  assert.deepEqual([server.bodies.length, known(server, 1).content, session.queued], [2, "now", null]);
});

test("a run that begins by itself is one tab's if it says so", async () => {
  const asked = [];
  for (const own of [false, true]) {
    const call = [{ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look", parentMessageId: "m" }, { type: "TOOL_CALL_END", toolCallId: "c" }];
    const { server, session } = sessionOf([started, ...said("d", "Done."), finished]);
    session.offer(new Map([["look", { name: "look", handler: () => asked.push(own) }]]));
    server.stored = { messages: [user("one", "one")], running: true };
    await session.open("t");
    server.follows.push([started, ...call, finished]);
    await session.refresh({ quietly: false, own });
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve));
    session.close();
  }
  assert.deepEqual(asked, [true]);
});

test("what is queued is not sent again when a copy of the tab has sent it", async () => {
  const [pause, go] = gate();
  const { server, session } = sessionOf([started, pause]);
  session.send("one");
  session.send("two");
  server.stored = { messages: [user("one", "one"), user(session.queued.id, "two")] };
  go(finished);
  await once(session, "end");
  await once(session, "end");
  assert.deepEqual([texts(session), server.bodies.length], [["one", "two"], 1]);
});

test("a failure keeps what is queued, and a stop gives it back", async () => {
  const [pause, go] = gate();
  const [second, end] = gate();
  const { session } = sessionOf([started, pause], [started, second]);
  session.send("one");
  session.send("two");
  go({ type: "RUN_ERROR", message: "No.", code: "model_error" });
  await once(session, "end");
  assert.equal(session.queued.text, "two");
  const returned = once(session, "returned");
  session.retry();
  end({ ...finished, outcome: { type: "cancelled" } });
  assert.deepEqual((await returned)[0].detail, { content: "two" });
  assert.equal(session.queued, null);
});

test("other tabs are told when the server has a turn, and refresh what they show", async () => {
  const { server, session, told, page } = sessionOf([started, finished]);
  await run(session, () => session.send("hello"));
  assert.deepEqual(told, [{ kind: "changed", threadId: session.threadId }]);
  const other = page();
  server.stored = { messages: [], title: "" };
  await other.open(session.threadId);
  server.stored = { messages: [known(server)], title: "" };
  other.hear({ kind: "removed", threadId: "another" });
  other.hear(told[0]);
  await once(other, "change");
  assert.deepEqual(texts(other), ["hello"]);
  other.hear({ kind: "renamed", threadId: session.threadId, title: "New" });
  assert.equal(other.title, "New");
  other.hear({ kind: "removed", threadId: session.threadId });
  assert.deepEqual([other.threadId, texts(other)], [null, []]);
});

test("who is signed out keeps the words that were being sent, and nothing else", async () => {
  const { server, session, told, kept } = sessionOf([started, finished], new HttpError(401, {}));
  await run(session, () => session.send("hello"));
  const returned = once(session, "returned");
  await run(session, () => session.send("my words"));
  assert.equal((await returned)[0].detail.content, "my words");
  assert.deepEqual([session.threadId, texts(session), session.conversation.error.code], [null, [], "unauthorized"]);
  assert.equal(told.at(-1).kind, "signed-out");
  assert.equal(server.bodies.length, 2);
  session.hear({ kind: "signed-out" });
  assert.equal(told.filter(({ kind }) => kind === "signed-out").length, 1, "what was told is not told on");
});

test("an undelivered message goes out when the network is back, and a lost thread is read again", async () => {
  const { server, session } = sessionOf(lost(), [started, ...said("a", "Hi."), finished]);
  await run(session, () => session.send("hello"));
  await run(session, () => session.wake({ online: true, awayMs: 0 }));
  assert.deepEqual([server.bodies.length, texts(session)], [2, ["hello", "Hi."]]);
});

test("a run that another page has begun is followed, however often the first connection fails", async () => {
  const { server, page } = sessionOf();
  server.stored = { messages: [user("u", "hello")], running: true };
  server.follows = [[lost()], [started, ...said("a", "Hi."), finished]];
  const session = page();
  await run(session, () => session.open("t"));
  assert.deepEqual([texts(session), session.reconnecting, server.bodies], [["hello", "Hi."], false, []]);
});

test("a run is followed on when the server asks to come back later, and no message goes out again", async () => {
  const { server, session } = sessionOf([started, ...said("a", "Hel").slice(0, 2), lost()]);
  server.follows = [[new HttpError(429, { error: "too_many_requests" })], [{ type: "TEXT_MESSAGE_END", messageId: "a" }, finished]];
  await run(session, () => session.send("hello"));
  assert.deepEqual([server.asked, server.bodies.length, session.conversation.error], [["r:2", "r:2"], 1, null]);
});

test("a judgement that is not kept leaves the others as they are", async () => {
  const { session } = sessionOf([started, finished]);
  const answers = [];
  const send = () => new Promise((kept, fail) => answers.push({ kept, fail }));
  const bar = { context: { client: { send, address: (id, rest) => `${id}/${rest}` } }, shown: { session } };
  await run(session, () => session.send("hello"));
  const [first, second] = [keep(bar, "a", 1), keep(bar, "b", -1)];
  answers[1].kept();
  answers[0].fail(lost());
  assert.deepEqual(await Promise.all([first, second]), [false, true]);
  const { feedback } = session.details;
  assert.deepEqual([feedback.a, feedback.b], [undefined, { value: -1, comment: "" }]);
  const third = keep(bar, "c", 1);
  session.reset();
  answers[2].fail(lost());
  assert.equal(await third, false);
  assert.deepEqual(session.details, {});
});

test("what is read of the thread while a message goes out does not take its place", async () => {
  const [pause, go] = gate();
  const [read, arrive] = gate();
  const { server, session } = sessionOf([started, finished], [started, pause]);
  await run(session, () => session.send("hello"));
  const stored = { messages: [known(server), { id: "a", role: "assistant", content: "News from elsewhere." }] };
  server.thread = () => read;
  const refreshed = session.refresh({ quietly: false });
  const end = once(session, "end");
  session.send("and now");
  arrive(stored);
  await refreshed;
  assert.deepEqual([texts(session), session.busy], [["hello", "and now"], true]);
  go(finished);
  await end;
  assert.equal(session.busy, false);
});

test("what can't be read again is an error only if the user has asked for it", async () => {
  const { server, session } = sessionOf([started, ...said("a", "Hi."), finished]);
  await run(session, () => session.send("hello"));
  server.stored = lost();
  await session.refresh();
  assert.deepEqual([texts(session), session.conversation.error], [["hello", "Hi."], null]);
  await session.refresh({ quietly: false });
  assert.equal(session.conversation.error.code, "connection_lost");
});

test("stop while a message is on its way leaves another run alone, and gives the message back", async () => {
  const { server, session } = sessionOf(busy());
  let refuse;
  const { run: answer } = server;
  server.run = async (input) => {
    await new Promise((resolve) => (refuse = resolve));
    return answer(input);
  };
  let cancelled = 0;
  server.cancel = async () => (cancelled += 1);
  session.send("Me too");
  while (!refuse) await new Promise((resolve) => setImmediate(resolve));
  session.stop();
  server.stored = { messages: [user("1", "Mine")], pending: [], running: true };
  server.follows.push([{ ...started, runId: "other" }, ...said("m", "Yours"), { ...finished, runId: "other" }]);
  const [returned, end] = [once(session, "returned"), once(session, "end")];
  refuse();
  assert.equal((await returned)[0].detail.content, "Me too");
  await end;
  assert.equal(cancelled, 0);
  assert.equal(session.queued, null);
});

/** Do this to the end of its run: the pauses between its requests take no time. */
async function runAtOnce(t, session, action) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let isOver = false;
  const end = run(session, action).then(() => (isOver = true));
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(1000);
  }
  await end;
  t.mock.timers.reset();
}

const noRoom = () => new HttpError(503, { error: "at_capacity", message: "The server is busy." });

test("a message that no process takes is sent again", async (t) => {
  const { server, session } = sessionOf(noRoom(), noRoom(), [started, ...said("a", "Hi."), finished]);
  await runAtOnce(t, session, () => session.send("hello"));
  assert.deepEqual([server.bodies.length, new Set(server.bodies).size], [3, 1]);
  assert.deepEqual([session.conversation.error, texts(session)], [null, ["hello", "Hi."]]);
});

test("a message that is never taken can be sent again", async (t) => {
  const { server, session } = sessionOf(...Array.from({ length: 5 }, noRoom), [started, ...said("a", "Hi."), finished]);
  server.stored = new HttpError(404, {});
  await runAtOnce(t, session, () => session.send("hello"));
  assert.deepEqual([server.bodies.length, session.conversation.error.code], [5, "at_capacity"]);
  await run(session, () => session.retry());
  assert.equal(new Set(server.bodies).size, 1);
  assert.deepEqual([server.bodies.length, texts(session)], [6, ["hello", "Hi."]]);
});
