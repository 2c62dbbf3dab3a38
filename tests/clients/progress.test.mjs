import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { call, fail, say, scenario } from "./harness.mjs";

/** Let a tool work until something of it has been seen, then let it go on. */
async function research(talk, seen) {
  const gate = randomUUID();
  talk.agent.subscribe({
    onEvent: async ({ event }) => {
      if (event.type.startsWith(seen)) await talk.post(`/gates/${gate}/`);
    },
  });
  return talk.ask([[call("research", { topic: "Tea", gate })], [say("Done.")]]);
}

scenario("steps are shown while a tool works", async (talk) => {
  const { events, types } = await research(talk, "STEP_");
  const steps = events.filter(({ type }) => type.startsWith("STEP_")).map(({ type, stepName }) => [type, stepName]);
  assert.deepEqual(steps, [
    ["STEP_STARTED", "Search"],
    ["STEP_FINISHED", "Search"],
    ["STEP_STARTED", "Write"],
    ["STEP_FINISHED", "Write"],
  ]);
  assert.ok(types.indexOf("STEP_STARTED") < types.indexOf("TOOL_CALL_RESULT"));
});

scenario("a tool's own events arrive", async (talk) => {
  const { events } = await research(talk, "CUSTOM");
  const { name, value } = events.find(({ type }) => type === "CUSTOM");
  assert.deepEqual([name, value.count], ["found", 2]);
});

scenario("an activity is shown, and changes", async (talk) => {
  const { types } = await research(talk, "ACTIVITY_");
  assert.deepEqual(
    types.filter((type) => type.startsWith("ACTIVITY_")),
    ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "ACTIVITY_DELTA"],
  );
  const activities = talk.messages.filter(({ role }) => role === "activity");
  assert.deepEqual(activities.map(({ activityType, content }) => [activityType, content]), [
    ["plan", { topic: "Tea", done: ["Search", "Write"] }],
  ]);
  // The client has it, so has the thread, and the next run does not mind.
  await talk.compare();
  const { outcome } = await talk.ask([[say("Anything else?")]]);
  assert.equal(outcome, "success");
});

scenario("images that tools make are shown together, without their bytes", async (talk) => {
  const calls = [call("draw", { prompt: "A fox" }), call("draw", { prompt: "A hen" })];
  const { events, outcome } = await talk.ask([calls, [say("Here.")]]);
  assert.equal(outcome, "success");
  const shown = talk.messages.filter(({ role }) => role === "activity");
  assert.deepEqual(shown.map(({ activityType }) => activityType), ["images"]);
  assert.deepEqual(shown[0].content.images.map(({ alt, width, height }) => [alt, width, height]), [
    ["A fox", 1, 1],
    ["A hen", 1, 1],
  ]);
  assert.ok(!JSON.stringify(events).includes("iVBORw0KGgo"));
  const [{ url }] = shown[0].content.images;
  await talk.file(`/agent/${url}`, "image/png");
  await talk.ask([[say("Anything else?")]]);
});

scenario("what was shown in a run that failed stays where it was", async (talk) => {
  const gate = randomUUID();
  await talk.post(`/gates/${gate}/`);
  const { types } = await talk.ask([[say("Wait."), call("research", { topic: "Tea", gate })], [fail()]]);
  assert.equal(types.at(-1), "RUN_ERROR");
  assert.deepEqual(
    (await talk.thread()).messages.map(({ role }) => role),
    ["user", "assistant", "tool", "activity"],
  );
});

scenario("the state changes while a tool works", async (talk) => {
  const seen = [];
  talk.agent.subscribe({ onStateChanged: ({ state }) => void seen.push(state.title) });
  const { types } = await research(talk, "STATE_");
  assert.equal(seen[0], "Tea");
  assert.deepEqual(talk.agent.state, { title: "Tea", items: ["draft"] });
  assert.ok(types.indexOf("STATE_DELTA") < types.indexOf("TOOL_CALL_RESULT"));
});
