// The forms of questions and of approvals, and how their answers are sent.
import assert from "node:assert/strict";
import { test } from "node:test";

import { FINISHED, STARTED, begun, ended, failed, has, named, nameOf, open, press, question, type, until, waiting } from "./page.mjs";

// As pydantic describes a model with these fields.
const BOOKING = {
  title: "Booking",
  type: "object",
  required: ["guest", "arrival", "smoker"],
  properties: {
    guest: { type: "string", title: "Guest", description: "As in the passport." },
    people: { type: "integer", title: "People", default: 2, minimum: 1, maximum: 8 },
    arrival: { type: "string", format: "date", title: "Arrival" },
    late: { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }], default: null },
    room: { $ref: "#/$defs/Room", default: "large" },
    extras: { type: "array", items: { enum: ["breakfast", "parking"] }, default: ["breakfast"] },
    smoker: { type: "boolean", title: "Smoker" },
    newsletter: { type: "boolean", default: true },
    billing: { anyOf: [{ $ref: "#/$defs/Address" }, { type: "null" }], default: null },
    notes: { type: "object", default: {} },
  },
  $defs: {
    Room: { title: "Room", type: "string", enum: ["small", "large"] },
    Address: { type: "object", properties: { street: { type: "string" } }, required: ["street"] },
  },
};
const ARGUMENTS = {
  type: "object",
  properties: {
    title: { type: "string", title: "Title" },
    priority: { type: "integer", maximum: 5 },
    place: { $ref: "#/$defs/Place" },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["title"],
};
const APPROVAL = {
  type: "object",
  properties: { approved: { type: "boolean" }, editedArgs: ARGUMENTS, reason: { type: "string" } },
  required: ["approved"],
  $defs: { Place: { enum: ["home", "work"], title: "Place", type: "string" } },
};
const GIVEN = { title: "Bread", priority: 2, place: "work", tags: ["a"] };
const DONE = [STARTED, FINISHED];

const asking = (...interrupts) => [STARTED, ...interrupts.flatMap(({ toolCallId }) => (toolCallId ? begun(toolCallId, "publish", GIVEN) : [])), waiting(...interrupts)];
const approval = (id, more = {}) => question(id, APPROVAL, { reason: "tool_call", toolCallId: `call-${id}`, message: `Publish ${id}?`, ...more });
const editing = (properties, more = {}) => ({ responseSchema: { type: "object", properties: { editedArgs: { type: "object", properties } } }, ...more });
const resolved = (interruptId, payload) => ({ interruptId, status: "resolved", payload });
const cancelled = (interruptId) => ({ interruptId, status: "cancelled" });

/** A page on which the agent has asked, and then gets these runs, or is content with the answers. */
async function ask(interrupts, { events = asking(...interrupts), runs = [DONE], ...options } = {}) {
  const page = await open({ runs: [events, ...runs], ...options });
  page.say("hello");
  await page.group(interrupts[0].message);
  return page;
}

const answers = async (page) => (await until(() => page.sent[1]), page.sent[1].resume);
const hasFocus = (page, element) => until(() => page.root.activeElement === element, "another element has the focus");
/** Fill these fields of a form, by their names. */
async function fill(page, values, within) {
  for (const [name, value] of Object.entries(values)) await page.fill(new RegExp(`^${name}`), value, within);
}

test("a question becomes a form", async () => {
  const page = await ask([question("q", BOOKING, { toolCallId: "c" })]);
  assert.match(page.texts(".tool")[0], /Needs your answer/);
  const guest = await page.field("Guest");
  assert.equal(page.root.getElementById(guest.getAttribute("aria-describedby")).textContent, "As in the passport.");
  assert.equal((await page.field(/^People/)).value, "2");
  await fill(page, { Guest: "Ada", People: "3", Arrival: "2026-05-01", Late: "2026-05-01T22:30", Room: "small", parking: true, Newsletter: false, Billing: true, Street: "Main Street 1", Notes: '{"dogs": 1}' });
  type(await page.field("No", await page.group("Smoker")), true);
  await page.press("Send answer");
  const [answer] = await answers(page);
  assert.deepEqual(answer, resolved("q", {
    guest: "Ada", people: 3, arrival: "2026-05-01", late: new Date("2026-05-01T22:30").toISOString(), room: "small", extras: ["breakfast", "parking"],
    smoker: false, newsletter: false, billing: { street: "Main Street 1" }, notes: { dogs: 1 },
  }));
  assert.deepEqual(page.sent[1].messages, []);
});

test("a form asks only for what is required", async () => {
  const { billing, ...properties } = BOOKING.properties;
  const page = await ask([question("q", { ...BOOKING, properties })]);
  await fill(page, { Arrival: "2026-05-01", No: true });
  await page.press("Send answer");
  assert.ok(!(await page.field("Guest")).validity.valid);
  await fill(page, { Guest: "Ada", Notes: "{not JSON" });
  await page.press("Send answer");
  assert.ok(!(await page.field(/^Notes/)).validity.valid);
  assert.equal(page.sent.length, 1);
  await fill(page, { Notes: "" });
  await page.press("Send answer");
  const [{ payload }] = await answers(page);
  assert.deepEqual(payload, { guest: "Ada", people: 2, arrival: "2026-05-01", room: "large", extras: ["breakfast"], smoker: false, newsletter: true });
});

test("a question has lists and alternatives", async () => {
  const [Cat, Dog] = [["Cat", { lives: { type: "integer" } }], ["Dog", { name: { type: "string" } }]].map(([title, fields]) => {
    return { type: "object", title, properties: { kind: { const: title.toLowerCase() }, ...fields }, required: ["kind"] };
  });
  const page = await ask([question("q", {
    type: "object",
    required: ["pets", "amount"],
    properties: {
      pets: { type: "array", items: { oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }] }, minItems: 1 },
      amount: { anyOf: [{ type: "number" }, { type: "string", pattern: "^[0-9.]+$" }] },
      at: { type: "string", format: "time" },
      note: { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }], default: null },
    },
    $defs: { Cat, Dog },
  })]);
  await fill(page, { "Pets 1": "Dog" });
  await fill(page, { Name: "Rex" });
  assert.deepEqual(named(page.root, "button", "Remove Pets 1"), []);
  await page.press("Add");
  await hasFocus(page, await page.field("Pets 2"));
  await fill(page, { Lives: "9", Amount: "1.5", At: "10:30", Note: "Number" });
  await fill(page, { Number: "3" });
  await page.press("Send answer");
  const [{ payload }] = await answers(page);
  assert.deepEqual(payload, { pets: [{ kind: "dog", name: "Rex" }, { kind: "cat", lives: 9 }], amount: 1.5, at: "10:30", note: 3 });
});

