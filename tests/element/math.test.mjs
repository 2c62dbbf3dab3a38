// Are formulas in TeX understood as another program understands them, and found in Markdown?
//
// The formulas are those of the English Wikipedia of 2014. AGUI_FORMULAS=all compares all of them, which takes a minute.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import temml from "temml";

import { readTex } from "./agui_formulas/tex.js";
import { growsTooFast } from "./growth.mjs";
import { read } from "./html.mjs";
import { looksOf, parse } from "./mathml.mjs";

const SAMPLE = 900;
const all = [...new Set(readFileSync(new URL("node_modules/texvcjs/test/en-wiki-formulae.txt", import.meta.url), "utf8").split("\n"))];
const step = process.env.AGUI_FORMULAS === "all" ? 1 : all.length / SAMPLE;
const formulas = Array.from({ length: Math.floor(all.length / step) }, (_, index) => all[Math.floor(index * step)].trim());

function expected(tex) {
  try {
    return looksOf(parse(temml.renderToString(tex, { displayMode: true, throwOnError: true })));
  } catch {
    return null; // Temml does not know the commands that only Wikipedia has.
  }
}

test("formulas are understood as Temml understands them", (t) => {
  const pairs = formulas.map((tex) => [readTex(tex), expected(tex), tex]).filter(([, theirs]) => theirs);
  const others = pairs.filter(([ours, theirs]) => !ours || looksOf(ours) !== theirs);
  const share = 1 - others.length / pairs.length;
  t.diagnostic(`${pairs.length} formulas, ${(100 * share).toFixed(1)} % are the same; others: ${others.slice(0, 9).map(([, , tex]) => tex).join("   ")}`);
  assert.ok(pairs.length > 0.95 * formulas.length);
  assert.ok(share >= 0.97);
});

test("what is not understood is not read at all", () => {
  const texts = [
    "\\foo", "a + \\foo{b}", "\\frac{a}", "\\frac", "{a", "a}", "x^", "x_", "\\left( a", "a \\right)", "\\sqrt[3", "50%", "a # b",
    "\\begin{matrix} a", "\\begin{matrix} a \\end{pmatrix}", "\\begin{constructor} a \\end{constructor}", "\\text{a", "\\text{\\foo}",
    "\\def\\a{b}\\a", "\\newcommand{\\a}{b}", "\\href{javascript:alert(1)}{x}", "\\ce{H2O}", "\\", "\\begin", "\\big", "\\left\\foo x \\right)",
  ];
  for (const tex of texts) assert.equal(readTex(tex), null, tex);
});

test("depth has a limit, and so has length", () => {
  const openings = ["{", "x^{", "\\sqrt{", "\\frac{a}{", "\\left(", "\\begin{matrix}", "\\sqrt", "\\hat", "x^", "\\displaystyle ", "a \\over ", "\\sqrt[", "\\mathbf{", "\\not"];
  for (const opening of openings) assert.equal(readTex(opening.repeat(9000 / opening.length)), null, opening);
  const nested = (depth) => "{".repeat(depth) + "x" + "}".repeat(depth);
  assert.ok(readTex(nested(20)));
  assert.equal(readTex(nested(4000)), null);
  assert.equal(readTex("x".repeat(65536)), null);
});

const UNITS = [
  "x", "1", "1.", "{", "}", "{x}", "x^2", "x_", "^", "'", "\\", "\\alpha ", "\\frac ab", "\\sqrt x", "\\sqrt[", "\\text{a}", "\\text{", "\\mathrm{x}", "\\mathrm x",
  "a & ", "a \\\\ ", "\\\\[", "\\\\[2pt]", "\\left(", "\\left( a \\right)", "\\begin{matrix} a \\end{matrix}", "\\begin{matrix}", "\\hline", "\\big(", "-", "\\sin ", "[", "]",
  "\\operatorname{x}", "\\hat x", "\\not=", "\\dots", " ", "\\, ", "\u0301", "\u{1d400}",
];

