// What models write beside CommonMark: notes, formulas in environments, lists in cells, and answers that end too early.
import assert from "node:assert/strict";
import { test } from "node:test";

import { phrasesOf } from "./agui/page/speech-text.js";
import { fileName } from "./agui/messages/thread-markdown.js";
import { read, shown } from "./html.mjs";

for (const [markdown, html] of [
  ["It rains[^1].\n\n[^1]: Says the radio.", "<p>It rains<sup>1</sup>.</p><p><sup>1</sup> Says the radio.</p>"],
  ["A[^a] b[^2].\n\n[^a]: One\n[^2]: Two **x**\nmore", "<p>A<sup>a</sup> b<sup>2</sup>.</p><p><sup>a</sup> One</p><p><sup>2</sup> Two <strong>x</strong>\nmore</p>"],
  ["> Q[^q]\n>\n> [^q]: N", "<blockquote><p>Q<sup>q</sup></p><p><sup>q</sup> N</p></blockquote>"],
  ["One[^1]\n[^1]: **First**\n    goes on\n\n    and on\n[^Zwei]: Second\n---\nx[^zwei]: y", "<p>One<sup>1</sup></p><p><sup>1</sup> <strong>First</strong>\ngoes on</p><p>and on</p><p><sup>Zwei</sup> Second</p><hr><p>x<sup>zwei</sup>: y</p>"],
  ["a[^1] [b][^1]\n\n[^1]: https://e.org", '<p>a<sup>1</sup> [b]<sup>1</sup></p><p><sup>1</sup> <a href="https://e.org">https://e.org</a></p>'],
  ["a[^n]\n\n[^n]: - b\n    - c", "<p>a<sup>n</sup></p><p><sup>n</sup></p><ul><li>b</li><li>c</li></ul>"],
  ["No digit: [^0-9] and [^1].", "<p>No digit: [^0-9] and [^1].</p>"],
  ["| a |\n|-|\n| <ul><li>Tea</li><li>Bread</li></ul> |", "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td><ul><li>Tea</li><li>Bread</li></ul></td></tr></tbody></table>"],
  ["<ol><li>a<li>b</ol>", "<ol><li>a</li><li>b</li></ol>"],
  ['<ul onclick="x">', "<p>&lt;ul onclick=&quot;x&quot;&gt;</p>"],
]) {
  test(`${JSON.stringify(markdown)} is read as it is meant`, () => assert.equal(shown(markdown).replace(/^&lt;.*/, (text) => `<p>${text}</p>`), html));
}

test("nothing is loaded for a text without a sign of these", async () => {
  const early = await import("./agui/markdown/nodes.js?early");
  const lacks = (text) => early.read(text, false, new Map(), { copy: "" }).lacks !== null;
  for (const text of ["**A** *b* [c](d) `e`", "“It’s” – fine… 👩‍👧 ✅ é ß я ע", "- [x] a\n\n| a |\n|-|", "https://example.com/ü", "a\\*b [x]: y"]) assert.ok(!lacks(text), text);
  for (const text of ["$x$", "\\(x\\)", "\\[x\\]", "\\begin{align}", "a[^1]", "字", "。", "ア", "ｱ", "가", "ㄅ", "𠮷", "！"]) assert.ok(lacks(text), text);
  const text = "**重要。**今日";
  const html = (module) => JSON.stringify(module.read(text, false, new Map(), { copy: "" }).nodes);
  assert.ok(html(early).includes("**"));
  assert.ok((await early.read(text, false, new Map(), { copy: "" }).lacks()).every(Boolean));
  assert.ok(!html(early).includes("**"));
});

const formulas = (markdown) => {
  const found = [];
  const collect = (node) => typeof node !== "string" && (String(node[1].class).includes("math") ? found.push(node[2][0]) : node[2].forEach(collect));
  read(markdown, false, new Map(), { copy: "" }).nodes.forEach(collect);
  return found;
};

test("an environment is a formula, on one line or several", () => {
  assert.deepEqual(formulas("So:\n\n\\begin{equation}x=1\\end{equation}"), ["x=1"]);
  assert.deepEqual(formulas("\\begin{align*}\na &= b \\\\\nc &= d\n\\end{align*}"), ["\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}"]);
  assert.deepEqual(formulas("a \\begin{equation} b"), []);
  assert.deepEqual(formulas("\\begin{align}a\\end{equation} \\begin{gather}b\\end{gather}"), ["\\begin{gather}b\\end{gather}"]);
  assert.deepEqual(formulas("So \\begin{pmatrix}1\\end{pmatrix}.\n\\begin{align}\na\n- b\n\n= c\n\\end{align}\n- d"), ["\\begin{pmatrix}1\\end{pmatrix}", "\\begin{align}\na\n- b\n\n= c\n\\end{align}"]);
  assert.deepEqual(formulas("\\begin{itemize}\n\\item a\n\\end{itemize}"), []);
  const growing = JSON.stringify(read("So:\n\n\\begin{align}\na &= b", true, new Map(), { copy: "" }).nodes);
  assert.ok(!growing.includes("begin"));
});

test("an answer that was cut off shows what it showed while it grew", () => {
  const html = (text, growing) => JSON.stringify(read(text, growing, new Map(), { copy: "" }).nodes);
  for (const text of ["**Paragraph", "Some *words and", "a\n\n- **b", "`code", "Some **", "请看**“保存”"]) {
    assert.equal(html(text, "cut"), html(text, true));
    assert.ok(!/[*`]|\]\(/.test(html(text, "cut")), text);
  }
  // But nothing that is not closed waits for more.
  for (const text of ["So:\n\n$$\nx = 1", "See [it](http://exam", "a &am", "| a |\n|-"]) {
    for (const word of text.match(/[a-z=1:/]+/g)) assert.ok(html(text, "cut").includes(word), text);
  }
});

test("a name of a file keeps what joins emoji, and nothing else that is invisible", () => {
  assert.equal(fileName("👩\u200d👧 trip"), "👩\u200d👧 trip.md");
  assert.equal(fileName("a\u202eb\u200bc"), "abc.md");
});

test("a voice says no formula and no mark of a note", () => {
  assert.deepEqual(phrasesOf("So it is[^1]:\n\n\\begin{align*}\na &= b\n\\end{align*}\n\n[^1]: Says *he*."), ["So it is", "Says he."]);
});