test("questions for one value each are answered together, and a text by Enter", async () => {
  const schemas = { integer: { type: "integer", title: "Years" }, enum: { enum: ["a", 1] }, boolean: { type: "boolean" }, optional: { anyOf: [{ type: "string" }, { type: "null" }] } };
  const page = await ask(Object.entries(schemas).map(([name, schema]) => question(name, schema)));
  const forms = await Promise.all(Object.keys(schemas).map((name) => page.group(`Question ${name}?`)));
  await fill(page, { Years: "7" });
  await fill(page, { "Your answer": "1" }, forms[1]);
  await fill(page, { Yes: true });
  for (const form of forms) await page.press("Send answer", form);
  assert.deepEqual(await answers(page), [resolved("integer", 7), resolved("enum", 1), resolved("boolean", true), resolved("optional", null)]);
  const other = await ask([question("q", { type: "string" })]);
  await fill(other, { "Your answer": "words" });
  press(await other.field("Your answer"), "Enter");
  assert.deepEqual(await answers(other), [resolved("q", "words")]);
});

test("fields that may stay empty say so", async () => {
  const text = { type: "string" };
  const properties = { Day: text, Note: { ...text, default: "" }, Size: { ...text, default: "L" }, Place: text };
  const page = await ask([question("q", { type: "object", required: ["Day"], properties })]);
  await page.field("Day");
  assert.deepEqual(page.texts(".question label"), ["Day", "Note (optional)", "Size", "Place (optional)"]);
});

