# ruff: noqa: RUF001
"""Conversations as an administrator reads them: formatted, and still nothing but text."""

import itertools
import json
from html.parser import HTMLParser

import pytest
from asgiref.sync import async_to_sync
from markdown_it import MarkdownIt
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from agui.contrib.admin import markdown as formatting
from agui.contrib.admin import transcript
from agui.contrib.admin.markdown import to_html as markdown
from agui.models import get_conversation_model
from agui.stores.model import ModelConversationStore
from tests.conftest import counted

ANSWER = """Two **tasks** are open, see [the list](https://example.com/tasks):

1. Milk
2. `make check`

```python
if a < b: pass
```

| Day | Tasks |
|-----|------:|
| Mon | 2 |
"""
HOSTILE = [
    "<script>alert(1)</script>",
    "![a picture](https://evil.example/pixel.png)",
    '![x"onerror="y](https://evil.example/"onerror="z "t")',
    "[![inside](https://evil.example/a.png)](https://evil.example/b)",
    '[click](https://evil.example/ "title\\"onclick=x")',
    "[click](javascript:alert(1))",
    "<https://evil.example/> <javascript:alert(1)>",
    "[by name][a]\n\n[a]: https://evil.example/",
    '```x"onclick=alert(1)\ncode\n```',
    "| a |\n|:-:|\n| <b>c</b> |",
    "<div style='position:fixed'>\n\n# &lt;b&gt;\n\n</div>",
    "> " * 2000 + "x",
    "- " * 2000 + "x",
]


READ_AS = {
    HOSTILE[1]: "a picture (https://evil.example/pixel.png)",
    HOSTILE[3]: "inside (https://evil.example/a.png) (https://evil.example/b)",
    HOSTILE[6]: "https://evil.example/ <javascript:alert(1)>",
}


