import assert from "node:assert/strict";
import { test } from "node:test";

import { Tabs } from "./agui/session/tabs.js";

/** A tab, what it has heard, and a promise for when it has heard so much. */
function tab(user) {
  const tabs = new Tabs();
  const heard = [];
  let arrived = () => {};
  const until = (count) => new Promise((done) => (arrived = () => heard.length >= count && done(heard), arrived()));
  tabs.open("/agent/", user, ({ kind }) => (heard.push(kind), arrived()));
  return { tabs, heard, until };
}

test("tabs of one user hear each other, and of others only that somebody else is there", async (t) => {
  const [first, second] = [tab("anna"), tab("anna")];
  t.after(() => [first, second, other].forEach(({ tabs }) => tabs.close()));
  second.tabs.tell({ kind: "changed", threadId: "t" });
  assert.deepEqual(await first.until(2), ["here", "changed"]);
  const other = tab("bert");
  assert.deepEqual(await first.until(3), ["here", "changed", "signed-out"]);
  assert.deepEqual(await second.until(1), ["signed-out"]);
  first.tabs.tell({ kind: "signed-out" });
  assert.deepEqual(await second.until(2), ["signed-out", "signed-out"]);
  assert.deepEqual(other.heard, []);
});
