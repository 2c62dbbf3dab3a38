// Are streams read as eventsource-parser reads them, however they are cut? Thousands are made at random.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createParser } from "eventsource-parser";

import { SseParser } from "./agui/http/sse.js";

const STREAMS = 20_000;
const PIECES = [
  ..."\n\n\n\n\r: a", "\r\n", "\r\n\r\n", "data: x\n", "data:", "data", "data: \n", "data: {\"a\":1}\n\n", "id: 1\n", "id: 2\r\n", "id\n", "id: a\0b\n",
  "event: e\n", "retry: 5\n", "retry: x\n", ": ping\n\n", ":\n", "unknown: y\n", " data: z\n", "Data: z\n", "👋", "\u2028", "ü",
];

/** Numbers that are the same in each run. @param {number} seed */
function generator(seed) {
  const next = () => ((seed = (seed * 1103515245 + 12345) % 2 ** 31), seed / 2 ** 31);
  return (count) => Math.floor(next() * count);
}

/** A stream in pieces. */
function drawn(random) {
  const text = Array.from({ length: 1 + random(25) }, () => PIECES[random(PIECES.length)]).join("");
  const pieces = [];
  for (let at = 0; at < text.length; ) {
    const end = at + 1 + random(8);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

function ours(pieces) {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

/** The oracle knows the id of an event. We keep the last id, with an event or without, as the standard says. */
function theirs(pieces) {
  const events = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  for (const piece of pieces) parser.feed(piece);
  return events;
}

test("generated streams give the same events, however they are cut", () => {
  const random = generator(7);
  const seen = { events: 0, ids: 0 };
  for (let round = 0; round < STREAMS; round++) {
    const pieces = drawn(random);
    const [frames, events] = [ours(pieces), theirs(pieces)];
    assert.deepEqual(frames.map(({ data }) => data), events.map(({ data }) => data), JSON.stringify(pieces));
    for (const [index, { id }] of events.entries()) if (id !== undefined) assert.equal(frames[index].id, id, JSON.stringify(pieces));
    assert.deepEqual(ours([pieces.join("")]), frames, JSON.stringify(pieces));
    seen.events += events.length;
    seen.ids += events.filter(({ id }) => id !== undefined).length;
  }
  assert.ok(seen.events > STREAMS / 2 && seen.ids > STREAMS / 20, JSON.stringify(seen));
});
