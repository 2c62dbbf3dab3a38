// What was said, between what was written; and what is told when it could not be written down.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clockOf, spaced, waitOf } from "./agui_voice/spoken.js";
import { refusalOf, VOICE_WORDS } from "./agui_voice/voice.js";

test("words are parted from what was written, where the language parts words", () => {
  assert.equal(spaced("", " buy milk ", ""), "buy milk");
  assert.equal(spaced("Please", "buy milk", "now"), " buy milk ");
  assert.equal(spaced("Please ", "buy milk", " now"), "buy milk");
  assert.equal(spaced("Please\n", "buy milk", ", now"), "buy milk");
  assert.equal(spaced("(", "milk", ")"), "milk");
  assert.equal(spaced("Done.", "Next", "„so“"), " Next");
  assert.equal(spaced("牛乳を", "買う", "こと"), "買う");
  assert.equal(spaced("ซื้อ", "นม", ""), "นม");
  assert.equal(spaced("한국어", "우유", ""), " 우유");
  assert.equal(spaced("مرحبا", "حليب", ""), " حليب");
});

test("what the server refuses for good is not sent again", () => {
  const told = (status) => Object.values(refusalOf(status));
  for (const status of [200, 422]) assert.deepEqual(told(status), ["not_understood", true]);
  assert.deepEqual(told(413), ["recording_too_long", true]);
  for (const status of [400, 403, 404, 415]) assert.deepEqual(told(status), ["not_transcribed", true]);
  assert.deepEqual(told(401), ["unauthorized", false]);
  assert.deepEqual(told(429), ["too_many_recordings", false]);
  for (const status of [500, 502, 503]) assert.deepEqual(told(status), ["not_transcribed", false]);
  for (const status of [200, 413, 429, 503]) assert.ok(VOICE_WORDS[refusalOf(status).code]);
});

test("times are in the digits and units of the language", () => {
  assert.equal(clockOf(0, "en"), "0:00");
  assert.equal(clockOf(65, "de"), "1:05");
  assert.equal(clockOf(65, "ar-EG"), "١:٠٥");
  assert.equal(waitOf(1, "en"), "1 second");
  assert.equal(waitOf(40, "de"), "40 Sekunden");
  assert.equal(waitOf(101, "en"), "2 minutes");
  assert.equal(waitOf(7000, "en"), "2 hours");
});
