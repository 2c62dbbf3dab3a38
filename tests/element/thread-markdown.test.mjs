// A conversation as a Markdown file: what nobody may smuggle into its text or its name.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fileName, quote, toMarkdown } from "./agui/messages/thread-markdown.js";
import { growsTooFast, units } from "./growth.mjs";

const WORDS = { you: "You", title: "Assistant", lang: "en" };
const ask = (content, more = {}) => ({ id: "u", role: "user", content, ...more });
const answer = (content, more = {}) => ({ id: "a", role: "assistant", content, ...more });
const written = (...messages) => toMarkdown({ title: "Plans", messages }, WORDS);

test("user and agent take turns", () => {
  assert.equal(
    written(ask("Hello"), answer("Hi **you**."), answer("And?"), ask("Bye\n\nnow")),
    "# Plans\n\n## You\n\n> Hello\n\n## Assistant\n\nHi **you**.\n\nAnd?\n\n## You\n\n> Bye\n>\n> now\n",
  );
});

test("tools are named, and their results and thoughts are left out", () => {
  const toolCalls = [{ id: "c", function: { name: "add_task", arguments: "{}" } }];
  const result = { id: "t", role: "tool", toolCallId: "c", content: "secret" };
  const thought = { id: "r", role: "reasoning", content: "hm" };
  assert.equal(written(thought, answer("", { toolCalls }), result), "# Plans\n\n## Assistant\n\n*add\\_task*\n");
});

test("sources of an answer follow it", () => {
  const sources = [{ number: 1, title: "A\n# b", url: "https://example.com/" }, { number: 3, title: "[C](x)" }];
  assert.match(
    written(answer("So [1].", { metadata: { sources } })),
    /So \[1\]\.\n\n1\. A \\# b https:\/\/example\.com\/\n3\. \\\[C\\\]\(x\)\n$/,
  );
  for (const odd of ["x", { number: 1 }, [null]]) {
    assert.match(written(answer("So.", { metadata: { sources: odd } })), /So\.\n$/);
  }
});

test("files of a message are named", () => {
  const metadata = { attachments: [{ id: "1", name: "a_b.txt" }] };
  const content = [{ type: "text", text: "Read it" }, { type: "document" }];
  assert.match(written(ask(content, { metadata })), /> Read it\n>\n> \*a\\_b\.txt\*\n/);
});

test("a message of the user can't be taken for an answer", () => {
  assert.doesNotMatch(written(ask("x\r\n## Assistant\r\rI agree.\n```")), /^(##? Assistant|```)/m);
});

test("a title is one line without Markdown", () => {
  const [line, next] = toMarkdown({ title: "a\n# b [x](http://e) <img> `c`", messages: [] }, WORDS).split("\n");
  assert.equal(line, "# a \\# b \\[x\\](http://e) \\<img\\> \\`c\\`");
  assert.equal(next, "");
});

for (const [open, closed] of [
  ["```js\nx", "```js\nx\n```"],
  ["~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"],
  ["```\nx\n```", "```\nx\n```"],
  ["```\n``` js\n", "```\n``` js\n```"],
]) {
  test(`code that is open at the end is closed: ${JSON.stringify(open)}`, () => {
    assert.ok(written(answer(open), ask("next")).includes(`${closed}\n\n## You`));
  });
}

for (const [title, name] of [
  ["Plans for May", "Plans for May.md"],
  ["../../etc/passwd", "etc passwd.md"],
  ["a\u0000b\nc\\d:e|f?g*h\"<i>", "ab c d e f g h i.md"],
  ["report\u202egpj.exe", "reportgpj.exe.md"],
  ["CON", "_CON.md"],
  ["nul.txt", "_nul.txt.md"],
  [" .hidden. ", "hidden.md"],
  ["", "conversation.md"],
  ["\u200b...", "conversation.md"],
  ["Übersicht – 日本語", "Übersicht – 日本語.md"],
  ["x".repeat(300), `${"x".repeat(80)}.md`],
  ["😀".repeat(100), `${"😀".repeat(80)}.md`],
]) {
  test(`the file of ${JSON.stringify(title).slice(0, 30)}`, () => assert.equal(fileName(title), name));
}

test("a quotation has no white space at its ends, and nothing is none", () => {
  assert.equal(quote("  a\n\nb \n"), "> a\n>\n> b");
  assert.equal(quote(" \n"), "");
});

test("whatever is repeated is written in time", () => {
  const pieces = [..."`~ \n\r.x>#*[", "```", "~~~"];
  const all = [1, 2, 3].flatMap((length) => [...units(pieces, length)]).map((unit) => unit.join(""));
  const writing = (unit) => (size) => {
    const text = unit.repeat(size / unit.length);
    return () => written(ask(text), answer(text)) + fileName(text);
  };
  assert.deepEqual(all.filter((unit) => growsTooFast(writing(unit), 3000, 0.25)), []);
});
