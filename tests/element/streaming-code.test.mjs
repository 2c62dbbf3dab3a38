// The head of a block of code, with its language and the button that copies, is there while the block is written.
import assert from "node:assert/strict";
import { test } from "node:test";

import { read } from "./html.mjs";

/** The language, the button and the text of the last block of code. */
function lastCode(text, growing) {
  const codes = [];
  const collect = (node) => typeof node !== "string" && (node[1].class === "code" ? codes.push(node) : node[2].forEach(collect));
  read(text, growing, new Map(), { copy: "Copy" }).nodes.forEach(collect);
  const [[, , [language, button]], [, , [code]]] = codes.at(-1)?.[2] ?? [[, , [[, , []], []]], [, , [[, , []]]]];
  return [codes.length, language[2][0], button[2]?.[0], code[2][0]];
}

for (const [place, before, indent] of [["alone", "", ""], ["after a text and another block", "So:\n\n```sh\nls\n```\n\nThen:\n", ""], ["in a list", "1. First\n\n", "   "], ["in a quote", "> ", "> "]]) {
  const lines = ["print(1)", "", "print(2)"];
  const begin = `${before}${place === "in a quote" ? "" : indent}\`\`\`python\n`;
  const count = before.includes("```") ? 2 : 1;
  test(`the head of a block ${place} is there from its first line on, with its whole language`, () => {
    assert.deepEqual(lastCode(begin, true), [count, "python", "Copy", ""]);
    const text = begin + lines.map((line) => indent + line).join("\n");
    for (let end = begin.length; end <= text.length; end++) {
      const [codes, language, button, code] = lastCode(text.slice(0, end), true);
      assert.deepEqual([codes, language, button], [count, "python", "Copy"]);
      assert.ok(lines.join("\n").startsWith(code), code);
    }
    // The same when the fence is closing, when it has closed, and when the answer ends without it.
    for (const [rest, growing] of [[`\n${indent}\``, true], [`\n${indent}\`\`\``, true], [`\n${indent}\`\`\``, false], ["", false], ["", "cut"]]) {
      assert.deepEqual(lastCode(text + rest, growing), [count, "python", "Copy", lines.join("\n")]);
    }
  });
  test(`half a language ${place} is not shown`, () => {
    for (let end = begin.length - 6; end < begin.length - 1; end++) assert.deepEqual(lastCode(begin.slice(0, end), true).slice(1), ["", "Copy", ""]);
  });
}
