import assert from "node:assert/strict";
import { test } from "node:test";

import { SseParser, readEvents } from "./agui/http/sse.js";
import { growsTooFast } from "./growth.mjs";

const frames = (...pieces) => {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
};
const body = (...chunks) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
      controller.close();
    },
  });
const collect = async (stream) => {
  const events = [];
  for await (const event of readEvents(stream)) events.push(event);
  return events;
};

test("a frame has its id and its data", () => {
  assert.deepEqual(frames('id: run:1\ndata: {"a":1}\n\n'), [{ id: "run:1", data: '{"a":1}' }]);
});

test("every cut of the same bytes gives the same frames", () => {
  const text = ': ping\r\n\r\nid: r:1\r\ndata: one\r\ndata: two\r\n\r\nevent: x\nid: r:2\ndata:three\n\n: ping\n\n';
  const whole = frames(text);
  assert.deepEqual(whole, [{ id: "r:1", data: "one\ntwo" }, { id: "r:2", data: "three" }]);
  assert.deepEqual(frames(...text), whole);
  for (let at = 1; at < text.length; at += 1) assert.deepEqual(frames(text.slice(0, at), text.slice(at)), whole);
});

test("comments and unknown fields are read past", () => {
  assert.deepEqual(frames(": ping\n\nretry: 5\n\nevent: hello\ndata: x\n\n"), [{ id: "", data: "x" }]);
});

test("the id holds for the frames that follow", () => {
  assert.deepEqual(frames("id: 7\ndata: a\n\ndata: b\n\n").map(({ id }) => id), ["7", "7"]);
});

test("only one space is removed after the colon", () => {
  assert.equal(frames("data:  x\n\n")[0].data, " x");
});

test("bytes of one character in two chunks are joined", async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: {"delta":"Grüße 👋"}\n\n');
  const cut = bytes.indexOf(0xc3) + 1;
  const events = await collect(body(bytes.slice(0, cut), bytes.slice(cut)));
  assert.deepEqual(events, [{ id: "1", event: { delta: "Grüße 👋" } }]);
});

test("an event that is cut off by the end is dropped", async () => {
  assert.deepEqual(await collect(body('data: {"a":1}\n\ndata: {"b":')), [{ id: "", event: { a: 1 } }]);
});

test("an event that is not JSON is dropped and the rest is read", async (t) => {
  t.mock.method(console, "warn", () => {});
  assert.deepEqual(await collect(body('data: {\n\ndata: {"a":1}\n\n')), [{ id: "", event: { a: 1 } }]);
});

test("a silent connection is an error", async () => {
  const silent = new ReadableStream({});
  await assert.rejects(async () => {
    for await (const _ of readEvents(silent, { idleSeconds: 0.01 }));
  }, /silent/);
});

test("leaving the loop cancels the body", async () => {
  let cancelled = false;
  const stream = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("data: {}\n\n")),
    cancel: () => void (cancelled = true),
  });
  for await (const _ of readEvents(stream)) break;
  assert.equal(cancelled, true);
});

test("a long line costs what it is long, in however many pieces it comes", () => {
  const reading = (pieces) => () => {
    const [found] = frames("data: ", ...Array(pieces).fill("x".repeat(16384)), "\n\n");
    assert.equal(found.data.length, pieces * 16384);
  };
  assert.ok(!growsTooFast(reading, 32, 0.25));
});

test("the return that ends a piece and the newline that begins the next one are one end of a line", () => {
  assert.deepEqual(frames("data: a\r", "\ndata: b\r", "data: c\r\n\r", "\n").map(({ data }) => data), ["a\nb\nc"]);
  assert.deepEqual(frames("data: a\r", "\r").length + frames("data: a\r", "\r", "x").length, 1);
});
