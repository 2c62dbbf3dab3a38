import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { call, declares, say, scenario, tell } from "./harness.mjs";

const results = (messages) => messages.filter(({ role }) => role === "tool").map(({ content }) => content);
const calls = (messages) => messages.flatMap(({ toolCalls = [] }) => toolCalls);
const count = (types, type) => types.filter((one) => one === type).length;

const color = { name: "color", description: "Choose a color", parameters: { type: "object", properties: {} } };
const size = { name: "size", description: "Choose a size", parameters: { type: "object", properties: {} } };

scenario("a server tool is called, and its result is shown", async (talk) => {
  const { newMessages, types } = await talk.ask([[call("echo", { text: "hi there" }, 4)], [say("Done.")]]);
  const [{ id, function: { name, arguments: args } }] = calls(newMessages);
  assert.deepEqual([name, JSON.parse(args)], ["echo", { text: "hi there" }]);
  assert.deepEqual(newMessages.map(({ role }) => role), ["assistant", "tool", "assistant"]);
  assert.deepEqual([newMessages[1].toolCallId, newMessages[1].content], [id, "hi there"]);
  assert.equal(newMessages[2].content, "Done.");
  assert.ok(count(types, "TOOL_CALL_ARGS") > 1, "arguments stream");
});

scenario("several server tools in one response", async (talk) => {
  const three = [call("echo", { text: "a" }), call("record", { what: "b" }), call("echo", { text: "c" })];
  const { newMessages } = await talk.ask([three, [say("Done.")]]);
  const answered = newMessages.filter(({ role }) => role === "tool");
  const byCall = Object.fromEntries(answered.map(({ toolCallId, content }) => [toolCallId, content]));
  assert.deepEqual(calls(newMessages).map(({ id }) => byCall[id]), ["a", "recorded b", "c"]);
  assert.deepEqual(await talk.effects(), ["b"]);
});

scenario("text and a tool call in one response", async (talk) => {
  const { newMessages } = await talk.ask([[say("Let me look."), call("echo", { text: "a" })], [say("Done.")]]);
  assert.deepEqual(newMessages.map(({ role }) => role), ["assistant", "tool", "assistant"]);
  assert.deepEqual([newMessages[0].content, newMessages[0].toolCalls.length], ["Let me look.", 1]);
});

scenario("tool after tool, each with the result of the one before", async (talk) => {
  const script = [[call("record", { what: "a" })], [call("record", { what: "b" })], [tell("results")]];
  const { newMessages } = await talk.ask(script);
  assert.deepEqual(JSON.parse(newMessages.at(-1).content), { record: "recorded b" });
  assert.deepEqual(await talk.effects(), ["a", "b"]);
});

scenario("a tool that fails does not end the run, and tells no secrets", async (talk) => {
  const { newMessages, outcome } = await talk.ask([[call("broken"), call("echo", { text: "a" })], [say("Sorry.")]]);
  // Both tools run at once: the results come in the order in which the tools end.
  assert.deepEqual(results(newMessages).sort(), ["The tool failed. The failure was logged.", "a"]);
  assert.deepEqual([newMessages.at(-1).content, outcome], ["Sorry.", "success"]);
});

scenario("a call that does not fit the tool is tried again by the model", async (talk) => {
  const script = [[call("record", { wrong: 1 })], [call("record", { what: "a" })], [say("Done.")]];
  const { newMessages } = await talk.ask(script);
  assert.equal(newMessages.at(-1).content, "Done.");
  assert.deepEqual(await talk.effects(), ["a"]);
});

// --- Tools of the client

/** Answer the client's calls, as a page would. */
function answer(talk, answers) {
  for (const [toolCallId, content] of Object.entries(answers)) {
    talk.agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content });
  }
}

scenario("a frontend tool is left to the client, and its result goes on", async (talk) => {
  const { newMessages, events, types, outcome } = await talk.ask([[call("color")], [tell("results")]], {
    tools: [color],
  });
  const [{ id }] = calls(newMessages);
  assert.equal(outcome, "success");
  assert.deepEqual(events.at(-1).outcome?.pendingToolCallIds, declares ? [id] : undefined);
  assert.equal(count(types, "TOOL_CALL_RESULT"), 0);
  await talk.compare();
  answer(talk, { [id]: "green" });
  const next = await talk.run({ tools: [color] });
  assert.deepEqual(JSON.parse(next.newMessages.at(-1).content), { color: "green" });
  assert.equal(count(next.types, "TOOL_CALL_START"), 0);
});

scenario("several frontend tools in one response", async (talk) => {
  const tools = [color, size];
  const { newMessages } = await talk.ask([[call("color"), call("size")], [tell("results")]], { tools });
  const [first, second] = calls(newMessages).map(({ id }) => id);
  answer(talk, { [first]: "green", [second]: "large" });
  const next = await talk.run({ tools });
  assert.deepEqual(JSON.parse(next.newMessages.at(-1).content), { color: "green", size: "large" });
});

scenario("a frontend tool beside a server tool, which runs once", async (talk) => {
  const tools = [color];
  const script = [[call("record", { what: "a" }), call("color")], [call("record", { what: "b" })], [say("Done.")]];
  const { newMessages } = await talk.ask(script, { tools });
  assert.deepEqual(results(newMessages), ["recorded a"]);
  assert.deepEqual(await talk.effects(), ["a"]);
  answer(talk, { [calls(newMessages).find((one) => one.function.name === "color").id]: "green" });
  const next = await talk.run({ tools });
  assert.deepEqual(results(next.newMessages), ["recorded b"]);
  assert.equal(next.newMessages.at(-1).content, "Done.");
  assert.deepEqual(await talk.effects(), ["a", "b"]);
});

scenario("a frontend tool is called again and again", async (talk) => {
  const tools = [color];
  let last = await talk.ask([[call("color")], [call("color")], [tell("results")]], { tools });
  for (const choice of ["green", "blue"]) {
    answer(talk, { [calls(last.newMessages)[0].id]: choice });
    last = await talk.run({ tools });
  }
  assert.deepEqual(JSON.parse(last.newMessages.at(-1).content), { color: "blue" });
});

scenario("a frontend tool that nobody answered does not hold up the conversation", async (talk) => {
  await talk.ask([[call("color")]], { tools: [color] });
  const { newMessages } = await talk.ask([[call("record", { what: "a" })], [say("Never mind.")]], { tools: [color] });
  assert.equal(newMessages.at(-1).content, "Never mind.");
  assert.deepEqual(await talk.effects(), ["a"]);
});

scenario("a result for a call that nobody made is not believed", async (talk) => {
  await talk.ask([[say("Hello.")]]);
  const liar = talk.elsewhere();
  answer(liar, { [randomUUID()]: "root" });
  const { newMessages } = await liar.ask([[tell("conversation")]]);
  assert.doesNotMatch(newMessages.at(-1).content, /root/);
}, { compare: false });

scenario("a client's tool with the name of a server's is refused before anything runs", async (talk) => {
  const { error } = await talk.ask([[call("record", { what: "a" })], [say("Done.")]], {
    tools: [{ ...color, name: "record" }],
  });
  assert.equal(error.code, "tool_name_conflict");
  assert.deepEqual(await talk.effects(), []);
}, { compare: false });
