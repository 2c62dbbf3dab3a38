// Are samples read as marked reads them? What is compared is what a browser makes of marked's HTML. And is no text dangerous?
import assert from "node:assert/strict";
import { test } from "node:test";

import { Marked } from "marked";
import { parseFragment } from "parse5";

import { read } from "./html.mjs";
import { CALM, PAYLOADS, SAMPLES } from "./markdown-samples.mjs";

const BASE = document.baseURI;
const BARE = /^<\/?(?:br|b|i|u|s|em|strong|del|mark|kbd|sub|sup|details|summary)\s*\/?>$/i;
const BLOCKS = "p|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|h\\d|hr|br|pre|details|summary";
const AROUND_BLOCKS = new RegExp(` ?(</?(?:${BLOCKS})\\b[^>]*>) ?`, "g");
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
/** Marked's HTML, in which of raw tags only those are left that format. */
const tamed = (html) => html.replaceAll(/<[^>]*>?|>/g, (tag) => (BARE.test(tag) ? tag : escaped(tag)));
const renderer = { checkbox: ({ checked }) => (checked ? "☑ " : "☐ "), html: ({ text }) => tamed(text) };
const reference = new Marked({ gfm: true, breaks: true, renderer });

const nodesOf = (text, growing = false) => read(text, growing, new Map(), { copy: "" }).nodes;
const textOf = (node) => (typeof node === "string" ? node : node[2].map(textOf).join(""));
const address = (href) => (URL.canParse(href, BASE) ? new URL(href, BASE).href : href);

/** A node of the browser's parser as our reader describes one. */
const described = ({ nodeName, value, attrs, childNodes }) => {
  if (nodeName === "#text") return value;
  return [nodeName, Object.fromEntries((attrs ?? []).map(({ name, value }) => [name, value])), (childNodes ?? []).map(described)];
};

/** Elements as a line that can be compared. */
function line(nodes) {
  const text = nodes.map((node) => walk(node, false)).join("");
  return text.replace(/[ \n\t]+/g, " ").replace(AROUND_BLOCKS, "$1").trim();
}

function walk(node, inLink) {
  if (typeof node === "string") return node.replaceAll("<", "‹").replaceAll(">", "›");
  const [tag, attributes, children] = node;
  if (tag.startsWith("#") || tag === "button" || attributes.class === "code-head") return "";
  if (tag === "pre") return `<pre>${children[0][1].class ?? ""} ${JSON.stringify(textOf(node).trimEnd()).replaceAll(" ", "·")}</pre>`;
  if (tag === "img") {
    const alt = attributes.alt || (inLink ? "" : attributes.src);
    return inLink || !URL.canParse(attributes.src, BASE) ? alt : `<a ${address(attributes.src)} ${attributes.title ?? ""}>${alt}</a>`;
  }
  const inner = children.map((child) => walk(child, inLink || tag === "a")).join("");
  if (tag === "div") return inner;
  if (tag === "a") return `<a ${address(attributes.href)} ${attributes.title ?? ""}>${inner || attributes.href}</a>`;
  return `<${tag} ${attributes.align ?? ""} ${attributes.start ?? ""}>${inner}</${tag}>`;
}

const expected = (text) => line(parseFragment(reference.parse(text)).childNodes.map(described));

test("samples are read as marked reads them", () => {
  for (const text of SAMPLES) assert.equal(line(nodesOf(text)), expected(text), text);
  assert.ok(SAMPLES.length > 60);
});

// Without raw HTML: there the browser repairs what is half open in its own way.
test("so is every beginning of a sample", () => {
  for (const text of SAMPLES.filter((text) => !text.includes("<"))) {
    for (let end = 0; end < text.length; end++) assert.equal(line(nodesOf(text.slice(0, end))), expected(text.slice(0, end)), text.slice(0, end));
  }
});

test("a growing text shows a beginning of what it becomes: no star, bracket or tick in between", () => {
  const seen = (node) => (typeof node === "string" ? node : node[1].class === "code-head" ? "" : node[2].map(seen).join(""));
  const shown = (text, growing) => seen(["", {}, nodesOf(text, growing)]).replace(/\s+/g, "");
  for (const text of CALM) {
    const whole = shown(text);
    for (let end = 1; end < text.length; end++) assert.ok(whole.startsWith(shown(text.slice(0, end), true)), text.slice(0, end));
  }
});

/** All elements of a text at each step of its growth. */
function* elementsOf(text) {
  const step = Math.max(1, text.length >> 5);
  for (let end = step; end < text.length + step; end += step) {
    const waiting = nodesOf(text.slice(0, end), end < text.length);
    while (waiting.length) {
      const node = waiting.pop();
      if (typeof node === "string") continue;
      yield node;
      waiting.push(...node[2]);
    }
  }
}

const TAGS = new Set(
  "div p a details summary code pre span button table thead tbody tr th td br ul ol li h1 h2 h3 hr blockquote em strong del b i u s mark kbd sub sup".split(" "),
);
const ATTRIBUTES = new Set("class dir part href title target rel type tabindex align start".split(" "));
const CLASSES = new Set(["block", "block plain", "code", "code-head", "copy", "figure", "table", "task", "math", "math block-math"]);

test("no text makes an element, an attribute, a class or a link that is not ours", () => {
  for (const text of PAYLOADS) {
    for (const [tag, attributes] of elementsOf(text)) {
      assert.ok(TAGS.has(tag), text);
      for (const name of Object.keys(attributes)) assert.ok(ATTRIBUTES.has(name), text);
      const { class: name } = attributes;
      assert.ok(!name || CLASSES.has(name) || /^language-[\w+#.-]+$/.test(name), text);
      if (tag !== "a") continue;
      assert.match(new URL(attributes.href, BASE).protocol, /^(https?|mailto|tel):$/, text);
      assert.deepEqual([attributes.target, attributes.rel], ["_blank", "noopener noreferrer"], text);
    }
  }
  assert.ok(PAYLOADS.length > 60);
});

test("a link is never within a link", () => {
  const linked = (node, inLink = false) => typeof node !== "string" && ((inLink && node[0] === "a") || node[2].some((child) => linked(child, inLink || node[0] === "a")));
  for (const text of ["![a [b](/c) d](/e)", "![![a](/b)](/c)", "[![a](/b)](/c)", "![[[foo](uri1)](uri2)](uri3)", "[a <https://b.example> c](/d)"]) {
    assert.ok(!nodesOf(text).some((node) => linked(node)), text);
  }
});
