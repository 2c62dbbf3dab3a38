// Documents: their versions in a conversation, their growth, and what they may not reach.
import assert from "node:assert/strict";
import { test } from "node:test";

import { emptyConversation, loadFor, reduce } from "./agui/conversation/conversation.js";
import { GrowingText, addressOnSite, documentsOf, extensionOf, fenced, growingVersion, readVersion } from "./agui_documents/versions.js";

await loadFor({ type: "ACTIVITY_SNAPSHOT" });

const shown = (messageId, content) => ({
  type: "ACTIVITY_SNAPSHOT", messageId, activityType: "document", content: { id: "a", kind: "markdown", text: [messageId], ...content },
});
const begun = (toolCallId) => [{ type: "TOOL_CALL_START", toolCallId, toolCallName: "write" }, { type: "TOOL_CALL_END", toolCallId }];
const ended = (toolCallId) => ({ type: "TOOL_CALL_RESULT", messageId: `r-${toolCallId}`, toolCallId, content: "ok" });
const after = (...events) => events.flat(Infinity).reduce(reduce, emptyConversation());
const numbers = (conversation) => Object.fromEntries([...documentsOf(conversation.messages)].map(([id, all]) => [id, all.map((one) => one.messageId)]));

test("versions of a document are counted in their order, each document for itself", () => {
  const conversation = after(shown("1"), shown("2", { id: "b" }), shown("3", { title: "New" }), shown("4", { id: "__proto__" }));
  assert.deepEqual(numbers(conversation), JSON.parse('{"a": ["1", "3"], "b": ["2"], "__proto__": ["4"]}'));
  assert.equal(documentsOf(conversation.messages).get("a").at(-1).title, "New");
});

test("a version that is shown again stays one version", () => {
  assert.deepEqual(numbers(after(shown("1"), shown("2"), shown("1", { text: ["changed"] }))), { a: ["1", "2"] });
});

test("what is no document is none", () => {
  for (const content of [{ id: "" }, { id: 5 }, { kind: "video" }, { kind: "toString" }, null]) {
    const message = content && { ...shown("1", content), role: "activity" };
    assert.equal(readVersion(message ?? { role: "activity", activityType: "document", id: "1" }), null);
  }
  assert.equal(readVersion({ id: "1", role: "assistant", activityType: "document", content: { id: "a", kind: "code" } }), null);
  assert.equal(readVersion({ ...shown("1", { language: "a`\n# b", title: 5 }), role: "activity", id: "1" }).language, "");
});

test("the newest document grows while its tool is at work", () => {
  const at = (busy, ...events) => growingVersion({ busy, conversation: after(...events) })?.messageId;
  const two = [begun("c"), shown("1"), shown("2")];
  assert.equal(at(true, two), "2");
  assert.equal(at(false, two), undefined);
  assert.equal(at(true, two, ended("c")), undefined);
  assert.equal(at(true, two, ended("c"), begun("d")), "2");
  const asked = after(two);
  asked.messages = [...asked.messages, { id: "u", role: "user", content: "more" }];
  assert.equal(growingVersion({ busy: true, conversation: asked }), null);
});

test("a text grows by its new pieces, and begins again with another one", () => {
  const text = new GrowingText();
  assert.equal(text.join(["a"]), "a");
  assert.equal(text.join(["a", "b", 5, null]), "ab");
  assert.equal(text.join(["a", "b", 5, null, "c"]), "abc");
  assert.equal(text.join(["x", "y"]), "xy");
  assert.equal(text.join(["z"]), "z");
  for (const nothing of [undefined, [], "text", {}]) assert.equal(text.join(nothing), "");
  assert.equal(text.join(["b"]), "b");
});

test("each piece is read once", () => {
  let reads = 0;
  const pieces = [];
  const text = new GrowingText();
  for (let count = 0; count < 400; count += 1) {
    pieces.push("word ");
    const counted = new Proxy(pieces, { get: (target, key) => ((reads += Number(/^\d+$/.test(String(key)))), Reflect.get(target, key)) });
    text.join(counted);
  }
  assert.ok(reads < 5 * 400, String(reads));
});

test("code stays in its block", () => {
  assert.equal(fenced("a", "py"), "```py\na\n```");
  assert.equal(fenced("```\n# b\n`````", ""), "``````\n```\n# b\n`````\n``````");
});

test("a file has the end of its language", () => {
  const ends = [["markdown", "py"], ["table", ""], ["code", "Python"], ["code", "c++"], ["code", "toString"], ["code", ""]];
  assert.deepEqual(ends.map(([kind, language]) => extensionOf({ kind, language })), ["md", "csv", "py", "cpp", "txt", "txt"]);
});

test("only paths of the site are addresses", () => {
  const base = "https://shop.example/chat/";
  assert.equal(addressOnSite("/a/b?c=1", base).href, "https://shop.example/a/b?c=1");
  for (const path of ["//evil.example", "/\\evil.example", "/\t/evil.example", "https://shop.example/", "javascript:1", "data:,a", "a", ""]) {
    assert.equal(addressOnSite(path, base), null, path);
  }
});
