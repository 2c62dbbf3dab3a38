import assert from "node:assert/strict";
import { test } from "node:test";

import { Exact } from "./agui/json/exact.js";
import { aboutCall } from "./agui/tools/about.js";
import { hidden } from "./agui/tools/arguments.js";
import { itemName } from "./agui/tools/item-name.js";

/** Is what these keys lead to hidden? */
const hides = (paths, ...keys) => keys.reduce((secrets, key) => secrets.within(key), hidden(paths)).hides;

test("paths hide what they lead to, and nothing else", () => {
  const paths = [["pin"], ["doors", "*", "code"]];
  assert.deepEqual([hides(paths, "pin"), hides(paths, "name"), hides(paths)], [true, false, false]);
  assert.deepEqual([hides(paths, "doors", 0, "code"), hides(paths, "doors", "front", "code")], [true, true]);
  assert.deepEqual([hides(paths, "doors", 0), hides(paths, "doors", 0, "name"), hides(paths, "code")], [false, false, false]);
});

test("an item is called by its title, its name or its number", () => {
  const told = (item, hides) => {
    const name = itemName(item, hides);
    return name && [name.key, name.text, name.isKey];
  };
  assert.deepEqual(told({ id: 5, Name: "Ada" }), ["Name", "Ada", false]);
  assert.deepEqual(told({ name: "Ada", title: "Oak table" }), ["title", "Oak table", false]);
  assert.deepEqual(told({ quantity: 2, id: 5 }), ["id", "5", true]);
  assert.deepEqual(told({ id: new Exact("12345678901234567890") }), ["id", "12345678901234567890", true]);
  // No name is better than a secret, a page of text or an object.
  assert.deepEqual(told({ title: "secret", id: 5 }, (key) => key === "title"), ["id", "5", true]);
  assert.deepEqual(told({ title: "x".repeat(81), name: "two\nlines", label: {}, subject: true }), null);
  for (const odd of [null, "text", 5, ["title"], {}]) assert.equal(itemName(odd), null);
});

test("a call is about its first text that says something alone", () => {
  assert.equal(aboutCall({ at: "2026-11-27T10:00", number: 3, code: "42", title: " Buy\n milk " }), "Buy milk");
  assert.equal(aboutCall({ street: "12 St James's Square", city: "London" }), "12 St James's Square");
  assert.equal(aboutCall({ text: "x".repeat(200) }).length, 100);
  assert.equal(aboutCall({ task_id: 17, text: "Buy milk" }), "17 · Buy milk");
  assert.equal(aboutCall({ reason: "broken", orderId: "A-17", paid: 3 }), "A-17 · broken");
  assert.equal(aboutCall({ id: "6f9619ff-8b86-d011-b42d-00c04fc964ff", grid: 4, name: "Ada" }), "Ada");
  assert.equal(aboutCall({ id: "6f9619ff-8b86-d011-b42d-00c04fc964ff" }), "6f9619ff-8b86-d011-b42d-00c04fc964ff");
  for (const none of [{}, null, undefined, "text", { deep: { title: "Buy milk" } }, { done: true }]) assert.equal(aboutCall(none), "");
});
