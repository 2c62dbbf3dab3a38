// Waiting messages on the server: what shows at once, what the server's list decides, and what is lost never.
import assert from "node:assert/strict";
import { test } from "node:test";

import { HttpError } from "./agui/http/client.js";
import { Later } from "./agui_queue/attend.js";
import { Waiting } from "./agui_queue/waiting.js";

const offline = () => new TypeError("Failed to fetch");
const refusal = (status, error) => new HttpError(status, { error, message: `No: ${error}` });

/** A thread's page and its server. `answers` may have an error, or a promise, for the next request of a kind. */
function open({ max = 3, storage = new Map() } = {}) {
  const session = new EventTarget();
  const state = { threadId: "t", busy: true, loading: false, isUndelivered: false, conversation: { messages: [] } };
  const log = { stops: 0, sent: [], returned: [], kept: [], refreshed: [], posted: [], told: [] };
  Object.assign(session, state, {
    stop: () => (log.stops += 1),
    send: (...message) => log.sent.push(message) < 2,
    refresh: async (options) => log.refreshed.push(options),
  });
  for (const type of ["returned", "kept"]) session.addEventListener(type, ({ detail }) => log[type].push(detail));
  const server = { rows: [], run: { run_id: "r" }, held: null, answers: { list: [], post: [], change: [], remove: [] } };
  const stand = () => ({ run: server.run, held: server.held });
  const next = async (kind) => {
    const answer = await server.answers[kind].shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const requests = {
    list: async () => (await next("list")) ?? { messages: [...server.rows], ...stand() },
    post: async (_, { message, mode }) => {
      log.posted.push(message?.id ?? null);
      const answer = await next("post");
      if (answer) return answer;
      if (message && !server.rows.some((row) => row.message_id === message.id)) server.rows.push({ message_id: message.id, message, mode, state: "waiting" });
      return { state: "waiting", refusal: null, ...stand() };
    },
    change: async (_, { message_id: id, position, ...change }) => {
      await next("change");
      const row = server.rows.find((other) => other.message_id === id);
      Object.assign(row, change);
      if (position !== undefined) server.rows.splice(position, 0, ...server.rows.splice(server.rows.indexOf(row), 1));
      return row;
    },
    remove: async (_, id) => {
      await next("remove");
      server.rows = server.rows.filter((row) => row.message_id !== id);
    },
  };
  const memory = { note: (name, text) => (text ? storage.set(name, text) : storage.delete(name)), noted: (name) => storage.get(name) ?? null };
  const waiting = new Waiting(session, requests, memory, max, {});
  waiting.rows.addEventListener("told", () => log.told.push(waiting.rows.told.name));
  const later = new Later({ host: { session } }, ["queue", "steer"], max);
  later.waiting = waiting;
  later.load = () => {};
  const write = (text, mode = null) => {
    later.next = mode;
    return later.take({ id: text, text, attachments: [] });
  };
  const hear = (event) => session.dispatchEvent(new CustomEvent("event", { detail: event }));
  const custom = (name, value) => hear({ type: "CUSTOM", name, value });
  const change = (values = {}) => (Object.assign(session, values), session.dispatchEvent(new Event("change")));
  return { session, server, waiting, later, log, storage, write, custom, change, hear };
}

/** Let everything happen that is on its way, and what comes a little later. */
const settled = async (t, ms = 0) => {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
  t.mock.timers.tick(ms);
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
};
const shown = ({ waiting }) => waiting.rows.all.map(({ message, mode, isUnsent }) => [message.content, mode, ...(isUnsent ? ["unsent"] : [])].join(" "));
const listed = ({ server }) => server.rows.map(({ message, mode }) => `${message.content} ${mode}`);

/** A promise, and what resolves it. */
const gate = () => {
  let resolve;
  return { promise: new Promise((open) => (resolve = open)), resolve: (value) => resolve(value) };
};

/** @param {string} name @param {(t: any) => Promise<void>} run */
const timed = (name, run) => test(name, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await run(t);
});

timed("what the user sends shows at once, and is posted in its order, each with its mode", async (t) => {
  const page = open();
  assert.equal(page.write("one"), true);
  page.write("two", "steer");
  assert.deepEqual(shown(page), ["one queue unsent", "two steer unsent"]);
  await settled(t);
  assert.deepEqual([shown(page), listed(page)], [["one queue", "two steer"], ["one queue", "two steer"]]);
  assert.deepEqual([page.log.posted, page.storage.size, page.log.kept.length], [["one", "two"], 0, 2]);
});

