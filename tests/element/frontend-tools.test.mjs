import assert from "node:assert/strict";
import { test } from "node:test";

import { HttpError } from "./agui/http/client.js";
import { FrontendTools } from "./agui/session/frontend-tools.js";
import { misfit } from "./agui/json/misfit.js";
import { Session } from "./agui/session/session.js";

const approved = (payload = {}) => ({ status: "resolved", payload: { approved: true, ...payload } });

/** What one call gives, and what its handler got. */
async function answer(tool, args = "{}", { decision, begun = [], signal = new AbortController().signal } = {}) {
  const got = [];
  const handler = (...all) => (got.push(all), tool.handler?.(...all));
  const tools = new FrontendTools(new Map([["tool", { name: "tool", ...tool, handler }]]));
  const calls = [{ id: "c", function: { name: tool.called ?? "tool", arguments: args } }];
  const messages = [];
  const done = (message) => messages.push(message);
  const decisions = new Map([["c", decision]]);
  await tools.answer(calls, { signal, threadId: "t", state: { a: 1 }, decisions, begun, done });
  assert.equal(messages.length, 1);
  const [{ role, toolCallId, content, metadata }] = messages;
  assert.deepEqual([role, toolCallId], ["tool", "c"]);
  return { content, outcome: metadata.outcome, got };
}

for (const [returned, content] of [
  ["as it is", "as it is"],
  ["", ""],
  [{ a: [1] }, '{"a":[1]}'],
  [undefined, "Done."],
  [null, "null"],
  [() => 1, "Done."],
  [Promise.resolve(2), "2"],
]) {
  test(`a handler that returns ${JSON.stringify(returned)} gives ${content}`, async () => {
    const given = await answer({ handler: () => returned });
    assert.deepEqual([given.content, given.outcome], [content, undefined]);
  });
}

test("a handler gets its arguments, the signal, the thread and the state, and no more", async () => {
  const { got } = await answer({}, '{"x": 1}');
  const [[args, run]] = got;
  assert.deepEqual(args, { x: 1 });
  assert.deepEqual(Object.keys(run).sort(), ["signal", "state", "threadId"]);
});

const circle = {};
circle.itself = circle;
for (const [name, handler] of [
  ["throws", () => { throw new Error("Kaput"); }],
  ["rejects", async () => { throw new Error("Kaput"); }],
  ["throws a text", () => { throw "Kaput"; }],
]) {
  test(`a handler that ${name} has failed, and says why`, async () => {
    const { content, outcome } = await answer({ handler });
    assert.deepEqual([content, outcome], ["This failed: Kaput", "failed"]);
  });
}

test("what has no JSON form is a failure", async () => {
  assert.equal((await answer({ handler: () => circle })).outcome, "failed");
  assert.equal((await answer({ handler: () => 1n })).outcome, "failed");
});

test("a very long result is cut", async () => {
  const { content } = await answer({ handler: () => "x".repeat(1_000_000) });
  assert.ok(content.length < 101_000);
  assert.match(content, /1000000 characters/);
});

for (const args of ['{"a":', "[1]", "null", '"text"', "7"]) {
  test(`arguments like ${args} never reach a handler`, async () => {
    const { outcome, got } = await answer({}, args);
    assert.deepEqual([outcome, got], ["failed", []]);
  });
}

test("no arguments are an empty object", async () => {
  assert.deepEqual((await answer({}, "")).got[0][0], {});
});

test("arguments can't change a prototype", async () => {
  const { got } = await answer({}, '{"__proto__": {"evil": 1}, "a": {"__proto__": {"evil": 1}}, "constructor": 1}');
  const merged = Object.assign({}, got[0][0]);
  assert.equal(merged.evil, undefined);
  assert.equal(merged.a.evil, undefined);
  assert.equal({}.evil, undefined);
});

for (const called of ["__proto__", "constructor", "toString", "other"]) {
  test(`a call of ${called} finds no tool`, async () => {
    const { content, outcome, got } = await answer({ called });
    assert.deepEqual([outcome, got], ["failed", []]);
    assert.match(content, /has no tool/);
  });
}

test("a destructive tool runs only when it was approved", async () => {
  const denied = { status: "resolved", payload: { approved: false } };
  for (const decision of [undefined, denied, { status: "cancelled" }, approved({ approved: "yes" })]) {
    const given = await answer({ destructive: true }, "{}", { decision });
    assert.deepEqual([given.content, given.outcome, given.got], ["The user denied this.", "denied", []]);
  }
  const withReason = { status: "resolved", payload: { approved: false, reason: "Not now" } };
  assert.match((await answer({ destructive: true }, "{}", { decision: withReason })).content, /denied this: Not now/);
  assert.equal((await answer({ destructive: true }, "{}", { decision: approved() })).content, "Done.");
});

