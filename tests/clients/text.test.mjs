import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { fail, say, scenario, tell, think, wait } from "./harness.mjs";

const deltas = (events, kind) => events.filter(({ type }) => type === `${kind}_CONTENT`).map(({ delta }) => delta);

scenario("text is streamed", async (talk) => {
  const { events, newMessages, outcome } = await talk.ask([[say("Hello, world.", 3)]]);
  assert.equal(deltas(events, "TEXT_MESSAGE").join(""), "Hello, world.");
  assert.deepEqual(newMessages.map(({ role, content }) => [role, content]), [["assistant", "Hello, world."]]);
  assert.equal(outcome, "success");
});

scenario("text arrives while the model is still speaking", async (talk) => {
  const gate = randomUUID();
  let early;
  talk.agent.subscribe({
    onTextMessageContentEvent: async ({ event }) => {
      early ??= event.delta;
      await talk.post(`/gates/${gate}/`);
    },
  });
  const { newMessages } = await talk.ask([[say("first "), wait(gate), say("last")]]);
  assert.equal(early, "first ");
  assert.equal(newMessages[0].content, "first last");
});

scenario("text that looks like the framing stays text", async (talk) => {
  const text = 'a\n\ndata: {"type": "RUN_ERROR"}\r\n\r\nid: 7\n: ping \u2028 \u0000 \u{1F600} é';
  const { newMessages } = await talk.ask([[say(text, 20)]]);
  assert.equal(newMessages[0].content, text);
});

scenario("reasoning has ids of its own", async (talk) => {
  const { events, newMessages } = await talk.ask([[think("Let me see.", 3), say("Hello.", 2)]]);
  assert.equal(deltas(events, "REASONING_MESSAGE").join(""), "Let me see.");
  assert.deepEqual(newMessages.map(({ role, content }) => [role, content]), [
    ["reasoning", "Let me see."],
    ["assistant", "Hello."],
  ]);
  assert.notEqual(newMessages[0].id, newMessages[1].id);
});

scenario("a conversation goes on with the client's whole history", async (talk) => {
  await talk.ask([[think("Hm."), say("One.")]]);
  await talk.ask([[say("Two.")]]);
  const { newMessages } = await talk.ask([[tell("conversation")]]);
  const seen = JSON.parse(newMessages[0].content).map(([kind]) => kind);
  assert.deepEqual(seen, ["user-prompt", "thinking", "text", "user-prompt", "text", "user-prompt"]);
});

scenario("a run tells what it used", async (talk) => {
  const { events } = await talk.ask([[say("Hello.")]]);
  const [usage] = events.at(-1).usage;
  assert.deepEqual([usage.inputTokens, usage.outputTokens], [10, 5]);
});

for (const [when, script, kept] of [
  ["before the first word", [[fail()]], []],
  ["in the middle of a word", [[say("Half a "), fail()]], ["Half a "]],
]) {
  scenario(`a model that fails ${when} is an error without secrets`, async (talk) => {
    const { error, types } = await talk.ask(script);
    assert.equal(error.code, "internal_error");
    assert.ok(error.message.length > 10 && !/hunter2|postgres|RuntimeError/.test(JSON.stringify(error)));
    assert.equal(types.at(-1), "RUN_ERROR");
    assert.deepEqual(talk.messages.filter(({ role }) => role === "assistant").map(({ content }) => content), kept);
    const { newMessages } = await talk.ask([[say("Better now.")]]);
    assert.equal(newMessages.at(-1).content, "Better now.");
  });
}

scenario("an image reaches the model", async (talk) => {
  const id = randomUUID();
  const text = `script: ${JSON.stringify([[tell("conversation")]])}`;
  const image = { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } };
  talk.agent.addMessage({ id, role: "user", content: [{ type: "text", text }, image] });
  const { newMessages } = await talk.run();
  assert.match(newMessages[0].content, /BinaryContent.*image\/png/);
});
