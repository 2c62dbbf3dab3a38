// All short strings of Markdown's own characters, repeated: what reading them costs must grow with their length.
//
// AGUI_SWEEP=2 tries what takes minutes.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fastest, growsTooFast, units } from "./growth.mjs";
import { read } from "./html.mjs";

const DEPTH = Number(process.env.AGUI_SWEEP ?? 1);
const LENGTH = 1000;
const KB64 = 65536;
const LETTERS = [..."*_~`[]()<!\\|>-a&$ \n"];
const PIECES = [...LETTERS, ..."+=#.;:1@\"'/\t", "$$", "\n$$\n", "\\(", "\\[", "\n\\[\n", "$1", "^", "www.", "http://", "a@b.", "<!", "<a ", "&a;", "字", "。", "](", "![", "a="];
const BEGINNINGS = ["$", "\\(", "$$", "", "a ", "[", "- ", "> ", "| ", "<a ", "[a]: ", "# ", "[](", "`", "\n\n", "| a |\n|-|\n"];
const ENDS = ["", "a", "\nb", ")", "]", "\n-|-\n", "*a**"];
const FRAMES = BEGINNINGS.flatMap((beginning) => ENDS.map((end) => [beginning, end]));
const FEW_FRAMES = [["", ""], ["[", "a)"]];

/** Read it whole, and as it is read while it grows. */
const reading = (text) => () => {
  for (const growing of [false, true]) read(text, growing, new Map(), { copy: "" });
};
const repeated = (unit, beginning = "", end = "") => (length) => reading(beginning + unit.repeat(length / unit.length) + end);
const PROSE = "Some words of a text, and then some more.\n";
for (let time = 0; time < 10; time++) fastest(repeated(PROSE)(4 * LENGTH));
const CALM = fastest(repeated(PROSE)(4 * LENGTH));

function sweep(name, strings, frames) {
  test(name, (t) => {
    t.mock.method(console, "warn", (...words) => assert.fail(words.join(" ")));
    const slow = [];
    let [dearest, most] = ["", 0];
    for (const unit of strings.map((letters) => letters.join(""))) {
      for (const [beginning, end] of frames) {
        if (growsTooFast(repeated(unit, beginning, end), LENGTH, CALM)) slow.push([beginning, unit, end]);
      }
      const each = fastest(repeated(unit)(4 * LENGTH), 1);
      if (each > most) [dearest, most] = [unit, each];
    }
    const [long, prose] = [dearest, PROSE].map((unit) => fastest(repeated(unit)(KB64)) / 2);
    t.diagnostic(`${strings.length * frames.length} texts; 64 kB of ${JSON.stringify(dearest)} take ${long.toFixed(0)} ms, of prose ${prose.toFixed(0)} ms`);
    assert.deepEqual(slow, []);
  });
}

sweep("each piece, between all beginnings and ends, is read in time", PIECES.map((piece) => [piece]), FRAMES);
for (const length of [2, 3]) sweep(`strings of ${length} letters are read in time, however often they are repeated`, [...units(LETTERS, length)], [["", ""]]);
if (DEPTH > 1) {
  sweep("strings of 4 letters are read in time", [...units(LETTERS, 4)], [["", ""]]);
  sweep("strings of 2 pieces are read in time", [...units(PIECES, 2)], FEW_FRAMES);
  sweep("strings of 2 letters, between all beginnings and ends, are read in time", [...units(LETTERS, 2)], FRAMES);
}
