// All short strings of Markdown's own characters, repeated: what reading them costs must grow with their length.
//
// AGUI_SWEEP=3 tries strings of three pieces, between all the beginnings and ends; that takes hours.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { baseURI: "https://page.example/" };
const { read } = await import("./agui/markdown-nodes.js");

const DEPTH = Number(process.env.AGUI_SWEEP ?? 2);
const LENGTH = 1000;
const PIECES = [..."*_~`[]()<>!&\\|:-+=#.;1a@\"'/ \t\n", "www.", "http://", "a@b.", "<!", "<a ", "&a;", "](", "![", "a="];
const BEGINNINGS = ["", "a ", "[", "- ", "> ", "| ", "<a ", "[a]: ", "# ", "[](", "`", "\n\n"];
const ENDS = ["", "a", "\nb", ")", "]", "\n-|-\n"];
/** Strings of two pieces stand between few others, so that the sweep takes seconds. */
const FRAMES = [["", ""], ["[", "a)"]];
const ALL_FRAMES = BEGINNINGS.flatMap((beginning) => ENDS.map((end) => [beginning, end]));

function units(depth) {
  return depth === 0 ? [""] : units(depth - 1).flatMap((unit) => PIECES.map((piece) => unit + piece));
}

/** In milliseconds of the processor: whole, and as it is read while it grows. */
function cost(text) {
  const begun = process.cpuUsage();
  for (const growing of [false, true]) read(text, growing, new Map(), { copy: "" });
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

const fastest = (text) => Math.min(...Array.from({ length: 5 }, () => cost(text)));

/** Is four times the text more than eight times the work? Sixteen times would be the square. */
function growsTooFast(make) {
  const long = make(4 * LENGTH);
  // What is cheap, compared with a text that has nothing to it, grows as it should.
  if (cost(long) < 4 * CALM || fastest(long) < 4 * CALM) return false;
  // What is dear by a constant is told from what is quadratic by two steps.
  return fastest(long) > 8 * fastest(make(LENGTH)) && fastest(make(16 * LENGTH)) > 8 * fastest(long);
}

const prose = "Some words of a text, and then some more.\n".repeat(LENGTH / 5);
for (let time = 0; time < 10; time++) cost(prose);
const CALM = fastest(prose.slice(0, 4 * LENGTH));

for (let depth = 1; depth <= DEPTH; depth++) {
  test(`strings of ${depth} are read in time, however often they are repeated`, (t) => {
    t.mock.method(console, "warn", (...words) => assert.fail(words.join(" ")));
    const frames = depth === 1 || DEPTH > 2 ? ALL_FRAMES : FRAMES;
    const slow = [];
    for (const unit of units(depth)) {
      for (const [beginning, end] of frames) {
        const make = (length) => beginning + unit.repeat(length / unit.length) + end;
        if (growsTooFast(make)) slow.push([beginning, unit, end]);
      }
    }
    assert.deepEqual(slow, []);
  });
}