test("approvals and questions are answered together", async () => {
  const page = await ask([approval("a"), question("q", undefined, { toolCallId: "d" }), question("alone")]);
  const [first, last] = await Promise.all(["q", "alone"].map((name) => page.group(`Question ${name}?`)));
  await page.fill("Your answer", "old", first);
  await page.press("Send answer", first);
  await until(() => page.texts(".open-bar")[0].includes("2 more to decide"));
  await hasFocus(page, await page.group("Publish a?"));
  // An answer that is changed is none until it is sent again.
  await page.press("Change", first);
  await page.fill("Your answer", "new", first);
  await until(() => page.texts(".open-bar")[0].includes("3 more to decide"));
  await page.press("Skip", last);
  await page.press("Approve");
  await hasFocus(page, first);
  assert.equal(page.sent.length, 1);
  await page.press("Send answer", first);
  assert.deepEqual(await answers(page), [resolved("a", { approved: true }), resolved("q", "new"), cancelled("alone")]);
});

test("a question about an unknown call stands alone, and keeps what is typed", async () => {
  const interrupts = [question("q", undefined, { toolCallId: "unknown" }), question("other")];
  const page = await ask(interrupts, { events: [STARTED, waiting(...interrupts)] });
  const field = await page.field("Your answer", await page.group("Question q?"));
  type(field, "half a ");
  field.focus();
  page.chat.session.dispatchEvent(new CustomEvent("change"));
  await page.press("Skip", await page.group("Question other?"));
  await until(() => page.texts(".open-bar")[0].includes("1 more to decide"));
  assert.equal((await page.field("Your answer", await page.group("Question q?"))).value, "half a ");
  assert.equal(page.all(".tool").length, 2);
});

test("what has expired can only be dismissed, even if it does while it is shown", async () => {
  const expiresAt = "2020-01-01T00:00:00Z";
  const buttons = async (name) => named(await page.group(name), "button", /./).map(nameOf);
  let page = await ask([approval("a", { expiresAt }), question("q", BOOKING, { expiresAt })]);
  for (const name of ["Publish a?", "Question q?"]) {
    assert.match((await page.group(name)).textContent, /expired/);
    assert.deepEqual(await buttons(name), ["Dismiss"]);
    await page.press("Dismiss", await page.group(name));
  }
  assert.deepEqual(await answers(page), [cancelled("a"), cancelled("q")]);
  page = await ask([approval("a", { expiresAt: new Date(Date.now() + 1000).toISOString() }), question("q")]);
  await page.press("Approve");
  await until(() => page.texts(".open-bar")[0].includes("1 more to decide"));
  (await page.button("Change", await page.group("Publish a?"))).focus();
  await until(() => page.texts(".open-bar")[0].includes("2 more to decide"));
  assert.deepEqual(await buttons("Publish a?"), ["Dismiss"]);
  await hasFocus(page, await page.group("Publish a?"));
  await page.press("Skip");
  await page.press("Dismiss");
  assert.deepEqual(await answers(page), [cancelled("a"), cancelled("q")]);
});

/** The server's own conversation, which a page reads after a refusal. */
const stored = (messages, ...pending) => () => Response.json({ messages, pending, state: {}, running: false, title: "" });
const anyThread = (answer) => new Proxy({}, { get: (_, path) => (/threads\/[^/]+\/$/.test(path) ? answer : undefined) });

test("a refused answer brings the questions that are really open", async () => {
  const routes = anyThread(stored([{ id: "u", role: "user", content: "as stored" }], question("really open")));
  const page = await ask([question("q")], { runs: [[STARTED, failed("Not this one.", "interrupt_unknown")]], routes });
  await page.press("Skip");
  await page.group("Question really open?");
  assert.deepEqual(named(page.root, "[role=group]", "Question q?"), []);
  await until(() => /Not this one\./.test(page.texts("[role=alert]").join()));
  assert.deepEqual(named(page.root, "button", "Try again"), []);
  await has(() => page.texts(".bubble"), ["as stored"]);
});