test("edited arguments take the place of the model's, and have to fit, too", async () => {
  const parameters = { properties: { n: { type: "integer" } } };
  const edited = (n) => ({ decision: approved({ editedArgs: { n } }) });
  assert.deepEqual((await answer({ destructive: true, parameters }, '{"n": 1}', edited(2))).got[0][0], { n: 2 });
  assert.equal((await answer({ destructive: true, parameters }, '{"n": 1}', edited("2"))).outcome, "failed");
});

test("what has begun before does not begin again", async () => {
  const { content, got } = await answer({}, "{}", { begun: ["c"] });
  assert.match(content, /was left/);
  assert.deepEqual(got, []);
});

test("a handler that hangs ends with its signal", async () => {
  const stop = new AbortController();
  const given = answer({ handler: () => (stop.abort(), new Promise(() => {})) }, "{}", { signal: stop.signal });
  assert.equal((await given).outcome, "failed");
});

test("an agent that calls for ever is left alone after a while, until the user says more", async () => {
  let runs = 0;
  const run = async () => {
    const id = `c${(runs += 1)}`;
    const events = [
      { type: "RUN_STARTED" },
      { type: "TOOL_CALL_START", toolCallId: id, toolCallName: "tool" },
      { type: "TOOL_CALL_END", toolCallId: id },
      { type: "RUN_FINISHED" },
    ];
    return (async function* () {
      for (const event of events) yield { id: `${id}:1`, event };
    })();
  };
  const session = new Session({ run, hasThreads: false });
  session.offer(new Map([["tool", { name: "tool", handler: () => {} }]]));
  for (const total of [51, 102]) {
    const end = new Promise((done) => session.addEventListener("end", done, { once: true }));
    session.send("Go on");
    await end;
    assert.deepEqual([runs, session.conversation.status], [total, "idle"]);
    assert.equal(session.conversation.calls[`c${total}`].status, "left");
  }
});

/** A session whose first run calls a tool of the page; `second` answers the run that brings the result. */
function callingSession(second) {
  const bodies = [];
  const call = [{ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "tool" }, { type: "TOOL_CALL_END", toolCallId: "c" }];
  const run = async (input) => {
    bodies.push(input);
    const events = bodies.length === 1 ? call : second();
    return (async function* () {
      for (const event of [{ type: "RUN_STARTED" }, ...events, { type: "RUN_FINISHED" }]) yield { id: "r:1", event };
    })();
  };
  return { bodies, session: new Session({ run, hasThreads: false }) };
}

const ended = (session) => new Promise((done) => session.addEventListener("end", done, { once: true }));
const TOOLS = new Map([["tool", { name: "tool", handler: () => "the result" }]]);

test("a tool that the page registers after the run is called then", async () => {
  const { bodies, session } = callingSession(() => []);
  const first = ended(session);
  session.send("Go on");
  await first;
  const second = ended(session);
  session.offer(TOOLS);
  await second;
  assert.deepEqual(bodies[1]?.messages.map(({ role, content }) => [role, content]), [["tool", "the result"]]);
});

test("who is signed out meanwhile gets no result back as their own words", async () => {
  const { bodies, session } = callingSession(() => {
    throw new HttpError(401, {});
  });
  const returned = [];
  session.addEventListener("returned", ({ detail }) => returned.push(detail));
  session.offer(TOOLS);
  const refused = new Promise((done) => session.addEventListener("change", () => session.conversation.error && done()));
  session.send("Go on");
  await refused;
  assert.deepEqual([bodies.length, session.conversation.error.code, returned], [2, "unauthorized", []]);
});

test("only destructive tools ask, with their words", () => {
  const tools = new FrontendTools(new Map([
    ["a", { name: "a", destructive: true, confirm: "Sure?", summary: "Do A" }],
    ["b", { name: "b" }],
  ]));
  const calls = ["a", "b", "__proto__"].map((name) => ({ id: name, function: { name, arguments: "{}" } }));
  const [question, ...others] = tools.questions(calls);
  assert.equal(others.length, 0);
  assert.deepEqual([question.toolCallId, question.message, question.metadata["x-summary"]], ["a", "Sure?", "Do A"]);
});

