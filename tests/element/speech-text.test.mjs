// What a voice says of an answer in Markdown.
import assert from "node:assert/strict";
import { test } from "node:test";

import { phrasesOf } from "./agui/page/speech-text.js";

for (const [name, markdown, phrases] of [
  ["signs are not read", "# Plan\n\n- **buy** `milk`\n- _go_ home\n", ["Plan", "buy milk", "go home"]],
  ["links are read by their words", "See [the page](https://e.org/x?y) and https://e.org.", ["See the page and"]],
  ["code is left out", "Run:\n\n```py\nx = 1\n```\n\nDone.\n\n~~~\nopen", ["Run:", "Done."]],
  ["a table is read by its cells", "| a | b |\n|---|---|\n| 1 | 2 |", ["a ,  b", "1 ,  2"]],
  ["simple formulas are read, others are left out", "If $x = 1$ and \\(y\\), then\n\n$$\n\\frac{a}{b}\n$$\n\nfor $5 or $10.", ["If x = 1 and y, then", "for $5 or $10."]],
  ["nothing is nothing", "***\n\n---\n", []],
]) {
  test(name, () => {
    const said = phrasesOf(markdown).map((phrase) => phrase.replace(/^[, ]+|[, ]+$/g, ""));
    assert.deepEqual(said, phrases);
  });
}

test("long lines are cut after sentences, or between words", () => {
  const phrases = phrasesOf(`${"A sentence of some words. ".repeat(40)}${"word ".repeat(200)}${"x".repeat(1000)}`);
  assert.ok(phrases.every((phrase) => phrase.length <= 220));
  assert.ok(phrases[0].endsWith("words."));
  assert.equal(phrases.join("").replaceAll(" ", "").length, 40 * 21 + 800 + 1000);
});
