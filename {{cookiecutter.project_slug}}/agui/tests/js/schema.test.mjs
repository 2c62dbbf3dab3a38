import assert from "node:assert/strict";
import { test } from "node:test";

import { fieldOf, fromInput, toInput } from "../../static/agui/schema.js";

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
  [{ const: "a" }, "choice"],
  [{ type: "array", items: { enum: ["a", "b"] } }, "choices"],
  [{ type: "array", items: { $ref: "#/$defs/Colour" } }, "choices"],
  [{ $ref: "#/$defs/Colour" }, "choice"],
  [{ allOf: [{ $ref: "#/$defs/Colour" }] }, "choice"],
  [{ type: "object", properties: { x: {} } }, "group"],
  [{ type: "array", items: { type: "string" } }, "json"],
  [{ type: "object", additionalProperties: { type: "integer" } }, "json"],
  [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "json"],
  [{ type: ["string", "integer"] }, "json"],
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

test("a time goes out with its zone and comes in as the local one", () => {
  const field = fieldOf({ type: "string", format: "date-time", default: "2026-05-01T10:30:00Z" });
  assert.equal(toInput(field), "2026-05-01T06:30");
  assert.equal(fromInput(field, toInput(field)), "2026-05-01T10:30:00.000Z");
  assert.equal(toInput({ ...field, initial: "some day" }), "");
});

test("a schema that contains itself ends in JSON", () => {
  const schema = { $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } }, $ref: "#/$defs/Node" };
  let field = fieldOf(schema);
  const kinds = [];
  for (; field; [field] = field.fields) kinds.push(field.kind);
  assert.deepEqual(kinds, ["group", "group", "group", "json"]);
});

for (const schema of [
  null, true, { $ref: "#" }, { $ref: "#/$defs/nowhere" }, { $ref: "https://elsewhere.example/x" }, { anyOf: [] }, { enum: [] },
  { type: "object", properties: { x: null } }, { allOf: [{ $ref: "#" }] }, { type: "null" }, { $ref: "#/__proto__/x" },
]) {
  test(`the odd schema ${JSON.stringify(schema)} still gives a field`, () => {
    assert.ok(fieldOf(schema).kind);
  });
}