timed("what finds no network is kept in the tab, and sent once when it is back", async (t) => {
  const page = open();
  page.server.answers.post.push(offline(), offline());
  page.write("one");
  page.write("two");
  await settled(t);
  assert.deepEqual([shown(page), page.waiting.rows.problem], [["one queue unsent", "two queue unsent"], { code: "unsent" }]);
  await settled(t, 1000);
  assert.deepEqual([page.log.posted, shown(page)], [["one", "one"], ["one queue unsent", "two queue unsent"]]);
  // The next page of the tab goes on.
  const later = open({ storage: page.storage });
  later.change();
  await settled(t);
  assert.deepEqual([listed(later), shown(later), later.storage.size], [["one queue", "two queue"], ["one queue", "two queue"], 0]);
  page.waiting.tryAgain();
  await settled(t);
  assert.deepEqual([listed(page), page.waiting.rows.problem], [["one queue", "two queue"], null]);
});

timed("nothing is posted before the server has the turn that it is to follow", async (t) => {
  const page = open();
  page.change({ isUndelivered: true });
  page.write("one");
  await settled(t, 5000);
  assert.deepEqual(page.log.posted, []);
  page.change({ isUndelivered: false });
  await settled(t);
  assert.deepEqual(page.log.posted, ["one"]);
});

timed("a message that comes after the run's end waits until its own run is seen", async (t) => {
  const page = open();
  const { promise, resolve } = gate();
  page.server.answers.post.push(promise);
  page.write("one");
  page.change({ busy: false });
  page.server.run = { run_id: "next" };
  page.session.refresh = async (options) => (page.log.refreshed.push(options), page.change({ busy: true }));
  const waits = [];
  page.session.addEventListener("change", () => waits.push(page.later.has("one")));
  resolve({ state: "read", refusal: null, run: page.server.run, held: null });
  await settled(t, 500);
  assert.deepEqual([shown(page), new Set(waits), page.later.has("one")], [[], new Set([true]), true]);
  assert.deepEqual(page.log.refreshed, [{ quietly: false, own: true }]);
});

timed("what the user does while a message is on its way counts", async (t) => {
  const page = open();
  const { promise, resolve } = gate();
  page.server.answers.post.push(promise);
  page.write("one");
  page.write("two");
  page.waiting.change("one", { text: "one and a half", mode: "steer" });
  resolve();
  await settled(t);
  assert.deepEqual([shown(page), listed(page)], [["one and a half steer", "two queue"], ["one and a half steer", "two queue"]]);
  const last = gate();
  page.server.answers.post.push(last.promise);
  page.write("three");
  page.waiting.remove("three");
  last.resolve();
  await settled(t, 500);
  assert.deepEqual([shown(page), listed(page)], [["one and a half steer", "two queue"], ["one and a half steer", "two queue"]]);
});

timed("rows move, and the server counts only those that it knows", async (t) => {
  const page = open();
  for (const text of ["one", "two", "three"]) page.write(text);
  await settled(t);
  page.waiting.move("three", 0);
  assert.deepEqual([shown(page), page.waiting.rows.told], [["three queue", "one queue", "two queue"], { name: "waitingMoved", values: { place: 1, count: 3 } }]);
  page.waiting.move("three", -1);
  page.waiting.move("two", 9);
  await settled(t, 500);
  assert.deepEqual(listed(page), ["three queue", "one queue", "two queue"]);
});

timed("the place among messages that the server has is without those that it has not", async (t) => {
  const page = open();
  page.write("one");
  page.write("two");
  await settled(t);
  page.server.answers.post.push(offline());
  page.write("three");
  await settled(t);
  page.waiting.move("three", 0);
  page.waiting.move("two", 1);
  await settled(t, 500);
  assert.deepEqual([listed(page), shown(page)], [["two queue", "one queue"], ["two queue", "one queue", "three queue unsent"]]);
});

timed("a list from before the user's last request is too old", async (t) => {
  const page = open();
  page.write("one");
  await settled(t);
  const old = gate();
  page.server.answers.list.push(old.promise);
  await settled(t, 500);
  page.write("two");
  await settled(t);
  old.resolve({ messages: [], run: null, held: null });
  await settled(t);
  assert.deepEqual(shown(page), ["one queue", "two queue"]);
  await settled(t, 500);
  assert.deepEqual(shown(page), ["one queue", "two queue"]);
});

