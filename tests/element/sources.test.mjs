// The numbers of sources in a text, and how an address is written.
import assert from "node:assert/strict";
import { test } from "node:test";

import { marksIn, siteOf } from "./agui_sources/source-text.js";

const sources = new Map([1, 2, 3].map((number) => [number, { number, title: `Source ${number}`, url: null, quote: "" }]));
const found = (text) => marksIn(text, sources).map((mark) => [text.slice(mark.start, mark.end), ...mark.sources.map(({ number }) => number)]);

test("numbers that stand together are one mark", () => {
  assert.deepEqual(found("At nine [1]."), [["[1]", 1]]);
  assert.deepEqual(found("[2][1] and [3] [2]"), [["[2][1]", 2, 1], ["[3] [2]", 3, 2]]);
  assert.deepEqual(found("[1], [2]"), [["[1]", 1], ["[2]", 2]]);
  assert.deepEqual(found("[1][1][2]"), [["[1][1][2]", 1, 2]]);
});

test("a number without a source stays a text, and parts its neighbours", () => {
  assert.deepEqual(found("[9] [0] [1234] [x] []"), []);
  assert.deepEqual(found("[1][9][2]"), [["[1]", 1], ["[2]", 2]]);
});

test("an address is written so that it can't look like another one", () => {
  const written = (url) => siteOf(new URL(url));
  assert.equal(written("https://example.com/"), "example.com");
  assert.equal(written("https://example.com/a/b?c=d#e"), "example.com/a/b");
  assert.equal(written("http://example.com:81/a"), "http://example.com:81/a");
  assert.equal(written("https://p\u0430ypal.com/"), "xn--pypal-4ve.com");
  assert.equal(written("https://google.com@evil.example/"), "evil.example");
  assert.equal(written("https://example.com/\u202egnp.exe"), "example.com/%E2%80%AEgnp.exe");
  assert.equal(written(`https://example.com/${"a".repeat(200)}`), `example.com/${"a".repeat(79)}…`);
});
