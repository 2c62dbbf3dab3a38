import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldOf, fromInput, toInput } from "./agui/approvals/schema.js";

process.env.TZ = "America/New_York"; // somewhere else than UTC

/** The field of one property, as pydantic describes it. */
const property = (schema, { required = true, $defs = {} } = {}) =>
  fieldOf({ type: "object", properties: { a_name: schema }, required: required ? ["a_name"] : [], $defs }).fields[0];

for (const [schema, kind, type] of [
  [{ type: "string" }, "text", "text"],
  [{ type: "string", format: "date" }, "text", "date"],
  [{ type: "string", format: "date-time" }, "text", "datetime-local"],
  [{ type: "string", format: "made-up" }, "text", "text"],
  [{ type: "integer" }, "number", "number"],
  [{ type: "number" }, "number", "number"],
  [undefined, "text", "text"],
  [{}, "text", "text"],
]) {
  test(`${JSON.stringify(schema)} alone is one ${type} input`, () => {
    const field = fieldOf(schema);
    assert.deepEqual([field.kind, field.attributes.type, field.required], [kind, type, true]);
  });
}

for (const [schema, kind] of [
  [{ type: "boolean" }, "choice"],
  [{ type: "boolean", default: false }, "check"],
  [{ anyOf: [{ type: "boolean" }, { type: "null" }], default: true }, "choice"],
  [{ enum: ["a", "b"], type: "string" }, "choice"],
  [{ const: "a" }, "fixed"],
  [{ anyOf: [{ const: "a" }, { enum: ["b", 3] }] }, "choice"],
  [{ type: "array", items: { enum: ["a", "b"] } }, "choices"],
  [{ type: "array", items: { $ref: "#/$defs/Colour" } }, "choices"],
  [{ $ref: "#/$defs/Colour" }, "choice"],
  [{ allOf: [{ $ref: "#/$defs/Colour" }] }, "choice"],
  [{ type: "object", properties: { x: {} } }, "group"],
  [{ type: "array", items: { type: "string" } }, "list"],
  [{ type: "array", items: { type: "string" }, prefixItems: [{}] }, "json"],
  [{ type: "array", prefixItems: [{}] }, "tuple"],
  [{ type: "array" }, "json"],
  [{ type: "object" }, "json"],
  [{ type: "object", additionalProperties: { type: "integer" } }, "map"],
  [{ type: "null" }, "fixed"],
  [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "union"],
  [{ type: ["string", "integer"] }, "union"],
  [{ anyOf: Array.from({ length: 20 }, () => ({ type: "object" })) }, "json"],
]) {
  test(`${JSON.stringify(schema)} is a ${kind}`, () => {
    const $defs = { Colour: { title: "Colour", type: "string", enum: ["red", "blue"] } };
    assert.equal(property(schema, { $defs }).kind, kind);
  });
}

test("a field is called by its own title, else by its name, never by a class", () => {
  const $defs = { Colour: { title: "Colour", description: "Of the car.", enum: ["red"] } };
  assert.equal(property({ type: "string", title: "Its title" }).label, "Its title");
  assert.equal(property({ type: "string" }).label, "A name");
  const field = property({ $ref: "#/$defs/Colour" }, { $defs });
  assert.deepEqual([field.label, field.help, field.options], ["A name", "Of the car.", ["red"]]);
  assert.equal(property({ $ref: "#/$defs/Colour", description: "Own." }, { $defs }).help, "Own.");
});

for (const nullable of [{ anyOf: [{ type: "string" }, { type: "null" }] }, { type: ["string", "null"] }]) {
  test(`${JSON.stringify(nullable)} may stay empty`, () => {
    const needed = property(nullable);
    assert.deepEqual([needed.kind, needed.required, fromInput(needed, "")], ["text", false, null]);
    assert.equal(fromInput(property(nullable, { required: false }), ""), undefined);
  });
}

test("null is no option but makes a choice optional", () => {
  const field = property({ enum: ["a", null] });
  assert.deepEqual([field.options, field.required, field.blank], [["a"], false, null]);
});