timed("what the agent has read is no row any more, whoever tells so first", async (t) => {
  const page = open();
  for (const text of ["one", "two", "three"]) page.write(text);
  await settled(t);
  page.custom("message_delivered", { messageId: "one", message: { id: "one", role: "user", content: "one" }, mode: "steer", after: "a" });
  page.custom("message_removed", { messageId: "two" });
  assert.deepEqual([shown(page), page.log.told.at(-1)], [["three queue"], "waitingRead"]);
  // The thread has it, and the list is older.
  page.server.rows = page.server.rows.slice(2);
  page.session.conversation = { messages: [{ id: "three", role: "user", content: "three" }] };
  page.custom("message_queued", { messageId: "three" });
  await settled(t, 500);
  assert.deepEqual([shown(page), page.waiting.has("three")], [[], false]);
});

timed("another tab's messages come with an event, and leave with the list", async (t) => {
  const page = open();
  await settled(t, 500);
  const other = (id, mode) => ({ message_id: id, message: { id, role: "user", content: id }, mode, state: "waiting" });
  page.server.rows = [other("a", "steer"), other("b", "queue")];
  page.custom("message_queued", { messageId: "a" });
  await settled(t, 500);
  assert.deepEqual(shown(page), ["a steer", "b queue"]);
  page.server.rows = [other("b", "queue")];
  page.custom("message_changed", { messageId: "b" });
  await settled(t, 500);
  // It may be on its way into the thread.
  assert.deepEqual([shown(page), page.waiting.has("a")], [["b queue"], true]);
});

timed("new words for a message that was read already come back", async (t) => {
  for (const error of [refusal(409, "already_read"), refusal(404, "not_found")]) {
    const page = open();
    page.write("one");
    await settled(t);
    page.server.answers.change.push(error);
    page.waiting.change("one", { text: "uno" });
    await settled(t);
    assert.deepEqual([shown(page), page.log.returned.map(({ content }) => content), page.waiting.rows.problem], [[], ["uno"], { code: "too_late" }]);
  }
  const page = open();
  page.write("one");
  await settled(t);
  page.server.answers.change.push(offline());
  page.waiting.change("one", { mode: "steer" });
  await settled(t, 500);
  assert.deepEqual([page.log.returned, page.waiting.rows.problem, shown(page)], [[], { code: "connection_lost" }, ["one queue"]]);
});

timed("what the server refuses comes back with the reason", async (t) => {
  const page = open();
  page.server.answers.post.push(refusal(422, "unprocessable"), refusal(409, "queue_full"), refusal(409, "conflict"), refusal(503, "at_capacity"));
  for (const [text, problem, returned] of [["one", { code: "unprocessable", message: "No: unprocessable" }, ["one"]], ["two", { code: "full" }, ["one", "two"]]]) {
    page.write(text);
    page.waiting.rows.max = 0;
    await settled(t);
    assert.deepEqual([shown(page), page.waiting.rows.problem, page.log.returned.map(({ content }) => content)], [[], problem, returned]);
    page.waiting.rows.max = 3;
  }
  page.write("three"); // The thread has it already.
  page.write("four");
  await settled(t);
  assert.deepEqual([shown(page), page.log.returned.length, page.waiting.rows.problem], [["four queue unsent"], 2, { code: "at_capacity", message: "No: at_capacity" }]);
  await settled(t, 1000);
  assert.deepEqual([shown(page), page.log.posted], [["four queue"], ["one", "two", "three", "four", "four"]]);
});

timed("a server that keeps no messages leaves them to the tab", async (t) => {
  const page = open();
  page.server.answers.post.push(refusal(404, "not_found"));
  page.write("one");
  page.write("two");
  await settled(t);
  assert.deepEqual([shown(page), page.log.sent, page.log.returned.map(({ content }) => content)], [[], [["one", [], "one"], ["two", [], "two"]], ["two"]]);
  assert.deepEqual([page.write("three"), page.waiting.refuse(null), page.storage.size], [false, false, 0]);
});

timed("no more wait than may, and the user is told", async (t) => {
  const page = open({ max: 1 });
  assert.equal(page.waiting.refuse(null), false);
  page.write("one");
  await settled(t);
  assert.equal(page.waiting.refuse("stop"), false);
  assert.deepEqual([page.waiting.refuse(null), page.waiting.rows.problem], [true, { code: "full" }]);
  page.waiting.remove("one");
  assert.equal(page.waiting.rows.problem, null);
  page.change({ busy: false });
  assert.equal(page.waiting.refuse(null), false);
});

timed("stop and send is the tab's: the message waits for the end of the run", async (t) => {
  const page = open();
  page.later.next = "stop";
  const message = { id: "one", text: "one", attachments: [] };
  assert.deepEqual([page.later.take(message), message.stops, page.later.next], [false, true, null]);
  await settled(t);
  assert.deepEqual([page.log.stops, shown(page), page.log.posted], [1, [], []]);
});

