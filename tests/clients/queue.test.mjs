// Messages that a client sends while the agent works.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { approve, pause } from "./answers.mjs";
import { call, say, scenario, tell, wait } from "./harness.mjs";

const names = (events) => events.filter(({ type }) => type === "CUSTOM").map(({ name }) => name);
const users = (text) => JSON.parse(text).filter(([kind]) => kind === "user-prompt").map(([, content]) => content);
const texts = (messages) => messages.filter(({ role }) => role === "user").map(({ content }) => content);

/** Do something at the first words of a run, and let it go on then. */
function atFirst(talk, gate, act) {
  let done;
  talk.agent.subscribe({
    onTextMessageContentEvent: async () => {
      done ??= act().then(() => talk.post(`/gates/${gate}/`));
      await done;
    },
  });
}

scenario("a message that steers is read in the same run, before its next step", async (talk) => {
  const gate = randomUUID();
  const told = talk.listen();
  let answer;
  atFirst(talk, gate, async () => (answer = await talk.send("Only ten.", "steer")));
  const script = [[say("first "), wait(gate), call("echo", { text: "x" })], [tell("conversation")]];
  const { events, types, userId } = await talk.ask(script);
  assert.deepEqual([answer.state, answer.mode], ["waiting", "steer"]);
  assert.deepEqual(names(told), ["message_queued", "message_delivered"]);
  assert.equal(types.filter((type) => type === "RUN_STARTED").length, 1);
  const at = events.findIndex(({ name }) => name === "message_delivered");
  assert.equal(events[at].value.after, events.find(({ type }) => type === "TOOL_CALL_RESULT").messageId);
  assert.ok(types.indexOf("TOOL_CALL_RESULT") < at && at < types.lastIndexOf("TEXT_MESSAGE_START"));
  const [first, , , steered, last] = talk.messages;
  assert.deepEqual([first.id, steered.content], [userId, "Only ten."]);
  assert.deepEqual(users(last.content).slice(1), ["Only ten."]);
  assert.deepEqual((await talk.queue()).messages, []);
});

scenario("messages that are queued begin the next run together, which the client follows", async (talk) => {
  const gate = randomUUID();
  const told = talk.listen();
  const script = [[tell("conversation")]];
  atFirst(talk, gate, async () => {
    await talk.send("And then?");
    await talk.send(`script: ${JSON.stringify(script)}`);
    assert.deepEqual((await talk.queue()).messages.map(({ position }) => position), [0, 1]);
  });
  const { events } = await talk.ask([[say("first "), wait(gate), say("last")]]);
  assert.deepEqual(names(events), ["message_queued", "message_queued"]);
  const next = await talk.followNext(events[0].runId);
  assert.deepEqual(next.types.slice(0, 3), ["RUN_STARTED", "CUSTOM", "CUSTOM"]);
  assert.equal(next.types.at(-1), "RUN_FINISHED");
  assert.deepEqual(names(told).slice(2), ["message_delivered", "message_delivered"]);
  assert.deepEqual(next.newMessages.map(({ role }) => role), ["user", "user", "assistant"]);
  assert.equal(users(next.newMessages[2].content)[1], "And then?");
});

scenario("what was read is not read again when the client sends all that it knows", async (talk) => {
  const gate = randomUUID();
  talk.listen();
  atFirst(talk, gate, () => talk.send("Only ten.", "steer"));
  await talk.ask([[say("first "), wait(gate), call("echo", { text: "x" })], [say("Done.")]]);
  const { newMessages } = await talk.ask([[tell("conversation")]]);
  assert.deepEqual(texts(talk.sent.messages).slice(1, 2), ["Only ten."]);
  assert.equal(users(newMessages[0].content).filter((text) => text === "Only ten.").length, 1);
});

