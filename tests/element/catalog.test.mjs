// The tools that a page registers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Catalog } from "./agui/catalog/catalog.js";

for (const name of ["", "a b", "é", "x".repeat(65)]) {
  test(`a tool of the name ${JSON.stringify(name)} is refused at once`, () => {
    const catalog = new Catalog();
    assert.throws(() => catalog.add({ name, handler() {} }), /A tool has a name/);
    assert.deepEqual([catalog.pageTools.size, catalog.tools.size], [0, 0]);
  });
}

test("a tool of a proper name is there", () => {
  const [catalog, tool] = [new Catalog(), { name: "x".repeat(64), handler() {} }];
  catalog.add(tool);
  assert.deepEqual([catalog.pageTools.get(tool.name), catalog.tools.get(tool.name)], [tool, tool]);
});
