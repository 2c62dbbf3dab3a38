import assert from "node:assert/strict";

import { approve, cancel, pause, refused, resolved } from "./answers.mjs";
import { call, say, scenario, tell } from "./harness.mjs";

const SCHEDULE = [[call("schedule", { what: "dinner" })], [tell("results")]];

scenario("a tool asks a question, whose answer is its result", async (talk) => {
  const { newMessages, interrupts } = await pause(talk, SCHEDULE);
  const [{ id, expiresAt, responseSchema, metadata, ...interrupt }] = interrupts;
  const toolCallId = newMessages.at(-1).toolCalls[0].id;
  assert.deepEqual(interrupt, { reason: "input_required", toolCallId, message: "Which day suits you for dinner?" });
  assert.deepEqual(responseSchema.properties.day.enum, ["Monday", "Friday"]);
  assert.deepEqual(responseSchema.required, ["day", "guests"]);
  assert.equal(metadata.toolName, "schedule");
  const answer = { day: "Friday", guests: 4 };
  const { types, events, newMessages: added } = await talk.resume(resolved(interrupts[0], answer));
  const result = events.find(({ type }) => type === "TOOL_CALL_RESULT");
  assert.deepEqual([result.toolCallId, JSON.parse(result.content)], [toolCallId, answer]);
  assert.ok(!types.includes("TOOL_CALL_START"));
  assert.deepEqual(JSON.parse(JSON.parse(added.at(-1).content).schedule), answer);
});

scenario("a question can be declined", async (talk) => {
  const { interrupts } = await pause(talk, SCHEDULE);
  const { newMessages, outcome } = await talk.resume(cancel(interrupts[0]));
  assert.deepEqual(JSON.parse(newMessages.at(-1).content), { schedule: "The user declined to answer." });
  assert.equal(outcome, "success");
});

scenario("an answer that does not fit the question's schema is refused, and can be given again", async (talk) => {
  const { interrupts } = await pause(talk, SCHEDULE);
  const wrong = [{ day: "Sunday", guests: 4 }, { day: "Friday", guests: 0 }, { day: "Friday" }, "Friday", undefined];
  for (const payload of wrong) {
    await refused(talk.elsewhere().resume(resolved(interrupts[0], payload)), "invalid_resume");
  }
  const { outcome } = await talk.resume(resolved(interrupts[0], { day: "Monday", guests: 1 }));
  assert.equal(outcome, "success");
});

scenario("a question without a schema takes any answer", async (talk) => {
  const { interrupts } = await pause(talk, [[call("wonder")], [tell("results")]]);
  assert.ok(!("responseSchema" in interrupts[0]));
  const { newMessages } = await talk.resume(resolved(interrupts[0], ["a", { b: 1 }]));
  assert.deepEqual(JSON.parse(JSON.parse(newMessages.at(-1).content).wonder), ["a", { b: 1 }]);
});

scenario("one resume answers a question and an approval", async (talk) => {
  const script = [[call("wipe", { what: "disk" }), call("schedule", { what: "dinner" })], [say("Done.")]];
  const { interrupts } = await pause(talk, script);
  const by = Object.fromEntries(interrupts.map((one) => [one.reason, one]));
  const answer = resolved(by.input_required, { day: "Monday", guests: 2 });
  await refused(talk.elsewhere().resume(answer), "interrupt_pending");
  assert.deepEqual(await talk.effects(), []);
  const { newMessages } = await talk.resume(answer, approve(by.tool_call));
  assert.equal(newMessages.filter(({ role }) => role === "tool").length, 2);
  assert.deepEqual(await talk.effects(), ["wiped disk"]);
});

scenario("a question beside a frontend tool", async (talk) => {
  const tools = [{ name: "color", description: "Choose a color", parameters: { type: "object", properties: {} } }];
  const { interrupts, newMessages } = await talk.ask(
    [[call("color"), call("schedule", { what: "dinner" })], [tell("results")]],
    { tools },
  );
  const { id } = newMessages.at(-1).toolCalls.find((one) => one.function.name === "color");
  assert.equal(interrupts.length, 1);
  talk.agent.addMessage({ id: `result-${id}`, role: "tool", toolCallId: id, content: "green" });
  const answer = { day: "Monday", guests: 2 };
  const done = await talk.run({ tools, resume: [resolved(interrupts[0], answer)] });
  const { color, schedule } = JSON.parse(done.newMessages.at(-1).content);
  assert.deepEqual([color, JSON.parse(schedule)], ["green", answer]);
});