test("a default that is removed does not come back", () => {
  assert.equal(fromInput(property({ type: "string", default: "x" }, { required: false }), ""), "");
  const nullable = { anyOf: [{ type: "string" }, { type: "null" }], default: "x" };
  assert.equal(fromInput(property(nullable, { required: false }), ""), null);
});

test("defaults are shown, also those of a whole object", () => {
  const group = property({ type: "object", properties: { x: { type: "integer", default: 1 }, y: { type: "integer", default: 2 } }, default: { x: 3 } });
  assert.deepEqual(group.fields.map(toInput), ["3", "2"]);
});

test("what the browser can check is left to it", () => {
  assert.deepEqual(fieldOf({ type: "integer", exclusiveMinimum: 0, maximum: 9 }).attributes, { type: "number", step: 1, min: 1, max: 9 });
  assert.deepEqual(fieldOf({ type: "integer" }).attributes, { type: "number", step: 1, min: null, max: null });
  assert.equal(fieldOf({ type: "number", minimum: 0.5 }).attributes.min, 0.5);
  assert.equal(fieldOf({ type: "string", maxLength: 5 }).attributes.maxlength, 5);
});

test("what is typed becomes JSON of the right type", () => {
  assert.equal(fromInput(fieldOf({ type: "integer" }), "12"), 12);
  assert.equal(fromInput(fieldOf({ type: "number" }), "0"), 0);
  assert.equal(fromInput(fieldOf({ type: "string" }), "12"), "12");
  assert.deepEqual(fromInput(fieldOf({ type: "array" }), '["a"]'), ["a"]);
  assert.throws(() => fromInput(fieldOf({ type: "array" }), "a, b"));
});

test("a time that is typed anew goes out with its zone", () => {
  const field = fieldOf({ type: "string", format: "date-time" });
  assert.equal(fromInput(field, "2026-05-01T06:30"), "2026-05-01T10:30:00.000Z");
});

for (const [before, shown, typed, after, zone] of [
  ["2026-05-01T10:30:00Z", "2026-05-01T10:30:00", "2026-05-02T10:30", "2026-05-02T10:30:00Z", "UTC"],
  ["2026-05-01T10:30:59+02:00", "2026-05-01T10:30:59", "2026-05-01T11:30:59", "2026-05-01T11:30:59+02:00", "UTC+02:00"],
  ["2026-05-01 10:30", "2026-05-01T10:30", "2026-05-01T11:30", "2026-05-01 11:30", ""],
  ["2026-05-01T10:30:00.123456", "2026-05-01T10:30:00", "2026-05-02T10:30", "2026-05-02T10:30:00.123456", ""],
  ["2026-05-01T10:30:00.5", "2026-05-01T10:30:00", "2026-05-01T10:31", "2026-05-01T10:31:00", ""],
]) {
  test(`the time ${before} stays as exact and in its zone when it is changed`, () => {
    const field = fieldOf({ type: "string", format: "date-time" }, { initial: before });
    assert.deepEqual([toInput(field), fromInput(field, typed), field.zone], [shown, after, zone]);
  });
}

test("a text that is no time is a text", () => {
  const field = fieldOf({ type: "string", format: "date-time" }, { initial: "some day" });
  assert.deepEqual([field.kind, field.attributes.type, toInput(field)], ["text", "text", "some day"]);
});

test("a number stays as it was written", () => {
  const field = fieldOf({ type: "integer" });
  assert.equal(String(fromInput(field, "12345678901234567890")), "12345678901234567890");
  assert.equal(fromInput(fieldOf({ anyOf: [{ type: "number" }, { type: "string" }] }, { initial: "12.50" }), "12.60"), "12.60");
});

test("definitions that refer to each other in every way end", () => {
  const names = Array.from({ length: 12 }, (_, index) => `D${index}`);
  const $defs = Object.fromEntries(names.map((name) => [name, { anyOf: names.map((other) => ({ $ref: `#/$defs/${other}` })) }]));
  const boxes = Object.fromEntries(names.map((name) => [name, { type: "object", properties: Object.fromEntries(names.map((other) => [other, { $ref: `#/$defs/${other}` }])) }]));
  for (const defs of [$defs, boxes]) {
    let made = 0;
    const walk = (field) => ((made += 1), field.fields.forEach(walk));
    walk(fieldOf({ properties: { a: { $ref: "#/$defs/D0" } }, $defs: defs }, { initial: { a: { D1: { D2: {} } } } }));
    assert.ok(made < 10_000, String(made));
  }
});

