// One conversation of an official client with the scripted server, held to what every stream has to be.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { test } from "node:test";

export const CLIENT = process.env.AG_UI_CLIENT;
const { AGUI_URL, AGUI_TOKEN, AGUI_OTHER_TOKEN, AGUI_RECORD } = process.env;
const { HttpAgent, runHttpRequest, transformHttpEventStream } = await import(CLIENT);

/** Does this client declare the protocol's version? It then gets the shapes that came with it. */
export const declares = CLIENT === "@ag-ui/client";

// A client warns about what it does not understand, and drops it. No client should have a reason.
const warnings = [];
for (const level of ["warn", "error"]) console[level] = (...words) => warnings.push(words.join(" "));

export const say = (text, chunks = 1) => ({ say: text, chunks });
export const think = (text, chunks = 1) => ({ think: text, chunks });
export const call = (name, args = {}, chunks = 2) => ({ call: name, arguments: args, chunks });
export const tell = (what) => ({ tell: what });
export const wait = (gate) => ({ wait: gate });
export const fail = () => ({ fail: true });

const TERMINAL = ["RUN_FINISHED", "RUN_ERROR"];

/** An agent whose `connectAgent` follows the thread's active or last run. */
class Agent extends HttpAgent {
  connect() {
    const url = `${this.url}threads/${this.threadId}/events/`;
    return transformHttpEventStream(runHttpRequest(() => fetch(url, { headers: this.headers })));
  }
}

class Talk {
  constructor({ base = AGUI_URL, threadId = randomUUID(), token = AGUI_TOKEN, ...options } = {}) {
    this.base = base;
    this.token = token;
    this.agent = new Agent({
      url: `${base}/agent/`,
      threadId,
      headers: { Authorization: `Bearer ${token}` },
      fetch: (url, init) => this.#fetch(url, init),
      ...options,
    });
  }

