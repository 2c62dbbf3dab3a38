// A table as a file: read back as it was, and nothing that a spreadsheet would run.
import assert from "node:assert/strict";
import { test } from "node:test";

import { csvOf } from "./agui/markdown/csv.js";
import { comparer } from "./agui/markdown/table-tools.js";

test("fields are quoted where they must be", () => {
  assert.equal(csvOf([["a", "b,c"], ['say "x"', "two\nlines"], [null, 1.5], [true, { a: 1 }]]), 'a,"b,c"\r\n"say ""x""","two\nlines"\r\n,1.5\r\ntrue,"{""a"":1}"\r\n');
});

test("no field is a formula, and numbers stay numbers", () => {
  for (const text of ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", "=HYPERLINK(\"x\")", "+", "-1 =2"]) {
    assert.match(csvOf([[text]]), /^"?'/, text);
  }
  for (const text of ["-5", "+49", "-1.5", "-1,234.50", "-3 %", -7]) assert.equal(csvOf([[text]]).replaceAll('"', ""), `${text}\r\n`);
});

test("no disguise makes a field a formula", () => {
  const signs = [...'=+-@', ...'＝＋－＠', ...'﹦﹢﹣﹫'];
  const blanks = ["", " ", "\t", "\r", "\n", "\u00a0", "\u3000", "\ufeff", "\u200b", "\0", "  \u200e "];
  for (const blank of blanks) {
    for (const sign of signs) assert.match(csvOf([[`${blank}${sign}HYPERLINK("x")`]]), /^"?'/, JSON.stringify(blank + sign));
  }
  for (const text of [" -5", "-5 ", "5 = 5", "a＝b", "株式会社", "−5", "’t", "100＋"]) assert.equal(csvOf([[text]]), `${text}\r\n`);
});

test("amounts are compared as amounts, texts as a reader would", () => {
  const sorted = (texts) => [...texts].sort(comparer(texts));
  assert.deepEqual(sorted(["$1,200", "-3", "90%", "$2.5"]), ["-3", "$2.5", "90%", "$1,200"]);
  assert.deepEqual(sorted(["item 10", "item 9", "Item 1"]), ["Item 1", "item 9", "item 10"]);
});