test("a schema that contains itself ends in JSON", () => {
  const schema = { $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } }, $ref: "#/$defs/Node" };
  let field = fieldOf(schema);
  const kinds = [];
  for (; field; [field] = field.fields) kinds.push(field.kind);
  assert.deepEqual(kinds, ["group", "group", "group", "group", "json"]);
});

for (const schema of [
  null, true, { $ref: "#" }, { $ref: "#/$defs/nowhere" }, { $ref: "https://elsewhere.example/x" }, { anyOf: [] }, { enum: [] },
  { type: "object", properties: { x: null } }, { allOf: [{ $ref: "#" }] }, { type: "null" }, { $ref: "#/__proto__/x" },
]) {
  test(`the odd schema ${JSON.stringify(schema)} still gives a field`, () => {
    assert.ok(fieldOf(schema).kind);
  });
}

test("an alternative is found by its literal, and called by it", () => {
  const $defs = {
    Cat: { title: "Cat", type: "object", properties: { kind: { const: "cat", type: "string" }, lives: { type: "integer" } }, required: ["kind"] },
    Dog: { title: "Dog", type: "object", properties: { kind: { const: "dog", type: "string" }, name: { type: "string" } }, required: ["kind", "name"] },
  };
  const schema = { oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }], discriminator: { propertyName: "kind" }, $defs };
  const field = fieldOf(schema, { initial: { kind: "dog", name: "Rex" } });
  assert.deepEqual([field.kind, field.chosen, field.fields.map((one) => one.label)], ["union", 1, ["Cat", "Dog"]]);
  assert.deepEqual(field.fields[1].fields.map((one) => [one.kind, one.initial]), [["fixed", "dog"], ["text", "Rex"]]);
  assert.equal(field.fields[0].fields[1].initial, undefined);
});

test("a union that may be null has a blank choice beside its alternatives", () => {
  const field = property({ anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }], default: 3 });
  assert.deepEqual([field.kind, field.required, field.chosen, field.fields.length], ["union", false, 1, 2]);
});

test("entries of a list have their own fields, however often a schema contains itself", () => {
  const $defs = { Node: { type: "object", properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Node" }, maxItems: 2 } } } };
  let field = fieldOf({ $ref: "#/$defs/Node", $defs }, { initial: { children: [{ name: "child" }] } });
  const children = field.fields[1];
  assert.deepEqual([children.kind, children.least, children.most], ["list", 0, 2]);
  assert.equal(children.item(children.initial[0]).fields[0].initial, "child");
  for (let hops = 0; field.kind === "group"; hops += 1) {
    assert.ok(hops < 10);
    field = field.fields[1].kind === "list" ? field.fields[1].item() : field.fields[1];
  }
  assert.equal(field.kind, "json");
});

test("what is given wins over the default, null as well", () => {
  const schema = { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }], default: "x" }, b: { type: "integer", default: 2 } } };
  assert.deepEqual(fieldOf(schema, { initial: { a: null } }).fields.map((one) => one.initial), [null, 2]);
});

test("limits of numbers are the browser's to check", () => {
  const { attributes } = property({ type: "number", exclusiveMinimum: 0, maximum: 9, multipleOf: 0.5 });
  assert.deepEqual(attributes, { type: "number", step: 0.5, min: 0, max: 9 });
});

for (const schema of [null, 5, "x", [], { anyOf: [null, 5] }, { type: "array", items: 5 }, { properties: { a: null } }, { enum: 5 }, { $ref: 7 }, { $ref: "#/__proto__/x" }, { required: 5, properties: { a: { const: null } } }]) {
  test(`${JSON.stringify(schema)} is no schema, and still a field`, () => assert.ok(fieldOf(schema).kind));
}
