// Where a text has what the user looks for.
import assert from "node:assert/strict";
import { test } from "node:test";

import { read } from "./agui/markdown/nodes.js";
import { STRINGS } from "./agui/words/strings.js";
import { placesOf, termsOf, textOfNodes } from "./agui/messages/matching.js";

const found = (text, ...terms) => placesOf(text, terms).map(([start, end]) => text.slice(start, end));

test("case, width, ligatures and curly quotes make no difference", () => {
  assert.deepEqual(found("Apple apple APPLE", "aPPle"), ["Apple", "apple", "APPLE"]);
  assert.deepEqual(found("\uFF21\uFF30\uFF29 of an API", "api"), ["\uFF21\uFF30\uFF29", "API"]);
  assert.deepEqual(found("a \uFB01nal word", "final"), ["\uFB01nal"]);
  assert.deepEqual(found("don\u2019t", "don't"), ["don\u2019t"]);
});

test("a character that becomes several is marked as a whole", () => {
  assert.deepEqual(found("e\uFB03cient", "effi"), ["e\uFB03"]);
  assert.deepEqual(found("e\uFB03cient", "eff"), ["e\uFB03"]);
  assert.deepEqual(found("\u0130stanbul and \u{1F600} istanbul", "istanbul").at(-1), "istanbul");
});

test("places are in order and don't overlap", () => {
  assert.deepEqual(placesOf("milk and bread", ["bread", "milk"]), [[0, 4], [9, 14]]);
  assert.deepEqual(placesOf("milkshake", ["milk", "milkshake", "shake"]), [[0, 9]]);
  assert.deepEqual(placesOf("aaaa", ["aa"]), [[0, 2], [2, 4]]);
  assert.deepEqual(placesOf("a.b", ["."]), [[1, 2]]);
  assert.deepEqual(placesOf("text", ["", "x"]), [[2, 3]]);
  assert.deepEqual(placesOf("", ["x"]), []);
});

test("a search has at most ten words", () => {
  assert.deepEqual(termsOf("  one\ttwo  "), ["one", "two"]);
  assert.equal(termsOf("a ".repeat(30)).length, 10);
  assert.deepEqual(termsOf(" "), []);
});

test("Markdown is searched as a reader sees it", () => {
  const text = "Take **two eggs** and [some milk](https://example.com).\n\n```py\nbake()\n```";
  const shown = textOfNodes(read(text, false, new Map(), STRINGS).nodes);
  assert.deepEqual(found(shown, "two eggs and some milk"), ["two eggs and some milk"]);
  assert.deepEqual(found(shown, "bake()"), ["bake()"]);
  for (const hidden of ["**", "example.com", "```", STRINGS.copy]) assert.deepEqual(found(shown, hidden), []);
});

test("a long text takes no longer than its length", () => {
  const text = "\uFB01 word ".repeat(50_000);
  assert.equal(placesOf(text, ["fi"]).length, 50_000);
});
