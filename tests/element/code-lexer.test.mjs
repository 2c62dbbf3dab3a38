// What has a colour in a block of code, and that no code is slow to read.
import assert from "node:assert/strict";
import { test } from "node:test";

import { coloured } from "./agui/markdown/code-lexer.js";
import { fastest, growsTooFast } from "./growth.mjs";

/** By kind: what of a text has that colour. */
function colours(text, language) {
  const all = {};
  for (const { kind, start, end } of coloured(text, language)) (all[kind] ??= []).push(text.slice(start, end));
  return all;
}

const SAMPLES = {
  python: [
    '@app.get("/x")\ndef f(a):\n    """doc\n    "more"\n    """\n    return None # it\'s 1\nx = 1_000.5e3',
    { name: ["@app.get", "f"], string: ['"/x"', '"""doc\n    "more"\n    """'], keyword: ["def", "return", "None"], comment: ["# it's 1"], number: ["1_000.5e3"] },
  ],
  ts: [
    "const a = /x[/']y/g.test(b) ? `q${1}\n'` : a / b / 2; // it's\n/* x\n*/ f('\\'', \"//\")",
    { keyword: ["const"], string: ["/x[/']y/g", "`q${1}\n'`", "'\\''", '"//"'], name: ["test", "f"], number: ["2"], comment: ["// it's", "/* x\n*/"] },
  ],
  go: ["func main() { x := `a\"` }", { keyword: ["func"], name: ["main"], string: ['`a"`'] }],
  sql: ["Select count(*) FROM t WHERE x = 'a' -- it's", { keyword: ["Select", "FROM", "WHERE"], name: ["count"], string: ["'a'"], comment: ["-- it's"] }],
  json: ['{"a": 1, "b" : [true, "x"]}', { name: ['"a"', '"b"'], number: ["1"], keyword: ["true"], string: ['"x"'] }],
  yaml: ["a-b: 'x' # no\nurl: http://x#y", { name: ["a-b", "url", "http"], string: ["'x'"], comment: ["# no"] }],
  toml: ['[tool.x]\na = "b" # c', { keyword: ["[tool.x]"], name: ["a"], string: ['"b"'], comment: ["# c"] }],
  html: ["<!-- c --><a href=\"x\">it's &amp;</a>", { comment: ["<!-- c -->"], keyword: ["<a", ">", "</a", ">"], name: ["href"], string: ['"x"'], number: ["&amp;"] }],
  css: ['/* c */ @media print { .a-b { width: 2px !important; content: "x" } }', { comment: ["/* c */"], keyword: ["@media", "!important"], name: [".a-b", "width", "content"], number: ["2px"], string: ['"x"'] }],
  bash: ['if [ -f $X ]; then cat "${Y}" --long; fi # x', { keyword: ["if", "then", "fi"], name: ["-f", "$X", "--long"], string: ['"${Y}"'], comment: ["# x"] }],
  diff: ["@@ -1 +1 @@\n-old\n+new\n same - 1", { name: ["@@ -1 +1 @@"], removed: ["-old"], added: ["+new"], number: ["1"] }],
};

for (const [language, [text, expected]] of Object.entries(SAMPLES)) {
  test(`${language} has its colours`, () => assert.deepEqual(colours(text, language), expected));
}

test("a name that is no language has no colours", () => {
  for (const name of ["", "klingon", "constructor", "__proto__", "toString"]) assert.deepEqual(coloured("if x", name), []);
});

test("code without an end is read to its end", () => {
  for (const text of ['"a', "'a", "`a", "/* a", '"""a', "<!-- a", "\\"]) {
    for (const language of Object.keys(SAMPLES)) for (const { end } of coloured(text, language)) assert.ok(end <= text.length);
  }
});

test("no more places have colours than asked for", () => assert.equal(coloured("1 ".repeat(100), "js", 7).length, 7));

const UNITS = [
  '"', "'", "`", "/*", "//", "a", "(", "<", "<!--", "\\", "#", "1", "0x", " ", "\n", "a=", '"a\\', "/", "${", "`${", "'''", '"""', "=/", "=/[",
  "a.", "@", "$(", "--", "<a ", '{"a":', "=>", "\t", "1.", "é", "<a>", "- ", "a:", "[", "\n[", "a-", "1e", "1_", "&#", '="', "+\n", "\n+", "-->", "_", "-",
];

test("whatever is repeated, the work grows with it and not with its square", () => {
  const work = (unit, language) => (size) => () => coloured(unit.repeat(size / unit.length), language);
  const calm = fastest(work("a = 1;\n", "js")(16384));
  const slow = [];
  for (const language of ["js", "c", ...Object.keys(SAMPLES), "ruby"]) {
    for (const unit of UNITS.flatMap((one) => ["", "a", "\n", '"'].map((other) => one + other))) {
      if (growsTooFast(work(unit, language), 4096, calm)) slow.push([language, unit]);
    }
  }
  assert.deepEqual(slow, []);
});
