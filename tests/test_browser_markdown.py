"""Markdown in a real Chromium: how it grows, how it looks, and that no text can do anything.

How it is read is shown in tests/element, which has the samples.
"""

import re
from pathlib import Path

import pytest
from page_events import FINISHED, chunk, show_answer
from pages import Page, asked, expect, finished, new_chat, open_stream

pytestmark = pytest.mark.browser

SAMPLES = Path(__file__).parent / "element/markdown-samples.mjs"
LOAD = """async () => {
    const { loadMarkdown, MarkdownView } = await import("/static/agui/markdown/view.js");
    await loadMarkdown(() => import("/static/agui/messages/reading.js"));
    const { loadHtml, loadNames, loadShapes, read } = await import("/static/agui/markdown/nodes.js");
    await Promise.all([loadHtml(), loadNames(), loadShapes()]);
    window.samples = await import("/samples.mjs");
    window.nodesOf = (text) => read(text, false, new Map(), { copy: "Copy" }).nodes;
    window.described = (node) => {
        if (node.nodeType === 3) return node.data;
        // The view gives headings their level in the conversation.
        const own = [...node.attributes].filter(({ name }) => name !== "aria-level");
        const attributes = own.map(({ name, value }) => [name, value]);
        return [node.localName, Object.fromEntries(attributes), [...node.childNodes].map(described)];
    };
    window.make = () => {
        const view = new MarkdownView({ copy: "Copy", copied: "Copied" });
        document.body.append(view.element);
        return view;
    };
    window.grow = function* (text, step) {
        const view = make();
        for (let end = step; end < text.length; end += step) {
            view.update(text.slice(0, end), true);
            yield view;
        }
        view.update(text);
        view.element.remove();
        yield view;
    };
}"""


@pytest.fixture
def lab(chat: Page) -> Page:
    """A page with the samples, and with `make` and `grow` for views of texts."""
    chat.route("**/samples.mjs", lambda route: route.fulfill(path=SAMPLES, content_type="text/javascript"))
    chat.evaluate(LOAD)
    return chat


def test_text_that_grows_is_as_if_at_once_and_what_stands_is_left_alone(lab):
    different = lab.evaluate("""samples.SAMPLES.flatMap((text) => [1, 2, 3, 7].map((step) => {
        const [whole, grown] = [make(), [...grow(text, step)].at(-1)];
        whole.update(text);
        whole.element.remove();
        const isAsRead = JSON.stringify(described(whole.element)[2]) === JSON.stringify(nodesOf(text));
        return (isAsRead && whole.element.isEqualNode(grown.element)) || [text, step];
    })).filter((one) => one !== true)""")
    assert different == []
    text = "\n\n".join(
        [
            "Intro **bold**.",
            "- one\n- two\n- three",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
            "```js\nlet a;\nlet b;\n```",
            "End of it.",
        ]
    )
    replaced = lab.evaluate(
        """text => {
            const [removed, view] = [[], make()];
            const observer = new MutationObserver(() => {});
            observer.observe(view.element, { childList: true, subtree: true });
            for (let end = 1; end <= text.length; end++) {
                view.update(text.slice(0, end), true);
                for (const { removedNodes } of observer.takeRecords()) removed.push(...removedNodes);
            }
            return removed.filter((node) => node.nodeType === 1).map((node) => node.outerHTML);
        }""",
        text,
    )
    assert replaced == []
    # What a reader has opened stays open.
    is_open = lab.evaluate(
        """text => {
            const view = make(), details = () => view.element.querySelector("details");
            view.update(text.slice(0, text.indexOf("Second")), true);
            details().open = true;
            view.update(text, true);
            const whileGrowing = details().open;
            view.update(text);
            return [whileGrowing, details().open];
        }""",
        "<details><summary>More</summary>\n\nFirst part.\n\nSecond part.\n\n</details>\n\nAfter it.",
    )
    assert is_open == [True, True]


def test_no_text_can_do_anything(lab, site):
    """Nor has any an element, an attribute or an address that is not ours: tests/element shows that."""
    requests = asked(lab)
    plain = lab.evaluate("""samples.PAYLOADS.filter((text) => {
        let view;
        for (view of grow(text, Math.max(1, text.length >> 5)));
        document.body.append(view.element);
        return view.element.matches(".plain");
    })""")
    assert plain == []
    # Requests have an order: those of the text come before this one.
    with lab.expect_request("**/last"):
        lab.evaluate("() => void fetch('/last')")
    # The modules for code and the like are the page's own.
    assert [one for one in requests if "/static/agui/" not in one] == [f"{site.url}/last"]
    assert lab.evaluate("window.pwned") is None
    assert lab.url.startswith(site.url)


CODE = '```python\n@route("/a")\ndef f(x):  # about it\n    return "text" + str(1)' + " + x" * 60 + "\n```"


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


def test_code_has_a_colour_for_each_kind_of_word_and_wraps(chat):
    """Whether it can be read, axe says in test_browser_look.py."""
    show_answer(chat, CODE)
    code, pre = chat.locator(".code code"), chat.locator(".code pre")
    expect(code.locator(".keyword", has_text="return")).to_be_visible()
    colours = code.evaluate("code => [...code.children].map((one) => getComputedStyle(one).color)")
    assert len(set(colours)) == 5
    assert code.evaluate("code => code.textContent") == CODE.split("\n", 1)[1].removesuffix("\n```")
    wrap = chat.get_by_role("button", name="Wrap lines")
    wrap.focus()
    wrap.press("Enter")
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert pre.evaluate("pre => pre.scrollWidth <= pre.clientWidth")
    wrap.press("Enter")
    assert pre.evaluate("pre => pre.scrollWidth > pre.clientWidth")


def test_formulas_are_drawn_with_their_source_and_prices_stay(chat):
    show_answer(chat, FORMULAS)
    formulas = chat.locator(".prose math")
    expect(formulas).to_have_count(2)
    inline, block = formulas.all()
    assert "cost $5 or $10, not" in chat.locator(".prose").inner_text()
    expect(inline.locator("mfrac msqrt")).to_be_visible()
    expect(inline.locator("annotation[encoding='application/x-tex']")).to_have_text(re.compile(r"^x_\{1,2\} = .*2a\}$"))
    expect(block).to_have_attribute("display", "block")
    expect(block.locator("munderover")).to_be_visible()
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
    open_stream(chat)(chunk(MIXED), FINISHED)
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
