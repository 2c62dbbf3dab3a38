// Each documented feature of TanStack AI's client, by its own package, as the table of clients.md says it:
// with the client's own connection, with connection.mjs, or not.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { test } from "node:test";
import { toolDefinition } from "@tanstack/ai";
import { uiMessagesToWire } from "@tanstack/ai/client";
import * as tanstack from "@tanstack/ai-client";
import { defineByok } from "@tanstack/ai-client/byok";
import { connectTo } from "./connection.mjs";

const { AGUI_URL, AGUI_TOKEN } = process.env;
const { ChatClient, fetchServerSentEvents } = tanstack;
const url = `${AGUI_URL}/agent/`;
const headers = { Authorization: `Bearer ${AGUI_TOKEN}` };
const XHR = createRequire(import.meta.url)("xhr2");
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

// What the model is to answer; see tests/clients/project.
const say = (text, chunks = 1) => ({ say: text, chunks });
const think = (text, chunks = 1) => ({ think: text, chunks });
const call = (name, args = {}) => ({ call: name, arguments: args, chunks: 2 });
const tell = (what) => ({ tell: what });
const wait = (gate) => ({ wait: gate });
const script = (...answers) => `script: ${JSON.stringify(answers)}`;
const wiping = script([call("wipe", { what: "disk" })], [tell("results")]);
const asking = script([call("schedule", { what: "lunch" })], [tell("results")]);

const object = (...names) => {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties };
};
const pick = toolDefinition({ name: "pick", description: "Pick a color.", inputSchema: object("shade") });
const approvalSchema = { reject: object("reason") };
const wipe = toolDefinition({ name: "wipe", description: "Wipe.", needsApproval: true, inputSchema: object("what") });
const explained = toolDefinition({ ...wipe, approvalSchema });

const CALLBACKS = [
  "onResponse", "onChunk", "onFinish", "onError", "onMessagesChange", "onLoadingChange", "onErrorChange",
  "onStatusChange", "onCustomEvent", "onInterruptStateChange", "onResumeStateChange", "onQueueChange", "onRunIdChange",
];

/** A client with a thread of its own, and everything that it was told. */
class Chat {
  told = Object.fromEntries(CALLBACKS.map((name) => [name, []]));
  #waiting = new Set();