  /** Keep what was sent and received, byte by byte. */
  async #fetch(url, init) {
    this.sent = JSON.parse(init.body);
    const response = await fetch(url, init);
    if (!response.ok) return response;
    const [forClient, forUs] = response.body.tee();
    this.received = new Response(forUs).text();
    this.received.catch(() => {}); // A client that leaves breaks it off
    return new Response(forClient, response);
  }

  get threadId() {
    return this.agent.threadId;
  }

  get messages() {
    return this.agent.messages;
  }

  /** The same thread in another window, which has seen nothing of it. */
  elsewhere(options = {}) {
    return new Talk({ base: this.base, threadId: this.threadId, ...options });
  }

  /** Another thread. */
  another() {
    return new Talk({ base: this.base });
  }

  /** The same thread, seen by somebody else. */
  byOthers() {
    return this.elsewhere({ token: AGUI_OTHER_TOKEN });
  }

  /** Add a message of the user that holds the model's script, and run. */
  async ask(script, parameters) {
    const id = randomUUID();
    this.agent.addMessage({ id, role: "user", content: `script: ${JSON.stringify(script)}` });
    return { userId: id, ...(await this.run(parameters)) };
  }

  /** Send a message beside the runs. */
  send(content, mode = "queue", more = {}) {
    const message = { id: randomUUID(), role: "user", content };
    return this.queue("POST", { message, mode, ...more }, 202);
  }

  /** List what waits, or change it. */
  async queue(method = "GET", body = undefined, status = 200) {
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const url = `${this.base}/agent/threads/${this.threadId}/messages/`;
    const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
    assert.equal(response.status, status, `${method} ${await response.clone().text()}`);
    return response.json();
  }

  /** Take a message back that waits. */
  async takeBack(id) {
    await this.#request("DELETE", `/agent/threads/${this.threadId}/messages/?message_id=${id}`, 204);
  }

  /** Take over messages where the model reads them, as the manual says. Returns what comes of them. */
  listen() {
    const told = [];
    this.agent.subscribe({
      onCustomEvent: ({ event, messages }) => {
        told.push(event);
        if (event.name === "message_delivered") return { messages: [...messages, event.value.message] };
      },
    });
    return told;
  }

  /** Follow the run that has begun with what waited. */
  async followNext(runId) {
    for (;;) {
      const { messages, run, held } = await this.queue();
      assert.ok(run || held === "finished", held);
      if (messages.length === 0 && run?.run_id !== runId) break;
    }
    const events = [];
    const result = await this.agent.connectAgent({}, { onEvent: ({ event }) => void events.push(event) });
    assert.deepEqual(warnings.splice(0), [], "the client was given a reason to warn");
    return { events, ...result, types: events.map((event) => event.type) };
  }

  /** Answer what the thread waits for. */
  resume(...entries) {
    return this.run({ resume: entries });
  }

  async run(parameters = {}) {
    const events = [];
    const ending = {};
    const subscriber = {
      onEvent: ({ event }) => void events.push(event),
      onRunFinishedEvent: ({ event, messages, state, agent, input, ...rest }) => void Object.assign(ending, rest),
      onRunErrorEvent: ({ event }) => void (ending.error = event),
    };
    const before = this.#snapshot();
    const { newMessages } = await this.agent.runAgent(parameters, subscriber).catch((error) => {
      warnings.length = 0;
      throw error;
    });
    if (!this.agent.abortController.signal.aborted) {
      const bytes = await this.received;
      checkStream(bytes, this.sent);
      if (AGUI_RECORD) appendFileSync(AGUI_RECORD, `${JSON.stringify({ before, events: framesOf(bytes), after: this.#snapshot() })}\n`);
    }
    assert.deepEqual(warnings.splice(0), [], "the client was given a reason to warn");
    return { events, newMessages, ...ending, types: events.map((event) => event.type) };
  }

  /** What tests/test_reducer.py compares another reducer with. */
  #snapshot() {
    return structuredClone({ messages: this.agent.messages, state: this.agent.state });
  }

  async #request(method, path, status) {
    const headers = { Authorization: `Bearer ${this.token}` };
    const response = await fetch(`${this.base}${path}`, { method, headers });
    assert.equal(response.status, status, `${method} ${path}`);
    return response;
  }

  async get(path) {
    return (await this.#request("GET", path, 200)).json();
  }

  /** Get a file of the user's, which nobody else can get. */
  async file(path, type) {
    const response = await this.#request("GET", path, 200);
    assert.equal(response.headers.get("content-type"), type);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    await this.byOthers().#request("GET", path, 404);
  }

  async post(path, status = 204) {
    await this.#request("POST", path, status);
  }

  /** Read the thread's run to its end, from its beginning. */
  async follow() {
    return framesOf(await (await this.#request("GET", `/agent/threads/${this.threadId}/events/`, 200)).text());
  }

  /** What the tools have done on this thread. */
  effects() {
    return this.get(`/effects/${this.threadId}/`);
  }

  thread() {
    return this.get(`/agent/threads/${this.threadId}/`);
  }

  /** The server has to remember exactly what the client has seen, under the same ids. */
  async compare() {
    const { messages } = await this.thread();
    assert.deepEqual(inOrder(messages), inOrder(this.messages));
  }
}

/** Messages to compare: the results of one answer's calls come in the order in which the tools were done. */
function inOrder(messages) {
  const groups = [];
  for (const message of messages.map(essence)) {
    const joins = message.role === "tool" && groups.at(-1)?.[0].role === "tool";
    if (joins) groups.at(-1).push(message);
    else groups.push([message]);
  }
  return groups.flatMap((group) => group.sort((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1)));
}

/** What two who know the same message agree on: not the spaces in its JSON, nor whether no text is "". */
function essence({ id, role, content = "", toolCalls = [], toolCallId, metadata, activityType }) {
  const calls = toolCalls.map(({ id, function: { name, arguments: args } }) => ({ id, name, args: JSON.parse(args) }));
  return { id, role, content, calls, toolCallId, metadata, activityType };
}

/** The events of a stream. Every client must be able to split its frames. */
function framesOf(bytes) {
  assert.ok(!bytes.includes("\r"), "clients split at LF only");
  assert.ok(bytes.endsWith("\n\n"), "the last frame has no end");
  const frames = bytes.slice(0, -2).split("\n\n").filter((frame) => !frame.startsWith(":"));
  return frames.map((frame) => {
    const data = frame.split("\n").filter((line) => line.startsWith("data: "));
    assert.equal(data.length, 1, `not one line of data: ${frame}`);
    return JSON.parse(data[0].slice("data: ".length));
  });
}

/** Check what is true of every stream, in the bytes that came. */
function checkStream(bytes, input) {
  const events = framesOf(bytes);
  const [first, last] = [events[0], events.at(-1)];
  assert.equal(first.type, "RUN_STARTED");
  assert.deepEqual([first.threadId, first.runId, first.protocolVersion], [input.threadId, input.runId, "1.0"]);
  assert.deepEqual(events.filter((event) => TERMINAL.includes(event.type)), [last], "not one end, and that last");
  if (last.type === "RUN_FINISHED") {
    assert.deepEqual([last.threadId, last.runId], [input.threadId, input.runId]);
  }
  const open = new Set();
  for (const event of events) {
    const [, kind, edge] = event.type.match(/^(.*)_(START|END)$/) ?? [];
    const opened = `${kind} ${event.messageId ?? event.toolCallId}`;
    if (edge) assert.equal(edge === "END", open.has(opened), `${event.type} at the wrong place`);
    if (edge === "START") open.add(opened);
    if (edge === "END") open.delete(opened);
    for (const [name, value] of Object.entries(event)) assert.notEqual(value, null, `${event.type}.${name} is null`);
    assert.notEqual(event.delta, "", "older clients break at an empty delta");
    if ("timestamp" in event) assert.ok(Number.isSafeInteger(event.timestamp), "a timestamp is an integer");
    if (input.protocolVersion === undefined) {
      assert.notEqual(event.outcome?.type, "cancelled");
      assert.ok(!(event.outcome && "pendingToolCallIds" in event.outcome));
    }
  }
  if (last.type === "RUN_FINISHED") assert.deepEqual([...open], [], "left open");
}

// The ways in which a proxy breaks the streams, each a path of its own; "" is no proxy.
const ways = (process.env.AGUI_WAYS ?? "").split(" ");
const timeout = Number(process.env.AGUI_TIMEOUT_MS ?? 30_000);

/** A test with a conversation of its own, compared at its end with what the server has stored. */
export function scenario(name, body, { compare = true } = {}) {
  for (const way of ways) {
    test(way ? `${way}: ${name}` : name, { timeout }, async ({ signal }) => {
      const talk = new Talk({ base: way ? `${AGUI_URL}/${way}` : AGUI_URL });
      signal.addEventListener("abort", () => talk.agent.abortRun()); // Or the process would wait for it
      await body(talk);
      if (compare) await talk.compare();
    });
  }
}
