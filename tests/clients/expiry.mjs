// Against a server whose questions expire at once.
import assert from "node:assert/strict";

import { approve, cancel, pause, refused } from "./answers.mjs";
import { call, say, scenario } from "./harness.mjs";

scenario("a question that has expired can only be cancelled", async (talk) => {
  const { interrupts } = await pause(talk, [[call("wipe", { what: "disk" })], [say("So be it.")]]);
  assert.ok(Date.parse(interrupts[0].expiresAt) < Date.now());
  await assert.rejects(talk.resume(approve(interrupts[0])), /expired/, "the client knows");
  await refused(talk.elsewhere().resume(approve(interrupts[0])), "interrupt_expired");
  const { outcome } = await talk.elsewhere().resume(cancel(interrupts[0]));
  assert.equal(outcome, "success");
  assert.deepEqual(await talk.effects(), []);
}, { compare: false });