for (const toolCallId of [undefined, "c"]) {
  test(`what was typed stays after a refusal, ${toolCallId ? "in a card" : "in a question that stands alone"}`, async () => {
    const asked = question("q", undefined, toolCallId && { toolCallId });
    const call = { id: "c", type: "function", function: { name: "publish", arguments: "{}" } };
    const routes = anyThread(stored(toolCallId ? [{ id: "p", role: "assistant", toolCalls: [call] }] : [], asked));
    const page = await ask([asked], { runs: [[STARTED, failed("Not in this form.", "invalid_resume")], DONE], routes });
    await page.fill("Your answer", "many words");
    await page.press("Send answer");
    await until(() => page.texts("[role=alert]").join().includes("Not in this form."));
    await hasFocus(page, await page.group("Question q?"));
    assert.equal((await page.field("Your answer")).value, "many words");
    await page.press("Send answer");
    await until(() => page.sent.length === 3);
    await page.finished();
    assert.deepEqual(page.texts("[role=alert].failure"), []);
  });
}

test("a message to a conversation that waits is given back", async () => {
  const page = await open({ runs: [[STARTED, failed("Answer first.", "interrupt_pending")]], routes: anyThread(stored([], question("q"))) });
  page.say("my words");
  await page.group("Question q?");
  assert.equal(page.root.querySelector(".input").value, "my words");
  assert.deepEqual(page.texts(".bubble"), []);
  await until(() => /Answer first\./.test(page.texts("[role=alert]").join()));
});

// --- Approvals

test("arguments are edited before they are approved", async () => {
  const ran = { title: "Milk", priority: 5, place: "home", tags: ["b"] };
  const result = ended("call-it", "Published.", { editedArguments: JSON.stringify({ ...ran, tags: [] }), editedBy: "Ada Lovelace" });
  const page = await ask([approval("it")], { runs: [[STARTED, result, FINISHED]] });
  await page.press("Edit");
  await hasFocus(page, await page.field("Title"));
  await fill(page, { Title: "Milk", Priority: "9" });
  await page.press("Approve with changes");
  assert.equal(page.sent.length, 1); // the form says what is wrong with it
  await fill(page, { Priority: "5", Place: "home" });
  await page.press("Add");
  await fill(page, { "Tags 2": "b" });
  await page.press("Remove Tags 1");
  await page.press("Approve with changes");
  assert.deepEqual(await answers(page), [resolved("it", { approved: true, editedArgs: ran })]);
  // The card has the arguments that ran, and who changed them.
  const summary = await page.one(".tool summary");
  await until(() => /Done · Changed/.test(summary.textContent));
  summary.click();
  await until(() => page.texts(".tool").join().includes("Changed by Ada Lovelace before it ran."));
  assert.deepEqual(page.texts(".tool dd"), ["Milk", "5", "home", "Empty"]);
});

test("an approval whose form was not touched is a plain one", async () => {
  const page = await ask([approval("it")]);
  await page.press("Edit");
  await page.press("Approve with changes");
  assert.deepEqual(await answers(page), [resolved("it", { approved: true })]);
});

test("to edit one argument leaves the others as they were", async () => {
  const given = { body: "Dear Grace,\nthank you.\n", when: "2026-12-20T08:30:15", at: "2026-12-20T08:30:00.123456+01:00", price: "12.50", key: "secret" };
  const time = { type: "string", format: "date-time" };
  const kinds = {
    body: { type: "string" }, when: time, at: time, price: { anyOf: [{ type: "number" }, { type: "string" }] },
    key: { type: "string", format: "password", writeOnly: true }, note: { type: "string", default: "none" },
  };
  const asked = approval("it", editing(kinds));
  const page = await ask([asked], { events: [STARTED, ...begun("call-it", "send", given), waiting(asked)] });
  await page.press("Edit");
  assert.equal((await page.field(/^Body/)).value, given.body);
  assert.equal((await page.field(/^Key/)).type, "password");
  assert.equal((await until(() => named(page.root, "input[type=number]", /^Price|^Number/)[0])).value, "12.50");
  await fill(page, { When: "2026-12-21T08:30:15" });
  await page.press("Approve with changes");
  const [{ payload }] = await answers(page);
  assert.deepEqual(payload.editedArgs, { ...given, when: "2026-12-21T08:30:15" });
});

