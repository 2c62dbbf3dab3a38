// Is Markdown read as CommonMark 0.31.2 has it, by the examples of its specification? Every difference is written down.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Parser } from "commonmark";
import specification from "commonmark-spec";

import { htmlOf, normal, read, shown } from "./html.mjs";

const examples = specification.tests.map(({ markdown, html, number }) => {
  return { number, markdown: markdown.replaceAll("→", "	"), html: html.replaceAll("→", "	") };
});

/** Where we differ from CommonMark on purpose, in the examples without raw HTML. */
const DIFFERENCES = {
  "a link that leads nowhere is text": [200, 485, 486, 487, 567],
  "a link without text shows its address": [484],
  "only http, https, mailto and tel can be followed": [596, 598, 599, 601],
  "the name of a language has letters, digits and +#.-_ only": [144],
};
/** Where CommonMark knows no link, but GitHub does. */
const GITHUB = [602, 608, 611, 612];
/** Examples of raw HTML that need no exception: their tags are text, except a few that format. */
const POLICY_TAGS = "br b i u s em strong del mark kbd sub sup details summary";

function hasRawHtml(markdown) {
  const walker = new Parser().parse(markdown).walker();
  for (let step; (step = walker.next()); ) if (step.node.type.startsWith("html")) return true;
  return false;
}

const plain = examples.filter(({ markdown }) => !hasRawHtml(markdown));
const different = plain.filter(({ markdown, html }) => shown(markdown) !== normal(html)).map(({ number }) => number);

test("the examples are read as CommonMark has them, but for those that are written down", () => {
  assert.deepEqual(different, [...Object.values(DIFFERENCES).flat(), ...GITHUB].sort((a, b) => a - b));
  assert.equal(plain.length, 580);
});

test("at least 98 % of the examples are the same, with the links that GitHub adds", () => {
  assert.ok(different.length - GITHUB.length <= 0.02 * plain.length);
  for (const number of GITHUB) {
    const { markdown, html } = examples[number - 1];
    const withoutLinks = (text) => text.replace(/<\/?a\b[^>]*>/g, "");
    assert.equal(withoutLinks(shown(markdown)), withoutLinks(normal(html)));
  }
});

test("raw HTML is text, but for tags that only format", () => {
  const allowed = new Set([...POLICY_TAGS.split(" "), ..."p ul ol li blockquote pre code hr h1 h2 h3 a div button span".split(" ")]);
  for (const { markdown } of examples.filter(({ markdown }) => hasRawHtml(markdown))) {
    const tags = [];
    const collect = (node) => typeof node !== "string" && (tags.push(node[0]), node[2].forEach(collect));
    read(markdown, false, new Map(), { copy: "" }).nodes.forEach(collect);
    assert.deepEqual(tags.filter((tag) => !allowed.has(tag)), [], markdown);
  }
});

test("an example that comes in pieces is in the end as if it had come at once", () => {
  for (const { number, markdown } of plain) {
    for (const size of [1, 2, 3, 7]) {
      let [rest, links, nodes] = ["", new Map(), []];
      for (let at = 0; at < markdown.length; at += size) {
        rest += markdown.slice(at, at + size);
        const found = read(rest, true, links, { copy: "" });
        nodes.push(...found.nodes.slice(0, found.done.blocks));
        rest = rest.slice(found.done.length);
        links = found.links;
      }
      // What is finished before a definition is not read again while the text grows: only the view does that at the end.
      nodes.push(...read(rest, false, links, { copy: "" }).nodes);
      if (!/^ *>* *\[[^\]]+\]:/m.test(markdown)) assert.equal(normal(nodes.map(htmlOf).join("")), shown(markdown), `${number}, by ${size}`);
    }
  }
});

test("what is finished of a long answer is not read again, so that reading it is not quadratic", () => {
  let [rest, links] = ["", new Map()];
  const lengths = [];
  for (let number = 0; number < 300; number++) {
    rest += `Paragraph **${number}** with some words in it.\n\n- an item\n\n`;
    const found = read(rest, true, links, { copy: "" });
    rest = rest.slice(found.done.length);
    links = found.links;
    lengths.push(rest.length);
  }
  assert.ok(Math.max(...lengths) < 100, `${Math.max(...lengths)} characters are read again`);
});
