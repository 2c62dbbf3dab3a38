// Is Markdown read as CommonMark 0.31.2 has it, by the examples of its specification? Every difference is written down.
//
//   node --test suite.mjs, with STATIC=<folder of markdown-nodes.js> and PACKAGES=<folder of the installed packages>
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

globalThis.document = { baseURI: "https://page.example/" };
const { loadNames, read } = await import(pathToFileURL(`${process.env.STATIC}/markdown-nodes.js`).href);
const require = createRequire(`${process.env.PACKAGES}/`);
const { Parser } = require("commonmark");
const examples = require("commonmark-spec").tests.map(({ markdown, html, number }) => {
  return { number, markdown: markdown.replaceAll("→", "\t"), html: html.replaceAll("→", "\t") };
});
await loadNames();

/** Where we differ from CommonMark on purpose, in the examples without raw HTML. */
const DIFFERENCES = {
  "a link that leads nowhere is text": [200, 485, 486, 487, 567],
  "a link without text shows its address": [484],
  "only http, https, mailto and tel can be followed": [596, 598, 599, 601],
  "the name of a language has letters, digits and +#.-_ only": [144],
};
/** Where CommonMark knows no link, but GitHub does. */
const GITHUB = [602, 608, 611, 612];
/** Examples of raw HTML for which nothing is different: there, tags are text, but for a few that format. */
const POLICY_TAGS = "br b i u s em strong del mark kbd sub sup details summary";

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Our description of elements as HTML. */
function htmlOf(node) {
  if (typeof node === "string") return escaped(node);
  const [tag, attributes, children] = node;
  if (attributes.class === "code") return `<pre>${htmlOf(children[1][2][0])}</pre>`;
  const inner = children.map(htmlOf).join("");
  if (tag === "div") return inner;
  if (tag === "br") return "\n";
  if (tag === "hr") return "<hr />";
  const shown = Object.entries(attributes).filter(([name]) => ["class", "href", "title", "start"].includes(name));
  return `<${tag}${shown.map(([name, value]) => ` ${name}="${escaped(value)}"`).join("")}>${inner}</${tag}>`;
}

/** HTML as it can be compared: every line break is kept, and an image is a link that loads nothing. */
function normal(html) {
  return html
    .replace(/<br \/>\n?/g, "\n")
    .replace(/(<a [^>]*>)<img[^>]*alt="([^"]*)"[^>]*>/g, "$1$2")
    .replace(/<img src="([^"]*)" alt="([^"]*)"(?: title="([^"]*)")? \/>/g, (_, source, alt, title) => {
      return `<a href="${source}"${title ? ` title="${title}"` : ""}>${alt || source}</a>`;
    })
    .replace(/\n*(<\/?(?:p|ul|ol|li|blockquote|pre|hr|h\d)\b[^>]*>)\n*/g, "$1")
    .replace(/\n+<\/code><\/pre>/g, "</code></pre>")
    .replace(/<code( class="[^"]*")?>\n+/g, "<code$1>")
    .trim();
}

function hasRawHtml(markdown) {
  const walker = new Parser().parse(markdown).walker();
  for (let step; (step = walker.next()); ) if (step.node.type.startsWith("html")) return true;
  return false;
}

const shown = (markdown) => normal(read(markdown, false, new Map(), { copy: "" }).nodes.map(htmlOf).join(""));
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