test("a question shows all that the tool will get", async () => {
  const given = { to: { street: "Main", tags: ["a", "b"] }, when: "2026-12-20T08:30:00", at: "2026-12-20T08:30:15-05:00", key: "secret", body: "Dear Sir", copies: 7 };
  const page = await ask([approval("it", editing({ key: { type: "string", format: "password" } }, { metadata: { toolName: "send", arguments: JSON.stringify(given) } }))]);
  assert.deepEqual(page.texts(".question dt"), ["to", "street", "tags", "when", "at", "key", "body", "copies"]);
  const [to, ...values] = [...page.root.querySelectorAll(".question-view > .arguments > dd")].map((one) => one.textContent.replace(/\s/g, " "));
  assert.match(to, /Main.*a.*b/);
  assert.deepEqual(values, ["Dec 20, 2026, 8:30 AM (no time zone)", "Dec 20, 2026, 8:30:15 AM (UTC-05:00)", "••••••••", "Dear Sir", "7"]);
});

test("a denial may have a reason, which is kept until it is given", async () => {
  const page = await ask([approval("one"), approval("two")]);
  const [first, second] = await Promise.all(["one", "two"].map((name) => page.group(`Publish ${name}?`)));
  await page.press("Deny", first);
  const reason = await page.field(/^Reason/, first);
  await hasFocus(page, reason);
  type(reason, "Not today.");
  press(reason, "Escape");
  await hasFocus(page, first);
  await page.press("Deny", first);
  assert.equal((await page.field(/^Reason/, first)).value, "Not today.");
  await page.press("Deny", first);
  await hasFocus(page, second);
  assert.match(first.querySelector(".record").textContent, /Denied: Not today\.Recorded, 1 to go/);
  assert.match(page.texts(".open-bar")[0], /1 more to decide/);
  await page.press("Deny", second);
  await page.press("Deny", second);
  assert.deepEqual(await answers(page), [resolved("one", { approved: false, reason: "Not today." }), resolved("two", { approved: false })]);
});

test("several questions are decided at once, and taken back until the last answer", async () => {
  const interrupts = [...["one", "two", "three"].map((name) => approval(name)), approval("gone", { metadata: { "x-destructive": true } }), question("day", { type: "string" }, { toolCallId: "d" })];
  const page = await ask(interrupts);
  const bar = await page.group("Open questions");
  assert.match(bar.textContent, /5 more to decide, then all answers are sent\. Destructive ones are approved one by one\./);
  const [first, last, gone, day] = await Promise.all(["Publish one?", "Publish three?", "Publish gone?", "Question day?"].map((name) => page.group(name)));
  // What destroys nothing is approved together.
  await page.press("Approve 3", bar);
  await hasFocus(page, gone);
  assert.match(first.textContent, /ApprovedRecorded, 2 to go/);
  assert.ok("decided" in first.dataset && named(first.querySelector(".record"), "button", "Change").length);
  assert.equal(named(gone, "button", "Approve").length, 1);
  assert.deepEqual(named(bar, "button", /^Approve/), []);
  // The user takes an answer back, and decides in another way.
  await page.press("Change", last);
  await hasFocus(page, last);
  await until(() => first.textContent.includes("Recorded, 3 to go"));
  await page.press("Change", first);
  await page.button("Approve 2", bar);
  await page.press("Deny", first);
  await page.fill(/^Reason/, "Not this one.", first);
  // What is decided together takes the place of a form that is open.
  await page.press("Approve 2", bar);
  await until(() => !named(first, "input, textarea", /^Reason/).length);
  await page.press("Change", first);
  await until(() => !("decided" in first.dataset));
  await page.press("Edit", first);
  await page.fill("Title", "Milk", first);
  await page.press("Approve with changes", first);
  await until(() => first.textContent.includes("Approved with changesRecorded, 2 to go"));
  assert.equal(first.querySelector("dd").textContent, "Milk");
  await page.press("Change", first);
  await until(() => first.querySelector("dd").textContent === "Bread");
  await page.press("Next", bar);
  await hasFocus(page, first);
  await page.fill("Your answer", "Monday", day);
  await page.press("Send answer", day);
  await until(() => day.textContent.includes("AnsweredRecorded, 2 to go"));
  assert.equal(page.sent.length, 1);
  await page.press("Deny all", bar);
  const [no, yes] = [{ approved: false }, { approved: true }];
  assert.deepEqual(await answers(page), [resolved("one", no), resolved("two", yes), resolved("three", yes), resolved("gone", no), resolved("day", "Monday")]);
  await until(() => !page.texts(".open-bar").length);
});