class Tags(HTMLParser):
    """Gathers the elements and their attributes, and the text."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= attributes

    def handle_data(self, data):
        self.text += data


def test_an_answer_is_formatted():
    html = Tags(markdown(ANSWER))
    assert {"p", "strong", "ol", "li", "code", "pre", "table", "th", "td"} <= html.tags
    assert "if a < b: pass" in html.text
    assert "the list (https://example.com/tasks):" in html.text
    assert "**" not in html.text
    assert "style" not in html.attributes


CJK = ["加粗内容", "ひらがな", "ﾊﾝｶｸ", "굵은 글씨", "𠮷野家", "が\u3099"]
ENDS = [("", ""), ("（", "）"), ("“", "”"), ("「", "」"), ("", "。"), ("", "！"), ("", "……"), ("(", ")"), ("", "100%")]
BESIDE = ["字", "の", "가", "𠮷", "，", "", " "]


def test_emphasis_stands_in_texts_without_spaces():
    """As on the page: cjk.test.mjs has more shapes."""
    for word, (begin, end), before, after in itertools.product(CJK, ENDS, BESIDE, BESIDE):
        for mark, tag in [("*", "em"), ("**", "strong"), ("~~", "s")]:
            inner = f"{begin}{word}{end}"
            html = markdown(f"x {before}{mark}{inner}{mark}{after}")
            assert f"{before}<{tag}>{inner}</{tag}>{after.strip()}" in html
    assert markdown("文件_备份_2024") == "<p>文件_备份_2024</p>\n"


def test_other_scripts_are_read_by_common_mark_s_rules():
    plain = MarkdownIt("commonmark", {"html": False})
    for pieces in itertools.product(["a", "é", "!", '"', " ", "*", "**", "_"], repeat=4):
        text = f"x {''.join(pieces)} *"
        assert markdown(text) == plain.render(text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_is_loaded_or_followed_and_an_address_is_read_with_its_words(text):
    html = Tags(markdown(text))
    formatting = {"p", "span", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "blockquote", "ul", "li"}
    assert html.tags <= formatting | {"em", "strong"}
    assert set(html.attributes) <= {"class"}
    assert html.text.strip() == READ_AS.get(text, html.text.strip())


def table(columns: int, rows: int, *, row: str = "a", tables: int = 1) -> str:
    lines = ["|".join("a" * columns), "|".join("-" * columns), *[row] * rows]
    return "\n\n".join(["\n".join(lines)] * tables)


@pytest.mark.parametrize("columns", [2, 20, 100, 600])
@pytest.mark.parametrize("tables", [1, 10])
@pytest.mark.parametrize("prefix", ["", "> ", "- "])
def test_a_text_has_no_more_cells_than_characters(columns: int, tables: int, prefix: str):
    text = table(columns, 1250 // tables, tables=tables).replace("\n\n", f"\n\n{prefix}")
    assert markdown(prefix + text).count("<td>") <= 2 * len(text)


def test_a_table_may_be_wide_and_rows_may_lack_cells():
    assert markdown(table(40, 100, row="|".join("a" * 40))).count("<td>") == 4000
    assert markdown("Costs:\n| a | b |\n|---|---|\n| 1 |").count("<td>") == 2
    assert markdown("- a|b\n  -|-\n  1|2").count("<td>") == 2


WIDE = "|".join("a" * 250) + "\n" + "|".join("-" * 250) + "\n" + "a\n" * 400
PIECES = ["![", "![a](![", "[", "[a][", "> ", "- ", "*a **b ", "<a ", "`a", "a\n\n", "a|b\n-|-\n", WIDE]


@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_formatting_a_transcript_takes_a_bounded_number_of_steps(piece: str, monkeypatch):
    monkeypatch.setattr(formatting, "MAX_FORMATTED_CHARS", 10_000)
    text = (piece * 2000)[:2000]
    lines = [transcript.Line("assistant", "Assistant", None, text) for _ in range(20)]
    with counted(100 * 10_000):
        formatting.format_last(lines)
    assert not lines[0].html


@pytest.fixture
def page_of(chief):
    def page(*messages) -> str:
        conversation = Conversation(conversation_id="t", messages=list(messages))
        async_to_sync(ModelConversationStore().save)(conversation, scope="alice")
        key = get_conversation_model().objects.get().pk
        return chief.get(f"/admin/assistant/conversation/{key}/change/").content.decode()

    return page


@pytest.mark.django_db(transaction=True)
def test_calls_and_results_are_read_by_name(page_of):
    arguments = {"title": "Milk\nand bread", "tags": ["shop"], "due": None}
    messages = [
        ModelResponse(parts=[ToolCallPart("add_task", json.dumps(arguments), tool_call_id="1")]),
        ModelRequest(parts=[ToolReturnPart("add_task", {"id": 7, "title": "Milk <b>"}, tool_call_id="1")]),
    ]
    html = page_of(*messages)
    assert "<dt>title</dt><dd>Milk\nand bread</dd>" in html
    assert "<dt>due</dt><dd>null</dd>" in html
    assert "<dt>id</dt><dd>7</dd>" in html
    assert "<dd>Milk &lt;b&gt;</dd>" in html
    assert "{&quot;id" not in html
    assert "{&quot;title&quot;: &quot;Milk" not in html


@pytest.mark.django_db(transaction=True)
def test_the_transcript_is_read_as_on_the_page_and_only_so_much_is_formatted(page_of, monkeypatch):
    monkeypatch.setattr(formatting, "MAX_FORMATTED_CHARS", len(ANSWER) + 20)
    texts = ["**the first**", "x" * 20, ANSWER]
    typed = ModelRequest(parts=[UserPromptPart("**as typed**")])
    html = page_of(typed, *[ModelResponse(parts=[TextPart(text)]) for text in texts])
    assert "<strong>tasks</strong>" in html
    assert "**as typed**" in html
    assert "**the first**" in html
    assert "https://example.com/tasks" not in html.replace("(https://example.com/tasks)", "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("arguments", [{f"a{n}": n for n in range(51)}, {"text": "x" * 6000}, [1, 2], "plain", "{}"])
def test_what_has_no_few_names_is_one_text(page_of, arguments):
    html = page_of(ModelRequest(parts=[ToolReturnPart("t", arguments, tool_call_id="1")]))
    assert "<dl" not in html.partition("agui-transcript")[2]
    assert "<pre>" in html