const schema = {
  type: "object",
  properties: {
    theme: { type: "string", enum: ["light", "dark"] },
    count: { type: ["integer", "null"] },
    rows: { type: "array", items: { type: "object", required: ["id"] } },
    any: {},
  },
  required: ["theme"],
  additionalProperties: false,
};
for (const [value, wrong] of [
  [{ theme: "dark" }, undefined],
  [{ theme: "dark", count: null, rows: [{ id: 1 }], any: [1] }, undefined],
  [{}, /theme is missing/],
  [{ theme: "blue" }, /theme must be one of \["light","dark"\]/],
  [{ theme: 1 }, /theme must be of the type string/],
  [{ theme: "dark", count: 1.5 }, /count must be of the type integer or null/],
  [{ theme: "dark", rows: [{ id: 1 }, {}] }, /rows\[1\]\.id is missing/],
  [{ theme: "dark", more: 1 }, /more is unknown/],
  [{ theme: "dark", constructor: 1 }, /constructor is unknown/],
  [[], /must be of the type object/],
]) {
  test(`${JSON.stringify(value)} is checked against a schema`, () => {
    if (wrong) assert.match(misfit(schema, value), wrong);
    else assert.equal(misfit(schema, value), undefined);
  });
}

const $defs = { path: { type: "string", pattern: "^/" }, tree: { properties: { in: { $ref: "#/$defs/tree" }, n: { minimum: 1 } } } };
for (const [parameters, right, wrong, words] of [
  [{ properties: { n: { type: "integer", minimum: 1, maximum: 5 } } }, { n: 5 }, { n: 6 }, /n must be at most 5/],
  [{ properties: { n: { exclusiveMinimum: 0, multipleOf: 0.1 } } }, { n: 0.3 }, { n: 0.25 }, /multiple of 0.1/],
  [{ properties: { s: { minLength: 2, maxLength: 3 } } }, { s: "👋👋👋" }, { s: "abcd" }, /s must have at most 3 characters/],
  [{ properties: { s: { $ref: "#/$defs/path" } }, $defs }, { s: "/home" }, { s: "https://evil.example" }, /s must match \^\//],
  [{ properties: { s: { const: "a" } } }, { s: "a" }, { s: "b" }, /s must be "a"/],
  [{ properties: { s: { anyOf: [{ type: "string" }, { type: "null" }] } } }, { s: null }, { s: 1 }, /type string, or s must be of the type null/],
  [{ properties: { s: { oneOf: [{ minimum: 1 }, { maximum: 3 }] } } }, { s: 0 }, { s: 2 }, /only one/],
  [{ properties: { a: { minItems: 1, maxItems: 2, uniqueItems: true } } }, { a: [1, 2] }, { a: [1, 1] }, /no item twice/],
  [{ properties: { a: { prefixItems: [{ type: "string" }], items: { type: "integer" } } } }, { a: ["a", 1] }, { a: ["a", "b"] }, /a\[1\] must be/],
  [{ additionalProperties: { type: "integer" } }, { a: 1 }, { a: "1" }, /a must be of the type integer/],
  [{ properties: { t: { $ref: "#/$defs/tree" } }, $defs }, { t: { in: { in: { n: 1 } } } }, { t: { in: { in: { n: 0 } } } }, /t\.in\.in\.n must be at least 1/],
  [{ dependentRequired: { a: ["b"] } }, { a: 1, b: 1 }, { a: 1 }, /b is missing/],
  [{ if: { required: ["a"] }, then: { required: ["b"] } }, { a: 1, b: 2 }, { a: 1 }, /b is missing/],
  [{ not: { required: ["a"] } }, { b: 1 }, { a: 1 }, /must not fit/],
]) {
  test(`${JSON.stringify(parameters)} lets through what fits, and nothing else`, async () => {
    assert.equal((await answer({ parameters }, JSON.stringify(right))).outcome, undefined);
    const { outcome, got, content } = await answer({ parameters }, JSON.stringify(wrong));
    assert.deepEqual([outcome, got], ["failed", []]);
    assert.match(content, words);
  });
}

for (const [parameters, words] of [
  [{ properties: { a: { maxlength: 1 } } }, /a keyword that this page does not know: "maxlength"/],
  [{ anyOf: [{ unevaluatedProperties: false }] }, /unevaluatedProperties/],
  [{ $defs: { a: { $dynamicRef: "#a" } } }, /\$dynamicRef/],
  [{ properties: { a: { $ref: "https://schemas.example/a.json" } } }, /leads nowhere/],
  [{ properties: { a: { $ref: "#/$defs/none" } } }, /leads nowhere/],
  [{ properties: { a: { pattern: "(" } } }, /Invalid regular expression/],
  [{ properties: { a: { items: [{}, {}] } } }, /is no schema/],
  [{ $ref: "#" }, /./],
  [{ properties: { a: "string" } }, /is no schema/],
]) {
  test(`with ${JSON.stringify(parameters)} no arguments get through`, async (t) => {
    t.mock.method(console, "error", () => {});
    const { outcome, got, content } = await answer({ parameters });
    assert.deepEqual([outcome, got], ["failed", []]);
    assert.match(content, words);
  });
}