test("nested arguments are numbered and folded, in the question and in its form", async () => {
  const names = ["Oak table", "Lamp", "Chair", "Shelf", "Rug", "Cushion", "Curtain", "Mirror", "Rack", "Pot", "Vase", "Clock"];
  const order = {
    lines: names.map((title, n) => ({ sku: `A-${n}`, title, quantity: n + 1, price: 9.5 })),
    customer: { name: "Ada", billing: { name: "Ada", street: "12 St James's Square", city: "London", postcode: "SW1Y 4JH", country: "GB" } },
    to: Array.from({ length: 40 }, (_, n) => `p${n}@example.com`),
    patch: "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n",
    pins: [{ id: 7, name: "1234" }],
  };
  const [text, whole] = [{ type: "string" }, { type: "integer" }];
  const line = { type: "object", properties: { sku: text, title: text, quantity: { ...whole, minimum: 1 }, price: { type: "number" } } };
  const pin = { type: "object", properties: { id: whole, name: { ...text, format: "password" } } };
  const lists = { lines: { type: "array", items: line }, pins: { type: "array", items: pin } };
  const asked = approval("it", editing(lists, { metadata: { toolName: "order", arguments: JSON.stringify(order) } }));
  const page = await ask([asked], { events: [STARTED, ...begun("call-it", "order", order), waiting(asked)] });
  const heads = () => page.texts(".question .items > li > p");
  assert.deepEqual(heads(), [...names.slice(0, 5).map((name, n) => `${n + 1}. ${name}`), "1. id 7"]);
  assert.match(page.texts(".question .items > li").at(-1), /••••••••/);
  await page.press("Show all 12");
  await until(() => heads()[11] === "12. Clock");
  await hasFocus(page, page.root.querySelectorAll(".question .items > li")[5]);
  assert.equal(page.all(".question .values > li").length, 5);
  await page.press("Show all 40");
  await until(() => page.all(".question .values > li").length === 40);
  // What lies deep folds, with its size and its first values.
  assert.deepEqual(page.texts("details.fold > summary"), ["5 fieldsAda · 12 St James's Square · London · SW1Y 4JH · GB"]);
  assert.deepEqual([page.texts(".diff .removed"), page.texts(".diff .added")], [["-old"], ["+new"]]);
  // The form numbers them, too. Many begin folded, and one opens if a field in it does not fit.
  await page.press("Edit");
  const rows = () => [...page.root.querySelectorAll(".folded-row")];
  await has(() => page.texts(".folded-row summary"), [...names.map((name, n) => `${n + 1}.${name}`), "1.id 7"]);
  rows()[0].open = true;
  assert.equal((await page.field(/^Title/, rows()[0])).value, "Oak table");
  await page.fill(/^Quantity/, "0", rows()[0]);
  rows()[0].open = false;
  await page.press("Approve with changes");
  await until(() => rows()[0].open);
  await page.press("Remove Lines 2");
  await until(() => page.texts(".folded-row summary")[1] === "2.Chair");
});