timed("the next run is followed, by one tab as its own", async (t) => {
  const page = open();
  const end = () => page.session.dispatchEvent(new Event("end"));
  page.write("one");
  await settled(t);
  Object.assign(page.server, { run: null, held: "finished" });
  page.change({ busy: false });
  end();
  await settled(t);
  assert.deepEqual([page.waiting.rows.held, page.log.refreshed], [null, []]); // It is about to begin.
  Object.assign(page.server, { run: { run_id: "next" }, held: null, rows: [] });
  page.session.refresh = async (options) => (page.log.refreshed.push(options), page.change({ busy: true }));
  await settled(t, 500);
  assert.deepEqual([page.log.refreshed, shown(page), page.waiting.has("one")], [[{ quietly: false, own: true }], [], true]);
  page.custom("message_delivered", { messageId: "one" });
  assert.equal(page.waiting.has("one"), true);
  page.session.conversation = { messages: [{ id: "one", role: "user", content: "one" }] };
  assert.equal(page.waiting.has("one"), false);
  // A message of another tab begins one, too.
  const row = { message_id: "b", message: { id: "b", role: "user", content: "b" }, mode: "queue" };
  page.server.rows = [row];
  page.custom("message_queued", { messageId: "b" });
  await settled(t, 500);
  Object.assign(page.server, { run: { run_id: "last" }, rows: [] });
  page.change({ busy: false });
  end();
  await settled(t, 0);
  assert.deepEqual(page.log.refreshed.at(-1), { quietly: false, own: false });
});

timed("what is held says why, until the user sends it", async (t) => {
  const page = open();
  page.write("one");
  await settled(t);
  for (const held of ["failed", "cancelled", "timed_out", "interrupted", "paused"]) {
    Object.assign(page.server, { run: null, held });
    page.change({ busy: false });
    page.session.dispatchEvent(new Event("end"));
    await settled(t);
    assert.deepEqual([page.waiting.rows.held, shown(page)], [held, ["one queue"]]);
  }
  // A run that should have begun by itself and has not.
  page.server.held = "finished";
  page.session.dispatchEvent(new Event("end"));
  for (const ms of [0, 250, 400]) await settled(t, ms), assert.equal(page.waiting.rows.held, null);
  await settled(t, 700);
  assert.equal(page.waiting.rows.held, "finished");
  page.server.answers.post.push({ run: null, held: "finished", refusal: { error: "budget_exceeded", message: "No money." } });
  await page.waiting.send();
  assert.deepEqual([page.waiting.rows.problem, shown(page), page.log.refreshed], [{ code: "budget_exceeded", message: "No money." }, ["one queue"], []]);
  page.server.answers.post.push({ run: { run_id: "n" }, held: null, refusal: null });
  await page.waiting.send();
  assert.deepEqual([page.log.refreshed, page.log.posted.at(-1)], [[{ quietly: false, own: true }], null]);
  page.server.answers.post.push(refusal(409, "conflict"));
  await page.waiting.send();
  assert.equal(page.waiting.rows.problem, null);
});

timed("another thread has rows of its own, and nobody's are left after signing out", async (t) => {
  const page = open();
  page.server.answers.post.push(offline());
  page.write("one");
  await settled(t);
  page.change({ threadId: "u" });
  assert.deepEqual(shown(page), []);
  page.change({ threadId: "t" });
  assert.deepEqual(shown(page), ["one queue unsent"]);
  // What arrives while another thread is open has arrived.
  const { promise, resolve } = gate();
  const next = open();
  next.server.answers.post.push(promise);
  next.write("two");
  next.change({ threadId: "u" });
  resolve();
  await settled(t);
  assert.deepEqual([listed(next), next.storage.size], [["two queue"], 0]);
  page.change({ threadId: null });
  assert.deepEqual(shown(page), []);
});

timed("a message without words has the names of its files, and keeps them when it is edited", async (t) => {
  const page = open();
  const attachments = [{ id: "f", name: "a.pdf", mime: "application/pdf", size: 1 }];
  page.later.take({ id: "m", text: "", attachments });
  await settled(t);
  page.waiting.change("m", { text: "Read it" });
  await settled(t, 500);
  assert.deepEqual(page.server.rows[0].message, { id: "m", role: "user", content: "Read it", metadata: { attachments } });
  page.waiting.change("m", { text: " " });
  await settled(t, 500);
  assert.equal(page.server.rows[0].message.content, "a.pdf");
});
