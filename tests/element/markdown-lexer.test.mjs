import assert from "node:assert/strict";
import { test } from "node:test";

import { fastest, growsTooFast } from "./growth.mjs";
import { read } from "./html.mjs";

// What reading costs must grow with the text, not with its square: a model may write anything, and it is stored.
const HOSTILE = {
  "lines that go on with a quote": (n) => `> > > a\n${"b\n".repeat(n)}`,
  "quotes that go on again and again": (n) => "> a\nb\n".repeat(n),
  "lines that go on with an item": (n) => `- - - - a\n${"b\n".repeat(n)}`,
  "brackets that close nothing": (n) => "](".repeat(n),
  "brackets that open": (n) => "[".repeat(n),
  "brackets behind an address": (n) => `www.a${")".repeat(n)}`,
  "references behind an address": (n) => `www.a${"&a;".repeat(n)}`,
  blanks: (n) => `a${" ".repeat(n)}b`,
  "stars": (n) => "*a ".repeat(n),
  "backticks": (n) => "`a``".repeat(n),
  "runs of backticks that get longer": (n) => Array.from({ length: Math.sqrt(n) | 0 }, (_, size) => "`".repeat(size + 1)).join("a"),
  "stars that open more than they close": (n) => "*a**".repeat(n),
  "declarations that don't end": (n) => "a <!A ".repeat(n),
  "addresses in brackets that open": (n) => "(www.".repeat(n),
  "addresses that full-width punctuation ends": (n) => "www.a。".repeat(n),
  "addresses that letters end": (n) => "www.aa.bb中".repeat(n),
  "an address of brackets": (n) => `www.a${"(a".repeat(n)}`,
  "an address of marks": (n) => `www.a${"*'".repeat(n)}中`,
  "stars beside full-width punctuation": (n) => "字。*".repeat(n),
  "stars behind much punctuation": (n) => `字${"!".repeat(n)}*`.repeat(3),
  "empty lines in code": (n) => `    a${"\n".repeat(n)}`,
  "short rows of a wide table": (n) => `|${"a|".repeat(100)}\n|${"-|".repeat(100)}\n${"a\n".repeat(n)}`,
  "lines that go on with thirty quotes": (n) => `${"> ".repeat(30)}a\n${"b\n".repeat(n)}`,
  "links after brackets": (n) => `${"[".repeat(n)}${"[a](b)".repeat(n / 8)}`,
  "formulas that don't end": (n) => "\\(a".repeat(n),
  "formulas that end in blanks": (n) => "$a ".repeat(n),
  "an amount before signs": (n) => `$a${"^".repeat(n)}$1`,
  "blocks of formulas that don't end": (n) => "\\[\na\n".repeat(n),
  "environments that don't end": (n) => "\\begin{align}a".repeat(n),
  "beginnings of environments": (n) => "\\begin{".repeat(n),
  "notes": (n) => "[^a]: b\n".repeat(n),
  "marks of notes": (n) => `${"[^a]".repeat(n)}\n\n[^a]: b`,
  "items that don't end": (n) => `a <ul>${"<li>".repeat(n)}`,
  "labels within labels": (n) => `${"[a".repeat(n)}${"]".repeat(n)}\n\n[x]: y`,
};

// By day one in four: the others are read every night, together with all pairs of signs.
const every = process.env.AGUI_SWEEP === "0" ? 4 : 1;
for (const [name, make] of Object.entries(HOSTILE).filter((_, place) => place % every === 0)) {
  test(`${name} are read in time`, () => {
    const reading = (size) => {
      const text = make(size);
      return () => read(text, false, new Map(), { copy: "" });
    };
    assert.ok(!growsTooFast(reading, 3000, 0.25));
  });
}

test("a short text nested again and again is no more than that", () => {
  const [nested, flat] = [`${"> ".repeat(8)}a\n`, ""].map((beginning) => {
    const text = `${beginning}${"b\n".repeat(500)}`;
    return fastest(() => read(text, false, new Map(), { copy: "" }));
  });
  assert.ok(nested < 200 * Math.max(flat, 1));
});