scenario("a client that does not know such messages loses none, and doubles none", async (talk) => {
  const gate = randomUUID();
  atFirst(talk, gate, () => talk.send("Only ten.", "steer"));
  await talk.ask([[say("first "), wait(gate), call("echo", { text: "x" })], [say("Done.")]]);
  assert.equal(texts(talk.messages).length, 1);
  const { newMessages } = await talk.ask([[tell("conversation")]]);
  assert.equal(users(newMessages[0].content).filter((text) => text === "Only ten.").length, 1);
  assert.equal(texts((await talk.thread()).messages)[1], "Only ten.");
}, { compare: false });

scenario("what waits is changed and taken back, and each reader is told", async (talk) => {
  const gate = randomUUID();
  const told = talk.listen();
  const script = [[say("Well.")]];
  const message = { id: randomUUID(), role: "user", content: `script: ${JSON.stringify(script)}` };
  let answer;
  atFirst(talk, gate, async () => {
    const { message_id: one } = await talk.send("One");
    const { message_id: two } = await talk.send("Two");
    await talk.queue("PATCH", { message_id: two, message: { ...message, id: two }, position: 0 });
    await talk.takeBack(one);
    answer = { one, two };
  });
  const { events } = await talk.ask([[say("first "), wait(gate), say("last")]]);
  await talk.followNext(events[0].runId);
  const [, , changed, removed, delivered] = told;
  assert.deepEqual([changed.name, changed.value.messageId, changed.value.position], ["message_changed", answer.two, 0]);
  assert.deepEqual(removed.value, { messageId: answer.one });
  assert.deepEqual([delivered.value.message.id, delivered.value.message.content], [answer.two, message.content]);
});

scenario("a message waits while the thread waits for an answer, and is read after it", async (talk) => {
  talk.listen();
  const script = `script: ${JSON.stringify([[say("Well.")]])}`;
  const { interrupts } = await pause(talk, [[call("wipe", { what: "a" })], [say("Done.")]]);
  assert.equal((await talk.send(script)).held, "paused");
  const { events } = await talk.resume(approve(interrupts[0]));
  assert.deepEqual(names(events), []);
  const { newMessages } = await talk.followNext(events[0].runId);
  assert.deepEqual(newMessages.map(({ content }) => content), [script, "Well."]);
  assert.deepEqual(await talk.effects(), ["wiped a"]);
});

scenario("a message for another run is refused, and one that is sent twice is read once", async (talk) => {
  const gate = randomUUID();
  talk.listen();
  const message = { id: randomUUID(), role: "user", content: "Only ten." };
  atFirst(talk, gate, async () => {
    const refused = await talk.queue("POST", { message, mode: "steer", expected_run: "another" }, 409);
    assert.equal(refused.error, "run_changed");
    await Promise.all([1, 2].map(() => talk.queue("POST", { message, mode: "steer" }, 202)));
  });
  await talk.ask([[say("first "), wait(gate), call("echo", { text: "x" })], [say("Done.")]]);
  assert.equal((await talk.queue("POST", { message, mode: "steer" }, 202)).state, "read");
  assert.equal(texts(talk.messages).length, 2);
});

scenario("a run that is cancelled leaves what waits, until the user sends it", async (talk) => {
  talk.listen();
  const script = `script: ${JSON.stringify([[say("Well.")]])}`;
  talk.agent.subscribe({
    onTextMessageContentEvent: async ({ event }) => {
      if (event.delta !== "Half") return;
      await talk.send(script);
      await talk.post(`/agent/threads/${talk.threadId}/cancel/`, 202);
    },
  });
  const { events } = await talk.ask([[say("Half"), wait(randomUUID())]]);
  let stand;
  do stand = await talk.queue();
  while (stand.run);
  assert.deepEqual([stand.held, stand.messages.length], ["cancelled", 1]);
  assert.equal((await talk.queue("POST", {}, 202)).refusal, null);
  const { newMessages } = await talk.followNext(events[0].runId);
  assert.deepEqual(newMessages.map(({ content }) => content), [script, "Well."]);
});
