// The tools that a page registers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Catalog } from "./agui/catalog/catalog.js";

for (const name of ["", "a b", "é", "x".repeat(65)]) {
  test(`a tool of the name ${JSON.stringify(name)} is refused at once`, () => {
    const catalog = new Catalog(() => {});
    assert.throws(() => catalog.add({ name, handler() {} }), /A tool has a name/);
    assert.deepEqual([catalog.pageTools.size, catalog.tools.size], [0, 0]);
  });
}

test("a tool of a proper name is there", () => {
  const [catalog, tool] = [new Catalog(() => {}), { name: "x".repeat(64), handler() {} }];
  catalog.add(tool);
  assert.deepEqual([catalog.pageTools.get(tool.name), catalog.tools.get(tool.name)], [tool, tool]);
});

test("what is registered is taken back, unless something else has its name by then", () => {
  let changes = 0;
  const catalog = new Catalog(() => (changes += 1));
  const [first, second] = [() => {}, () => {}];
  const before = catalog.seams;
  const takeBack = catalog.register("activity map", first);
  assert.notEqual(catalog.seams, before); // views compare
  catalog.register("activity plan", first);
  catalog.register("activity map", second);
  takeBack();
  assert.deepEqual([...catalog.seams], [["activity map", second], ["activity plan", first]]);
  catalog.register("activity map", first);
  takeBack();
  takeBack();
  assert.deepEqual([...catalog.seams], [["activity plan", first]]);
  assert.equal(changes, 7);
});
