import assert from "node:assert/strict";

import { call, say, scenario } from "./harness.mjs";

const results = (messages) => messages.filter(({ role }) => role === "tool").map(({ content }) => content);

scenario("what tools change reaches the client's state", async (talk) => {
  const script = [
    [call("title", { text: "Groceries" })],
    [call("pin", { text: "Milk" }), call("pin", { text: "Eggs" })],
    [say("Done.")],
  ];
  const { types } = await talk.ask(script);
  const changes = types.filter((type) => type.startsWith("STATE_"));
  assert.deepEqual([changes[0], changes[1]], ["STATE_SNAPSHOT", "STATE_DELTA"]);
  assert.equal(talk.agent.state.title, "Groceries");
  assert.deepEqual([...talk.agent.state.items].sort(), ["Eggs", "Milk"]);
  assert.deepEqual((await talk.thread()).state, talk.agent.state);
});

scenario("the client's state reaches the tools, and comes back changed", async (talk) => {
  talk.agent.setState({ title: "Mine", items: ["a"] });
  const { newMessages } = await talk.ask([[call("inspect")], [call("pin", { text: "b" })], [say("Done.")]]);
  assert.deepEqual(JSON.parse(results(newMessages)[0]).state, { title: "Mine", items: ["a"] });
  assert.deepEqual(talk.agent.state, { title: "Mine", items: ["a", "b"] });
});

scenario("a client that knows nothing is told the state before anything else", async (talk) => {
  await talk.ask([[call("pin", { text: "a" })], [say("Done.")]]);
  const other = talk.elsewhere();
  const { types } = await other.ask([[say("Hello.")]]);
  assert.deepEqual(types.slice(0, 2), ["RUN_STARTED", "STATE_SNAPSHOT"]);
  assert.deepEqual(other.agent.state, { title: "", items: ["a"] });
}, { compare: false });

scenario("the state is kept with the thread", async (talk) => {
  await talk.ask([[call("pin", { text: "a" })], [say("Done.")]]);
  const other = talk.elsewhere();
  const { newMessages } = await other.ask([[call("inspect")], [call("pin", { text: "b" })], [say("Done.")]]);
  assert.deepEqual(JSON.parse(results(newMessages)[0]).state.items, ["a"]);
  assert.deepEqual(other.agent.state.items, ["a", "b"]);
  assert.deepEqual((await talk.thread()).state, other.agent.state);
}, { compare: false });

scenario("a run that changes nothing leaves the client's state alone", async (talk) => {
  talk.agent.setState({ title: "Mine", items: ["a"] });
  const { types } = await talk.ask([[call("echo", { text: "a" })], [say("Done.")]]);
  assert.ok(!types.some((type) => type.startsWith("STATE_")));
  assert.deepEqual(talk.agent.state, { title: "Mine", items: ["a"] });
});
