// How a client answers what a thread waits for.
import assert from "node:assert/strict";

export const resolved = ({ id }, payload) => ({ interruptId: id, status: "resolved", payload });
export const approve = (interrupt, more = {}) => resolved(interrupt, { approved: true, ...more });
export const deny = (interrupt, reason) => resolved(interrupt, { approved: false, ...(reason && { reason }) });
export const cancel = ({ id }) => ({ interruptId: id, status: "cancelled" });

/** Play a script that pauses; what came, with the interrupts. */
export async function pause(talk, script) {
  const paused = await talk.ask(script);
  assert.equal(paused.outcome, "interrupt");
  assert.deepEqual(talk.agent.pendingInterrupts, paused.interrupts);
  assert.deepEqual((await talk.thread()).pending, paused.interrupts);
  return paused;
}

/** The run was refused, and nothing else was said. */
export async function refused(promise, code) {
  const { error, types } = await promise;
  assert.deepEqual([error?.code, types], [code, ["RUN_STARTED", "RUN_ERROR"]]);
}
