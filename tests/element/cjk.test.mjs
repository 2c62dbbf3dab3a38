// Markdown as Chinese, Japanese and Korean is written in it: no spaces between words, and punctuation of its own.
import assert from "node:assert/strict";
import { test } from "node:test";

import MarkdownIt from "markdown-it";
import friendly from "markdown-it-cjk-friendly";

import { phrasesOf } from "./agui/page/speech-text.js";
import { normal, read, shown } from "./html.mjs";

const REPORTED = {
  "**今日の予定（午後）。**会議は三時からです。": "<strong>今日の予定（午後）。</strong>会議は三時からです。",
  "请先看**“保存”按钮**的说明。": "请先看<strong>“保存”按钮</strong>的说明。",
  "오늘은 **회의(온라인)**가 있습니다.": "오늘은 <strong>회의(온라인)</strong>가 있습니다.",
  "*注：*仅供参考": "<em>注：</em>仅供参考",
  "送料は**100%**無料です": "送料は<strong>100%</strong>無料です",
  "**苹果。**很甜，**香蕉。**也很甜。": "<strong>苹果。</strong>很甜，<strong>香蕉。</strong>也很甜。",
  "~~旧价：￥100。~~现价": "<del>旧价：￥100。</del>现价",
  "**[说明](https://example.com/)**在这里": '<strong><a href="https://example.com/">说明</a></strong>在这里',
  "请运行**`make`**命令": "请运行<strong><code>make</code></strong>命令",
  "**「*斜*」**的字": "<strong>「<em>斜</em>」</strong>的字",
  "文件_备份_2024": "文件_备份_2024",
};

for (const [markdown, html] of Object.entries(REPORTED)) test(`${markdown} is read as it is meant`, () => assert.equal(shown(markdown), `<p>${html}</p>`));

const product = (...lists) => lists.reduce((rows, list) => rows.flatMap((row) => list.map((one) => [...row, one])), [[]]);
const WORDS = ["加粗内容", "ひらがな", "カタカナ", "ﾊﾝｶｸ", "굵은 글씨", "ㄅㄆㄇ", "𠮷野家", "API 文档", "が\u3099"];
const FRAMES = [["", ""], ["（", "）"], ["“", "”"], ['"', '"'], ["「", "」"], ["《", "》"], ["", "。"], ["", "！"], ["", "……"], ["", "——"], ["", ":"], ["", "100%"], ["(", ")"], ["‘", "’"], ["【", "】"], ["¡", "!"]];
const BESIDE = ["字", "の", "ア", "ｱ", "가", "𠮷", "，", "。", "「", " "];
const MARKS = { "**": "strong", "*": "em", "***": "both", "~~": "del" };

test("what is marked within a text is marked, whatever punctuation is at its ends", () => {
  let count = 0;
  for (const [word, [begin, end], before, after] of product(WORDS, FRAMES, BESIDE, BESIDE)) {
    for (const [mark, tag] of Object.entries(MARKS)) {
      const inner = begin + word + end;
      const marked = tag === "both" ? `<em><strong>${inner}</strong></em>` : `<${tag}>${inner}</${tag}>`;
      const text = `x${before}${mark}${inner}${mark}${after}x`;
      assert.equal(shown(text), `<p>x${before}${marked}${after}x</p>`.replaceAll('"', "&quot;"), text);
      count++;
    }
  }
  assert.ok(count > 50_000);
});

test("Latin words may be right beside it, if the punctuation belongs to a word of these scripts", () => {
  for (const [mark, [begin, end]] of product(["**", "*"], FRAMES.slice(0, -1))) {
    const inner = `${begin}保存${end}`;
    const html = shown(`点击Save${mark}${inner}${mark}API`);
    assert.ok(!html.includes("*") || end === "100%", html);
  }
});

test("two marked words in a paragraph leave what is between them as it is", () => {
  for (const [word, [begin, end], beside] of product(WORDS, FRAMES, BESIDE.slice(0, 6))) {
    const marked = `${begin}${word}${end}`;
    const html = `<strong>${marked}</strong>`.replaceAll('"', "&quot;");
    assert.equal(shown(`**${marked}**${beside}，**${marked}**${beside}`), `<p>${html}${beside}，${html}${beside}</p>`);
  }
});

test("whatever the public rules for these scripts mark is marked, and other scripts are read as ever", () => {
  const [theirs, plain] = [new MarkdownIt({ breaks: true }).use(friendly), new MarkdownIt({ breaks: true })];
  // Kinds of characters: a letter or full-width punctuation of these scripts, a letter, punctuation, a blank, a mark.
  const pieces = ["字", "。", "a", "!", " ", "*", "**"];
  for (let length = 2, rows = pieces.map((piece) => [piece]); length < 6; length++) {
    rows = product(rows, pieces).map(([row, piece]) => [...row, piece]);
    for (const row of rows) {
      const text = `x ${row.join("")}`;
      const isOther = !/[字。]/.test(text);
      // A mark between punctuation of these scripts and a Latin letter is where we read more than they do.
      if (!isOther && /[字。][!*]*!\*+a|a\*+!+[!*]*[字。]/.test(text)) continue;
      assert.equal(shown(text), normal((isOther ? plain : theirs).render(text)), text);
    }
  }
});

test("a growing text closes what it has begun", () => {
  const growing = (text) => JSON.stringify(read(text, true, new Map(), { copy: "" }).nodes);
  const text = "请先看**“保存”按钮。**的说明，**注意：**没有";
  for (let end = 1; end <= text.length; end++) assert.ok(!growing(text.slice(0, end)).includes("*"), text.slice(0, end));
});

const URL = "https://example.com/文档/a?b=1";
const HREF = "https://example.com/%E6%96%87%E6%A1%A3/a?b=1";

test("a bare address ends before full-width punctuation, quotes and marks", () => {
  for (const end of [..."。，、；：！？）」』】》〉〕”“＞［～…—’')", "——", "……", "’”", ")。", "'）"]) {
    for (const rest of ["谢谢", "", "の(b) c。"]) assert.equal(shown(`见“${URL}${end}${rest}`), `<p>见“<a href="${HREF}">${URL}</a>${end}${rest}</p>`, end);
  }
  for (const [mark, tag] of [["**", "strong"], ["*", "em"], ["~~", "del"]]) {
    assert.equal(shown(`${mark}${URL}${mark}后续`), `<p><${tag}><a href="${HREF}">${URL}</a></${tag}>后续</p>`);
  }
});

test("a letter of these scripts right after a host is not part of it, but belongs to a path", () => {
  for (const host of ["https://example.com", "http://a.b.example.org:8000", "www.example.com"]) {
    const link = `<a href="${host.replace(/^www/, "http://www")}">${host}</a>`;
    for (const rest of ["查看详情", "のページ", "입니다"]) assert.equal(shown(`访问${host}${rest}`), `<p>访问${link}${rest}</p>`);
  }
  for (const url of ["https://zh.wikipedia.org/wiki/C语言_(消歧义)", "https://zh.wikipedia.org/wiki/甲(乙)丙", "https://例え.jp/テスト", "https://en.wikipedia.org/wiki/O’Neill"]) {
    assert.equal(shown(url), `<p><a href="${encodeURI(url)}">${url}</a></p>`);
  }
});

test("a voice goes on after an address", () => {
  assert.deepEqual(phrasesOf("见 https://example.com/文档。谢谢大家"), ["见 。谢谢大家"]);
});