test("a formula is read in time that is linear in its length", () => {
  const reading = (unit) => (length) => {
    const tex = unit.repeat(length / unit.length);
    return () => readTex(tex);
  };
  assert.deepEqual(UNITS.filter((unit) => growsTooFast(reading(unit), 600, 0.2)), []);
});

/** The formulas that are found in a text; those in blocks are in brackets. */
function found(markdown) {
  const nodes = [];
  const collect = (node) => typeof node !== "string" && (nodes.push(node), node[2].forEach(collect));
  read(markdown, false, new Map(), { copy: "" }).nodes.forEach(collect);
  const maths = nodes.filter(([, attributes]) => attributes.class?.startsWith("math"));
  return maths.map(([, attributes, [tex]]) => (attributes.class.includes("block") ? [tex] : tex));
}

for (const [name, markdown, formulas] of [
  ["dollars and backslashes", "$a$ and $$b$$ and \\(c\\) and \\[d\\]", ["a", ["b"], "c", ["d"]]],
  ["amounts are none", "It costs $5, $6 and $7.50, or $100-$200 and US$5k–$6k; not $ 5$ or $5 $.", []],
  ["a word of a shell is none", "Set $PATH and then $HOME.", []],
  ["stars and underscores in them are no emphasis", "$a_1 * b_1$ and *it* $c_*$", ["a_1 * b_1", "c_*"]],
  ["code is code", "`$a$` and ``\\(b\\)``\n\n```\n$c$\n```", []],
  ["an escaped dollar is none", "\\$a$ and $\\$5$", ["\\$5"]],
  ["the number of a note is none", "As said\\[12\\], \\(\\), \\[1 + 2\\]", [["1 + 2"]]],
  ["a block without an end does not take all that follows", `$$\na\n${"\nb\n".repeat(40)}\n- $c$\n`, ["c"]],
  ["an escaped bracket alone is none", "\\(a and \\[b", []],
  ["a block has lines that would be lists, headings and paragraphs", "A:\n$$\na\n- b\n+ c\n\n# d\n$$\nwhere $e$", [["a\n- b\n+ c\n\n# d"], "e"]],
  ["a block in a list", "1. one\n   \\[\n   a\n   - b\n   \\]\n2. two $c$", [["a\n- b"], "c"]],
  ["a block ends with its line", "$$\na$$\n\n- *b*", [["a"]]],
  ["a block in one line", "$$a = b$$\n\n- c", [["a = b"]]],
  ["a cell of a table", "| a | b |\n|---|---|\n| $x_1$ | $5 |", ["x_1"]],
  ["an emphasis, a heading and a link", "# $a$\n\n**$b$** [$c$](https://e.org)", ["a", "b", "c"]],
  ["not in an address", "https://e.org/$a$ <https://e.org/$b$>", []],
]) test(`formulas in Markdown: ${name}`, () => assert.deepEqual(found(markdown), formulas));

const shownText = (nodes) => nodes.map((node) => (typeof node === "string" ? node : node[1].class === "code-head" ? "" : shownText(node[2]))).join("");

test("half a formula is not shown, and nothing that was shown goes away", () => {
  const texts = [
    "The roots $x_1 = 2$ and $\\frac{a}{b}$ cost $5 and $10, or $5-$10.\n\nNext $2^n$.",
    "Then \\(a * b\\) and \\[c_1\n+ d\\] and so on.",
    "So:\n\n$$\na\n- b\n\n+ c\n$$\n\nwhere $2x + 3 = 7$ holds.",
    "- one \\[\n  a\n  \\]\n- two\n\n| a |\n|---|\n| $x_1$ |",
    "Set $PATH to the folder of the program, and $HOME to yours.",
    "`$a` and **b $c_1$ d**, **$e$** and `$f`, **`g`**.",
  ];
  for (const text of texts) {
    const steps = Array.from({ length: text.length }, (_, at) => shownText(read(text.slice(0, at), true, new Map(), { copy: "" }).nodes));
    const end = shownText(read(text, false, new Map(), { copy: "" }).nodes);
    const squeezed = (shown) => shown.replace(/\s+/g, "");
    for (const step of steps) assert.ok(squeezed(end).startsWith(squeezed(step)), `${step} is no beginning of ${end}`);
  }
});