  constructor({ own = true, threadId = randomUUID(), serverTools, settings = {}, ...options } = {}) {
    this.threadId = threadId;
    this.connection = own
      ? connectTo({ url, threadId, serverTools, headers, ...settings })
      : fetchServerSentEvents(url, { headers, ...settings });
    if (!options.fetcher) options = { connection: this.connection, ...options };
    const callbacks = CALLBACKS.map((name) => [name, (...values) => this.#tell(name, values)]);
    this.client = new ChatClient({ threadId, ...Object.fromEntries(callbacks), ...options });
  }

  #tell(name, values) {
    this.told[name].push(values);
    for (const look of this.#waiting) look();
  }

  /** Wait until the client has told of something that makes this true. */
  until(isTrue) {
    return new Promise((resolve) => {
      const look = () => {
        if (!isTrue(this.client)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  say(...answers) {
    return this.client.sendMessage(script(...answers));
  }

  /** Ask for an answer that waits in its midst; what to call to let it go on, and its end. */
  async begin(end = "end") {
    const gate = randomUUID();
    const ended = this.say([say("Begin "), wait(gate), say(end)]);
    await this.until((client) => client.getMessages().at(-1)?.role === "assistant");
    return { ended, open: () => fetch(`${AGUI_URL}/gates/${gate}/`, { method: "POST" }) };
  }

  answered() {
    const isDone = (client) => !client.getInterrupts().length && client.getStatus() === "ready" && !client.getIsLoading();
    return this.until(isDone);
  }

  /** The parts of the last messages, each as its text, or its state and what came of it. */
  parts(count = 1) {
    const parts = this.client.getMessages().slice(-count).flatMap((message) => message.parts);
    return parts.map(({ type, state, content, output }) =>
      type === "tool-call" ? [state, output].filter((value) => value !== undefined) : state ?? content);
  }

  get error() {
    return this.told.onError.at(-1)?.[0].message;
  }

  types() {
    return this.told.onChunk.map(([chunk]) => chunk.type);
  }

  async #get(path) {
    return (await fetch(`${AGUI_URL}${path}`, { headers })).json();
  }

  thread() {
    return this.#get(`/agent/threads/${this.threadId}/`);
  }

  effects() {
    return this.#get(`/effects/${this.threadId}/`);
  }
}

const timeout = Number(process.env.AGUI_TIMEOUT_MS ?? 30_000);
const feature = (result) => (name, body) => test(`${result}: ${name}`, { timeout }, body);

/** What works with both connections. */
const yes = (name, body) => feature("yes")(name, async () => {
  await body((options) => new Chat({ own: false, ...options }));
  await body((options) => new Chat(options));
});
/** What works with connection.mjs, and then what comes without it: a version that changes that is noticed. */
const file = (name, body, without) => feature("`connection.mjs`")(name, async () => {
  await body((options) => new Chat(options));
  await without((options) => new Chat({ own: false, ...options }));
});
/** What the client asks of a server of its own kind, as it is now. */
const no = (name, body) => feature("no")(name, () => body((options) => new Chat(options)));

// --- Messages

yes("text as it comes", async (open) => {
  const chat = open();
  await chat.say([say("Hello there.", 3)]);
  assert.deepEqual(chat.parts(), ["Hello there."]);
  const seen = chat.told.onMessagesChange.map(([messages]) => messages.at(-1).parts[0]?.content);
  assert.ok(seen.some((text) => text && text.length < "Hello there.".length), seen.join());
  assert.equal(chat.client.getMessages().at(-1).id, (await chat.thread()).messages.at(-1).id);
});

yes("reasoning", async (open) => {
  const chat = open();
  await chat.say([think("Hm.", 2), say("Hello.")]);
  assert.deepEqual(chat.client.getMessages().at(-1).parts.map(({ type }) => type), ["thinking", "text"]);
  await chat.say([tell("conversation")]); // The client sends it back as messages of the role "reasoning"
  assert.match(chat.parts()[0], /"thinking", "Hm\."/);
});

yes("images and documents", async (open) => {
  const chat = open();
  const image = { type: "image", source: { type: "data", value: PNG, mimeType: "image/png" } };
  const source = { type: "url", value: "https://example.com/a.pdf", mimeType: "application/pdf" };
  const text = { type: "text", content: script([tell("conversation")]) };
  await chat.client.sendMessage({ content: [text, image, { type: "document", source }] });
  assert.match(chat.parts()[0], /BinaryContent.*image\/png.*DocumentUrl.*a\.pdf/);
});

yes("ids and `metadata` of messages", async (open) => {
  const chat = open();
  const message = { content: script([say("Yes.")]), id: randomUUID(), metadata: { author: "Ada" } };
  await chat.client.sendMessage(message);
  const [stored] = (await chat.thread()).messages;
  assert.deepEqual([stored.id, stored.metadata.author], [message.id, "Ada"]);
});

yes("`append`", async (open) => {
  const chat = open();
  await chat.client.append({ role: "user", content: script([say("one")]) });
  await chat.client.append({ id: randomUUID(), role: "user", parts: [{ type: "text", content: script([say("two")]) }] });
  assert.deepEqual([chat.parts(3)[0], chat.parts()[0]], ["one", "two"]);
});

yes("`reload`", async (open) => {
  const chat = open();
  await chat.say([say("once")]);
  const { id } = chat.client.getMessages().at(-1);
  await chat.client.reload();
  assert.deepEqual(chat.parts(), ["once"]);
  assert.notEqual(chat.client.getMessages().at(-1).id, id);
  const { messages, branches } = await chat.thread();
  assert.deepEqual([messages.length, Object.values(branches)[0].length], [2, 2]);
});

yes("an edit by `setMessagesManually`", async (open) => {
  const chat = open();
  await chat.say([say("kept")]);
  await chat.say([say("dropped")]);
  chat.client.setMessagesManually(chat.client.getMessages().slice(0, 2));
  await chat.say([tell("conversation")]);
  assert.match(chat.parts()[0], /kept/);
  assert.doesNotMatch(chat.parts()[0], /dropped/);
});

yes("`initialMessages`", async (open) => {
  const user = { id: randomUUID(), role: "user", parts: [{ type: "text", content: "Remember 7." }] };
  const assistant = { id: randomUUID(), role: "assistant", parts: [{ type: "text", content: "I do." }] };
  const chat = open({ initialMessages: [user, assistant] });
  await chat.say([tell("conversation")]);
  assert.match(chat.parts()[0], /Remember 7\..*I do\./);
});

yes("`stop`", async (open) => {
  const chat = open();
  const { ended, open: openGate } = await chat.begin();
  chat.client.stop();
  await ended;
  assert.deepEqual([chat.client.getStatus(), chat.error], ["ready", undefined]);
  assert.equal((await chat.thread()).running, true); // As with any client that only leaves
  await chat.say([say("next")]);
  assert.deepEqual([chat.parts(), (await chat.thread()).running], [["next"], false]);
  await openGate();
});

no("`clear` on the server", async (open) => {
  const chat = open();
  await chat.say([say("kept")]);
  chat.client.clear();
  assert.deepEqual(chat.client.getMessages(), []);
  await chat.say([tell("conversation")]);
  assert.match(chat.parts()[0], /kept/);
});

yes("the client's `queue`", async (open) => {
  const chat = open();
  const first = await chat.begin();
  await chat.say([say("second")]);
  await chat.client.sendMessage("taken back");
  await chat.client.sendMessage("dropped", {}, { whenBusy: "drop" });
  chat.client.cancelQueued(chat.client.getQueue()[1].id);
  await first.open();
  await first.ended;
  assert.deepEqual([chat.parts(3)[0], chat.parts()], ["Begin end", ["second"]]);
  const third = await chat.begin();
  await chat.client.sendMessage(script([say("instead")]), {}, { whenBusy: "interrupt" });
  await Promise.all([third.ended, third.open()]);
  assert.deepEqual(chat.parts(), ["instead"]);
});

// --- Tools

yes("tools of the server, with their states", async (open) => {
  const chat = open();
  await chat.say([call("echo", { text: "hi" })], [say("Done.")]);
  assert.deepEqual(chat.parts(2), [["complete", "hi"], "complete", "Done."]);
  const calls = chat.told.onMessagesChange.flatMap(([messages]) => messages.at(-1).parts.filter((part) => part.name));
  const states = new Set(calls.map(({ state }) => state));
  assert.deepEqual([...states], ["awaiting-input", "input-streaming", "input-complete", "complete"]);
  assert.deepEqual(calls.at(-1).input, { text: "hi" });
});

file(
  "the state `error` of a tool that has failed",
  async (open) => {
    const chat = open();
    await chat.say([call("broken")], [say("Sorry.")]);
    assert.deepEqual(chat.parts(2), [["error", "The tool failed. The failure was logged."], "error", "Sorry."]);
  },
  async (open) => {
    const chat = open();
    await chat.say([call("broken")], [say("Sorry.")]);
    assert.equal(chat.parts(2)[1], "complete");
  },
);

const picking = script([call("pick", { shade: "dark" })], [tell("results")]);

file(
  "tools of the client",
  async (open) => {
    const context = { of: "green" };
    const chat = open({ context, tools: [pick.client(({ shade }, { context }) => ({ color: `${shade} ${context.of}` }))] });
    await chat.client.sendMessage(picking);
    assert.deepEqual(chat.parts(2).slice(0, 2), [["complete", { color: "dark green" }], "complete"]);
    assert.deepEqual(JSON.parse(JSON.parse(chat.parts()[0]).pick), { color: "dark green" });
    const silent = open({ tools: [pick.client(() => undefined)] });
    await silent.client.sendMessage(picking);
    assert.deepEqual([JSON.parse(silent.parts()[0]), silent.error], [{ pick: "" }, undefined]);
  },
  async (open) => {
    const chat = open({ tools: [pick.client(() => assert.fail("started without its event"))] });
    await chat.client.sendMessage(picking);
    assert.deepEqual(chat.parts(), [["input-complete"]]);
    await chat.say([tell("conversation")]);
    assert.match(chat.parts()[0], /interrupted before a result/);
  },
);

file(
  "tools of the client that fail, or break their `outputSchema`",
  async (open) => {
    const validate = (value) => (typeof value === "string" ? { value } : { issues: [{ message: "Not a text." }] });
    const outputSchema = { "~standard": { version: 1, vendor: "tests", validate } };
    const checked = toolDefinition({ ...pick, name: "checked", outputSchema });
    const broken = () => {
      throw new Error("The pen is empty.");
    };
    const chat = open({ tools: [pick.client(broken), checked.client(() => 7)] });
    await chat.say([call("pick"), call("checked")], [tell("results")]);
    const read = JSON.parse(chat.parts()[0]);
    assert.match(read.pick, /The pen is empty\./);
    assert.match(read.checked, /Not a text\./);
  },
  () => {},
);

yes("`addToolResult`", async (open) => {
  const chat = open({ tools: [pick.client()] });
  await chat.client.sendMessage(picking);
  const [{ id: toolCallId }] = chat.client.getMessages().at(-1).parts;
  await chat.client.addToolResult({ toolCallId, tool: "pick", output: "red", state: "output-available" });
  assert.deepEqual(JSON.parse(chat.parts()[0]), { pick: "red" });
});

no("`needsApproval` of a tool of the client", async (open) => {
  let isDone = false;
  const guarded = toolDefinition({ ...pick, needsApproval: true }).client(() => (isDone = true));
  const chat = open({ tools: [guarded] });
  await chat.client.sendMessage(picking);
  assert.deepEqual([isDone, chat.told.onInterruptStateChange.flatMap(([state]) => state.interrupts)], [true, []]);
});

// --- Interrupts

yes("approvals as `generic` interrupts", async (open) => {
  const chat = open();
  await chat.client.sendMessage(wiping);
  assert.deepEqual(chat.parts(), [["approval-requested"]]);
  const [interrupt] = chat.client.getInterrupts();
  assert.deepEqual([interrupt.kind, interrupt.message], ["generic", "Really wipe it?"]);
  await assert.rejects(chat.client.sendMessage("Never mind"), /pending interrupts/);
  interrupt.resolveInterrupt({ approved: true, editedArgs: { what: "floppy" } });
  await chat.answered();
  assert.deepEqual([chat.parts(2)[0], await chat.effects()], [["complete", "wiped floppy"], ["wiped floppy"]]);
});

yes("`cancelInterrupts`", async (open) => {
  const chat = open();
  await chat.client.sendMessage(wiping);
  chat.client.cancelInterrupts();
  await chat.answered();
  assert.deepEqual([JSON.parse(chat.parts()[0]), await chat.effects()], [{ wipe: "Cancelled by user." }, []]);
});

const approve = { serverTools: [wipe], tools: [wipe] };
const DECISIONS = {
  "`resolveInterrupts(true)`": [(client) => client.resolveInterrupts(true), "wiped disk"],
  "`resolveInterrupts(false)`": [(client) => client.resolveInterrupts(false), "The tool call was denied."],
  "`addToolApprovalResponse`": [
    (client) => client.addToolApprovalResponse({ id: client.getInterrupts()[0].id, approved: true }), "wiped disk",
  ],
  "`editedArgs` of an approval": [
    (client) => client.getInterrupts()[0].resolveInterrupt(true, { editedArgs: { what: "floppy" } }), "wiped floppy",
  ],
};
for (const [name, [decide, result]] of Object.entries(DECISIONS)) {
  file(
    name,
    async (open) => {
      const chat = open(approve);
      await chat.client.sendMessage(wiping);
      const [{ kind, toolName, originalArgs }] = chat.client.getInterrupts();
      assert.deepEqual({ kind, toolName, originalArgs }, { kind: "tool-approval", toolName: "wipe", originalArgs: { what: "disk" } });
      decide(chat.client);
      await chat.answered();
      assert.equal(JSON.parse(chat.parts()[0]).wipe, result);
      assert.deepEqual(await chat.effects(), result.startsWith("wiped") ? [result] : []);
      await chat.say([say("On.")]);
      assert.deepEqual(chat.parts(), ["On."]);
    },
    async (open) => {
      const refused = open({ tools: [wipe] });
      await refused.client.sendMessage(wiping);
      assert.equal(refused.error, "A tool of the client has the name of a tool of the server.");
      const chat = open();
      await chat.client.sendMessage(wiping);
      decide(chat.client);
      await chat.until((client) => client.getInterrupts().length); // The server may have refused the answer
      assert.deepEqual(await chat.effects(), []);
    },
  );
}

file(
  "`approvalSchema`",
  async (open) => {
    const chat = open({ serverTools: [explained], tools: [explained] });
    await chat.client.sendMessage(wiping);
    chat.client.getInterrupts()[0].resolveInterrupt(false, { payload: { reason: "Not today." } });
    await chat.answered();
    assert.deepEqual(JSON.parse(chat.parts()[0]), { wipe: "Not today." });
  },
  () => {},
);

file(
  "questions",
  async (open) => {
    const chat = open();
    await chat.client.sendMessage(asking);
    const [interrupt] = chat.client.getInterrupts();
    assert.deepEqual(interrupt.responseSchema.required, ["day", "guests"]);
    interrupt.resolveInterrupt({ day: "Sunday", guests: 2 });
    await chat.until((client) => chat.error && client.getInterrupts().length);
    assert.equal(chat.error, "The answer does not have the form that was asked for.");
    chat.client.getInterrupts()[0].resolveInterrupt({ day: "Friday", guests: 2 });
    await chat.answered();
    assert.deepEqual(JSON.parse(JSON.parse(chat.parts()[0]).schedule), { day: "Friday", guests: 2 });
  },
  async (open) => {
    const chat = open();
    await chat.client.sendMessage(asking);
    const [{ kind, canResolve }] = chat.client.getInterrupts();
    assert.deepEqual([kind, canResolve], ["unbound", false]);
  },
);

file(
  "several interrupts, with a tool of the client",
  async (open) => {
    const chat = open({ ...approve, tools: [wipe, pick.client(() => "green")] });
    const calls = [call("wipe", { what: "disk" }), call("schedule", { what: "lunch" }), call("pick")];
    await chat.say(calls, [tell("results")]);
    chat.client.resolveInterrupts((interrupt) => {
      if (interrupt.kind === "tool-approval") interrupt.resolveInterrupt(true);
      else interrupt.resolveInterrupt({ day: "Friday", guests: 2 });
    });
    await chat.answered();
    const { wipe: wiped, pick: picked, schedule } = JSON.parse(chat.parts()[0]);
    assert.deepEqual([wiped, picked, JSON.parse(schedule).day], ["wiped disk", "green", "Friday"]);
  },
  () => {},
);

// --- The thread

file(
  "`persistence: true`",
  async (open) => {
    const before = open(approve);
    await before.say([call("echo", { text: "hi" })], [call("wipe", { what: "disk" })], [say("Done.")]);
    const chat = open({ ...approve, threadId: before.threadId, persistence: true });
    chat.client.attach();
    await chat.until((client) => client.getInterrupts().length);
    assert.deepEqual(chat.parts(2), [["complete", "hi"], "complete", ["input-complete"]]);
    chat.client.resolveInterrupts(true);
    await chat.answered();
    assert.deepEqual([chat.parts(), await chat.effects()], [["Done."], ["wiped disk"]]);
    const called = open({ tools: [pick.client()] });
    await called.client.sendMessage(picking);
    const later = open({ threadId: called.threadId, tools: [pick.client()], persistence: true });
    later.client.attach();
    await later.until((client) => client.getMessages().length);
    const [{ id: toolCallId }] = later.client.getMessages().at(-1).parts;
    await later.client.addToolResult({ toolCallId, tool: "pick", output: "red", state: "output-available" });
    assert.deepEqual(JSON.parse(later.parts()[0]), { pick: "red" });
    const empty = open({ persistence: true });
    empty.client.attach();
    await empty.say([say("New.")]);
    assert.deepEqual(empty.parts(), ["New."]);
  },
  async (open) => {
    const { connection, threadId } = open();
    await assert.rejects(connection.hydrate(threadId), /405/);
  },
);

file(
  "a run that is joined: `attach`, `detach`, another window",
  async (open) => {
    const chat = open({ persistence: true });
    chat.client.attach();
    const { ended, open: openGate } = await chat.begin();
    chat.client.detach();
    await ended;
    chat.client.attach();
    const other = open({ threadId: chat.threadId, persistence: true });
    other.client.attach();
    await chat.until((client) => client.getIsLoading());
    await other.until((client) => client.getMessages().at(-1)?.role === "assistant");
    await openGate();
    for (const window of [chat, other]) {
      await window.answered();
      assert.deepEqual([window.parts(), window.error], [["Begin end"], undefined]);
    }
  },
  async (open) => {
    const { connection } = open();
    await assert.rejects(connection.joinRun("r").next(), /405/);
  },
);

file(
  "a store in the browser",
  async (open) => {
    const store = new Map();
    const setItem = (id, value) => void store.set(id, structuredClone(value));
    const persistence = { getItem: (id) => store.get(id), setItem, removeItem: (id) => void store.delete(id) };
    const chat = open({ persistence });
    chat.client.attach();
    const { ended, open: openGate } = await chat.begin();
    const later = open({ threadId: chat.threadId, persistence });
    later.client.attach();
    await later.until((client) => client.getIsLoading());
    await openGate();
    await Promise.all([ended, later.answered()]);
    assert.deepEqual(later.parts(2).at(-1), "Begin end");
  },
  () => {},
);

no("pages of `history`", async (open) => {
  const chat = open();
  await chat.say([say("one")]);
  await chat.say([say("two")]);
  const paged = open({ threadId: chat.threadId, persistence: true, history: { pageSize: 2 } });
  paged.client.attach();
  await paged.until((client) => client.getMessages().length);
  assert.deepEqual([paged.client.getMessages().length, paged.client.getHasOlderMessages()], [4, false]);
  await paged.say([tell("conversation")]);
  assert.match(paged.parts()[0], /one.*two/);
});

// --- What is sent and told

yes("`threadId`", async (open) => {
  const chat = open();
  await chat.say([say("one")]);
  assert.equal((await chat.thread()).thread_id, chat.threadId);
});

yes("`forwardedProps` and `body`", async (open) => {
  const chat = open({ forwardedProps: { a: 1 }, body: { b: 2 } });
  await chat.client.sendMessage(script([call("inspect")], [tell("results")]), { c: 3 });
  const { forwardedProps } = JSON.parse(chat.parts()[0]).inspect;
  assert.deepEqual(forwardedProps, { a: 1, b: 2, c: 3 });
});

yes("`headers`", async (open) => {
  const chat = open({ settings: { headers: { Authorization: "Bearer wrong" } } });
  await chat.client.sendMessage("Hello");
  assert.equal(chat.error, "HTTP error! status: 401 Unauthorized");
});

yes("callbacks, `status` and `usage`", async (open) => {
  const chat = open();
  await chat.say([say("Yes.")]);
  const { told } = chat;
  assert.deepEqual(told.onStatusChange, [["submitted"], ["streaming"], ["ready"]]);
  assert.deepEqual(told.onLoadingChange, [[true], [false]]);
  assert.deepEqual([told.onResponse.length, told.onRunIdChange.length, told.onRunIdChange[1]], [1, 2, [null]]);
  assert.deepEqual(told.onFinish, [[chat.client.getMessages().at(-1)]]);
  assert.deepEqual([chat.types()[0], chat.types().at(-1)], ["RUN_STARTED", "RUN_FINISHED"]);
  const { usage } = told.onChunk.at(-1)[0];
  assert.ok(usage.promptTokens && usage.completionTokens);
});

yes("`onError`", async (open) => {
  const chat = open();
  await chat.say([{ fail: true }]);
  assert.deepEqual([chat.client.getStatus(), chat.error], ["error", "The run failed on the server."]);
  assert.equal(chat.client.getError().code, "internal_error");
  await chat.say([say("Again.")]);
  assert.deepEqual([chat.parts(), chat.client.getError()], [["Again."], undefined]);
});

const researching = async (chat) => {
  const gate = randomUUID();
  const ended = chat.say([call("research", { topic: "AI", gate })], [say("Done.")]);
  await chat.until(() => chat.told.onCustomEvent.length);
  await fetch(`${AGUI_URL}/gates/${gate}/`, { method: "POST" });
  await ended;
  return chat.told.onCustomEvent;
};

file(
  "`onCustomEvent`",
  async (open) => {
    const chat = open();
    const [[name, { count }, { toolCallId }]] = await researching(chat);
    assert.deepEqual([name, count, toolCallId], ["found", 2, chat.client.getMessages().at(-2).parts[0].id]);
  },
  async (open) => assert.deepEqual(await researching(open()), [["found", { count: 2 }, { toolCallId: undefined }]]),
);

no("state, steps and activities", async (open) => {
  const chat = open();
  await researching(chat);
  for (const type of ["STATE_SNAPSHOT", "STEP_STARTED", "ACTIVITY_SNAPSHOT"]) assert.ok(chat.types().includes(type));
  assert.deepEqual(chat.parts(2), [["complete", "researched"], "complete", "Done."]);
});

yes("chunk strategies", async (open) => {
  const chat = open({ streamProcessor: { chunkStrategy: new tanstack.PunctuationStrategy() } });
  await chat.say([say("One. Two. Three.", 16)]);
  const seen = new Set(chat.told.onMessagesChange.map(([messages]) => messages.at(-1).parts[0]?.content));
  assert.ok(![...seen].some((text) => text?.startsWith("One") && !/\.\s*$/.test(text)), [...seen].join());
  assert.deepEqual(chat.parts(), ["One. Two. Three."]);
});

no("structured output", async (open) => {
  const chat = open({ forwardedProps: { outputSchema: object("title") } });
  await chat.say([say('{"title": "Bread"}')]);
  assert.deepEqual(chat.client.getMessages().at(-1).parts.map(({ type }) => type), ["text"]);
});

no("`byok`", async (open) => {
  const byok = defineByok();
  await byok.update("openai", "sk-secret");
  const sent = [];
  const fetchClient = (address, init) => {
    sent.push(init.headers["x-byok-openai"]);
    return fetch(address, init);
  };
  const chat = open({ byok, byokProvider: () => "openai", settings: { fetchClient } });
  await chat.say([say("Yes.")]);
  assert.deepEqual([sent, chat.parts()], [["sk-secret"], ["Yes."]]);
});

// --- Connections

yes("a stream that breaks off", async (open) => {
  const asked = [];
  const fetchClient = async (address, init) => {
    asked.push(init.headers["Last-Event-ID"]);
    const response = await fetch(address, init);
    if (asked.length > 1) return response;
    // The last of the frames that come is RUN_STARTED.
    const [start] = (await response.text()).split("\n\n");
    return new Response(`${start}\n\n`, response);
  };
  const chat = open({ settings: { fetchClient } });
  await chat.say([say("One two three.", 8)]);
  assert.equal(asked.length, 2);
  assert.match(asked[1], /:1$/);
  assert.deepEqual(chat.parts(), ["One two three."]);
});

const through = async (options) => {
  const chat = new Chat({ own: false, ...options });
  await chat.say([say("one two three", 3)]);
  return chat;
};

yes("`xhrServerSentEvents`", async () => {
  const connection = tanstack.xhrServerSentEvents(url, { headers, xhrFactory: () => new XHR() });
  assert.deepEqual((await through({ connection })).parts(), ["one two three"]);
});

yes("`stream` and `fetcher`", async () => {
  const inner = fetchServerSentEvents(url, { headers });
  const connection = tanstack.stream((messages, data, signal) => inner.connect(messages, data, signal));
  assert.deepEqual((await through({ connection })).parts(), ["one two three"]);
  const fetcher = ({ messages, data, ...ids }, { signal }) => {
    const input = { ...ids, messages: uiMessagesToWire(messages), tools: [], context: [], state: {}, forwardedProps: data };
    const sent = { ...headers, "Content-Type": "application/json" };
    return fetch(url, { method: "POST", signal, headers: sent, body: JSON.stringify(input) });
  };
  assert.deepEqual((await through({ fetcher })).parts(), ["one two three"]);
});

no("`fetchHttpStream`, `xhrHttpStream`", async () => {
  assert.match((await through({ connection: tanstack.fetchHttpStream(url, { headers }) })).error, /not valid JSON/);
  const connection = tanstack.xhrHttpStream(url, { headers, xhrFactory: () => new XHR() });
  assert.match((await through({ connection })).error, /JSON/);
});

no("`webSocket`", async () => {
  const { JSDOM } = await import("jsdom"); // Node 20 has no WebSocket
  const { WebSocket: WebSocketImpl } = new JSDOM("", { url }).window;
  const reconnect = { maxAttempts: 1 };
  const connection = tanstack.webSocket(url.replace("http", "ws"), { WebSocketImpl, reconnect });
  assert.ok((await through({ connection })).error);
});

no("`GenerationClient`", async () => {
  const connection = fetchServerSentEvents(url, { headers });
  for (const Client of [tanstack.GenerationClient, tanstack.VideoGenerationClient]) {
    const client = new Client({ connection, threadId: randomUUID() });
    await client.generate({ prompt: "A cat." });
    assert.match(client.getError().message, /422/);
  }
});

no("`createMcpAppBridge`", async (open) => {
  const { client, threadId } = open();
  const fetchImpl = async (...request) => {
    const response = await fetch(...request);
    await response.text(); // What is not read keeps its connection, and the process
    return response;
  };
  const bridge = tanstack.createMcpAppBridge({ threadId, callEndpoint: `${url}call/`, chat: client, fetchImpl });
  await assert.rejects(bridge.callTool({ toolName: "echo" }), /404/);
});

file(
  "`useChat` of React",
  async () => {
    const { until } = await import("./dom.mjs"); // React looks for the document when it is loaded
    const { createElement } = await import("react");
    const { createRoot } = await import("react-dom/client");
    const { useChat } = await import("@tanstack/ai-react");
    const threadId = randomUUID();
    const connection = connectTo({ url, threadId, headers, serverTools: [wipe] });
    const tools = [wipe, pick.client(() => "green")];
    let chat;
    function Page() {
      chat = useChat({ threadId, connection, tools, persistence: true });
      const words = chat.messages.flatMap((message) => message.parts.map(({ content }) => content));
      return createElement("p", {}, words.at(-1));
    }
    const root = createRoot(document.body.appendChild(document.createElement("div")));
    root.render(createElement(Page));
    await until("page", () => chat);
    chat.sendMessage(script([call("wipe", { what: "disk" }), call("pick")], [tell("results")]));
    (await until("question", () => chat.interrupts[0])).resolveInterrupt(true);
    await until("answer", () => document.querySelector("p").textContent.startsWith("{"));
    assert.deepEqual(JSON.parse(document.querySelector("p").textContent), { wipe: "wiped disk", pick: "green" });
    root.unmount();
    window.close();
  },
  () => {},
);
