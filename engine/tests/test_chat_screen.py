"""What `manage.py chat` knows of a thread, shows of it and promises in agui/manual/client.md."""

import io
import json
import random
import re
from typing import Any

import pytest
from django.core.management import load_command_class
from rich.cells import cell_len
from rich.console import Console

from agui.contrib.client.events import parse_event
from agui.contrib.terminal.activities import draw
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.footer import Footer
from agui.contrib.terminal.markdown import Block, MarkdownStream, split_blocks
from agui.contrib.terminal.printable import printable
from agui.contrib.terminal.prompt import Prompt
from agui.contrib.terminal.screen import Screen
from agui.contrib.terminal.session import Ending
from agui.contrib.terminal.typed_line import TypedLine
from agui.contrib.terminal.waiting import Waiting, with_text
from agui.testing import call, say, think
from tests import pages
from tests.conftest import Client, counted, decision, script

TEXT = """# A plan

Of *several* parts,
in a paragraph.

1. First

   with a paragraph of its own
2. Second
   - inner
- other

| a | b |
|---|--:|
| 1 | 2 |

Title
=====

```python
# not a title
```
> quoted
lazily

    code

***

<b>HTML</b> and 日本語

12"""


def printed(*things: Any, width: int = 60) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(*things)
    return console.file.getvalue()  # type: ignore[attr-defined]


def apply(conversation: Conversation, *events: Any) -> str:
    """Let a conversation read events: what a screen shows of them."""
    screen = Screen(Console(file=io.StringIO(), width=60))
    for event in events:
        if typed := parse_event(json.dumps(event)) if isinstance(event, dict) else event:
            conversation.apply(typed)
            screen.show(typed, conversation)
    screen.end()
    return screen.console.file.getvalue()  # type: ignore[attr-defined]


# --- Markdown


def test_blocks_are_the_text():
    blocks = split_blocks(TEXT)
    assert "".join(blocks) == TEXT
    assert len(blocks) == 11
    assert blocks[2] == "1. First\n\n   with a paragraph of its own\n2. Second\n   - inner\n"


@pytest.mark.parametrize("seed", range(10))
async def test_markdown_is_the_same_however_it_arrives(seed):
    console = Console(file=io.StringIO(), width=60)
    stream, rest, chance = MarkdownStream(console), TEXT, random.Random(seed)  # noqa: S311
    while rest:
        size = chance.choice([1, 2, 3, 40])
        stream.add(rest[:size])
        rest = rest[size:]
    stream.close()
    whole = "\n".join(printed(Block(block)) for block in split_blocks(TEXT))
    assert console.file.getvalue() == whole


def test_html_and_addresses_are_seen():
    assert printed(Block("<b>x</b> [here](https://example.com)")) == "<b>x</b> here (https://example.com)\n"


def test_control_characters_are_replaced_and_lines_and_tabs_are_kept():
    for code in (0x00, 0x07, 0x08, 0x0D, 0x1B, 0x7F, 0x9B, 0x202E, 0x2066, 0xD800):
        assert printable(f"a{chr(code)}b") == "a\N{REPLACEMENT CHARACTER}b"
    assert printable("a\tb\r\nc\n") == "a\tb\nc\n"


# --- Activities


def test_activities_are_drawn():
    plan = {"title": "Trip", "steps": [{"title": "Search", "status": "done"}, {"title": "Book", "status": "pending"}]}
    assert printed(draw("plan", plan)) == "Trip\n✓ Search\n· Book\n"
    rows = [["FR", 89.9], ["IC", None]]
    table = printed(draw("table", {"title": "Trains", "columns": ["train", "price"], "rows": rows}))
    assert all(word in table for word in ("Trains", "train", "89.9", "IC"))
    series = [{"name": "Open", "values": [4, None]}, {"name": "Done", "values": [2, "?"]}]
    chart = printed(draw("chart", {"title": "Tasks", "labels": ["home", "work"], "series": series, "unit": "€"}))
    assert f" {'█' * 20} 4 € " in chart
    assert f" {'█' * 10} 2 € " in chart


def test_documents_are_printed_with_their_titles():
    text = ["# A *trip*\n\nTo", " Rome\x1b[2J"]
    assert printed(draw("document", {"id": "a", "title": "Trip", "kind": "markdown", "text": text})).split("\n") == [
        "Trip",
        *printed(Block("# A *trip*\n\nTo Rome\N{REPLACEMENT CHARACTER}[2J")).split("\n"),
    ]
    code = {"id": "a", "kind": "code", "text": ["*x* = 1"]}
    assert printed(draw("document", code)) == "a\n*x* = 1\n"
    table = {"id": "a", "title": "Trains", "kind": "table", "columns": ["train"], "rows": [["FR"]]}
    assert "Trains" in printed(draw("document", table))
    assert printed(draw("document", {"id": "a", "title": "Map", "kind": "image", "path": "/m.png"})) == "Map\n/m.png\n"
    for kind in ("view", "mcp-apps"):
        card = {"title": "Order", "html": "<p>x", "text": "Order 7\n\x1b[31mAda"}
        assert printed(draw(kind, card)) == "Order 7\n\ufffd[31mAda\n"


async def test_a_document_that_grows_is_printed_once_and_read_once():
    activity = {"messageId": "m", "activityType": "document"}
    content = {"id": "a", "title": "Trip", "kind": "code", "text": ["one"]}
    first = parse_event(json.dumps({"type": "ACTIVITY_SNAPSHOT", "content": content, **activity}))
    delta = {"type": "ACTIVITY_DELTA", "patch": [{"op": "add", "path": "/text/-", "value": " two"}], **activity}
    costs = []
    for count in (100, 200):
        with counted() as calls:
            shown = apply(Conversation(), first, *[delta] * count)
        costs.append(calls[0])
        assert shown.split() == ["Trip", "one", *["two"] * count]
    assert costs[1] < 2.1 * costs[0]


@pytest.mark.parametrize("kind", ["plan", "table", "chart", "document", "view", "weather"])
def test_activity_of_an_odd_form_breaks_nothing(kind):
    for content in (
        {},
        {"steps": [1], "columns": ["a"], "rows": [1], "labels": ["x"], "series": [1]},
        {"steps": "x", "columns": "x", "rows": "x", "labels": "x", "series": "x"},
        {"steps": None, "columns": [], "rows": [[1]], "labels": [], "series": [{"values": None}]},
        {"steps": [{"status": []}], "columns": [{}], "rows": [[{}], [], [1, 2]], "labels": [{}]},
        {"title": [], "columns": [None], "labels": [1, 2], "series": [{"values": [float("nan"), 10**400]}]},
        {"labels": [{}], "series": [{"values": []}]},
    ):
        assert printed(draw(kind, content))


# --- The conversation


async def test_conversation_is_what_the_server_keeps(client: Client):
    """Read from the events, over a pause and its answer, it has the messages that the server has."""
    conversation = Conversation("t1")
    answers = (
        [think("Hm."), say("I call. ", 3), call("echo", text="naïve"), call("note", text="Milk")],
        [say("May I?"), call("wipe", _id="c1")],
        [say("Done.")],
    )
    with script(*answers):
        apply(conversation, *await client.run("Go"))
        apply(conversation, *await client.run(resume=[decision("c1")]))
    kept = await client.thread()
    told = [message for message in kept["messages"] if message["role"] in ("assistant", "tool")]
    assert [message["role"] for message in conversation.messages] == [message["role"] for message in told]
    # Tools that are called together are told as they end, and kept as they were called.
    by_id = {message["id"]: essence(message) for message in conversation.messages}
    assert by_id == {message["id"]: essence(message) for message in told}
    assert conversation.state == kept["state"] == {"text": "Milk"}
    assert conversation.interrupts == kept["pending"] == []


def essence(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content") or ""
    return {**{key: message.get(key) for key in ("id", "role", "toolCallId", "toolCalls")}, "content": content}


def test_names_that_a_server_sends_command_nothing():
    evil = "\x1b[2J\u202e"
    shown = apply(
        Conversation(),
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": evil},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": evil},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "m1", "content": evil},
        {"type": "STEP_STARTED", "stepName": evil},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "m2", "activityType": evil, "content": {evil: evil}},
        {"type": "RUN_ERROR", "message": evil, "code": evil},
    )
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert not set("\x1b\u202e") & set(shown)


def test_patch_that_does_not_fit_is_lost():
    conversation = Conversation()
    apply(conversation, {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/missing/deep", "value": 1}]})
    assert conversation.state == {}


# --- While the agent works


@pytest.mark.parametrize(
    ("keys", "lines", "rest"),
    [
        ([b"Hi\n"], [("Hi", False)], ""),
        ([b"Hi\r", b"there"], [("Hi", False)], "there"),
        ([b"Hi\x1b\r/edit"], [("Hi", True)], "/edit"),
        ([b"Hi\x1b", b"\r"], [("Hi", True)], ""),
        ([b"Hix\x7f\x08e\n"], [("He", False)], ""),
        ([b"one two  \x17three"], [], "one three"),
        ([b"one two\x15three"], [], "three"),
        ([b"a\x1b[A\x1b[1;5Cb\x1bOPc\x1bxd\x04\x00"], [], "abcd"),
        ([b"a\x1b[", b"1;5", b"Cb"], [], "ab"),
        (["\N{SNOWMAN}".encode()[:1], "\N{SNOWMAN}".encode()[1:] + b"\n"], [("\N{SNOWMAN}", False)], ""),
        ([b"\xff\n\n"], [("\N{REPLACEMENT CHARACTER}", False), ("", False)], ""),
    ],
)
def test_keys_make_lines(keys, lines, rest):
    line = TypedLine()
    assert [ended for data in keys for ended in line.read(data)] == lines
    assert line.text == rest


def queued(message_id: str, text: Any = "", mode: str = "queue") -> dict[str, Any]:
    return {"message_id": message_id, "message": {"id": message_id, "role": "user", "content": text}, "mode": mode}


def test_numbers_of_what_waits_stay():
    waiting = Waiting()

    def numbers() -> list[tuple[int, str]]:
        return [(row.number, row.id) for row in waiting]

    waiting.replace([queued("a"), queued("b")])
    waiting.put({"id": "c"}, "steer", 0)
    waiting.remove("a")
    assert numbers() == [(3, "c"), (2, "b")]
    waiting.put({"id": "b", "content": "B"}, "queue", 0)
    waiting.replace([queued("d"), queued("b"), queued("c")])
    assert numbers() == [(4, "d"), (2, "b"), (3, "c")]
    assert (waiting.find(3).id, waiting.find(1)) == ("c", None)
    for row in [*waiting]:
        waiting.remove(row.id)
    waiting.put({"id": "e"}, "queue", 7)
    assert numbers() == [(1, "e")]


def test_an_edited_message_keeps_its_files():
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
    message = {"id": "a", "role": "user", "content": [{"type": "text", "text": "Old"}, image]}
    assert with_text(message, "New")["content"] == [{"type": "text", "text": "New"}, image]
    assert with_text({**message, "content": "Old"}, "New") == {**message, "content": "New"}


def footer_of(*rows: dict[str, Any], line: str = "") -> Footer:
    footer = Footer()
    footer.waiting.replace(rows)
    footer.is_open, footer.line, footer.choices = True, line, "Enter: now"
    return footer


def test_what_waits_and_what_is_typed_stand_below():
    image = [{"type": "text", "text": "two\nlines"}, {"type": "image"}]
    footer = footer_of(queued("a", "one\x1b"), queued("b", image, "steer"), line="Hel\tlo ")
    assert printed(footer).split("\n")[:-1] == [
        "  1  one\N{REPLACEMENT CHARACTER}",
        "  2  at the next step: two lines [image]",
        "> Hel lo ▏",
        "  Enter: now",
    ]
    assert footer.height == 4
    footer.is_open = False
    assert (printed(footer), footer.height) == ("", 0)


def test_what_stands_below_takes_one_line_each():
    rows = [queued(str(number), "word " * 50) for number in range(9)]
    footer = footer_of(*rows, line="日本語" * 20)
    lines = printed(footer, width=30).split("\n")[:-1]
    assert len(lines) == footer.height == 8
    assert all(cell_len(line) <= 30 for line in lines)
    assert "and 4 more" in lines[5]
    assert lines[6].endswith("本語▏")


def test_what_is_drawn_with_it_fits_on_the_screen():
    """Lines above the top of a screen could not be drawn again."""
    footer = footer_of(queued("a", "one"), line="two")
    console = Console(file=io.StringIO(), width=60, height=10)
    block = Block("\n".join(f"- {number}" for number in range(50)), tail=True, below=footer.height)
    console.print(block, footer)
    assert console.file.getvalue().split("\n")[:-1] == [
        *(f" • {number}" for number in range(45, 50)),
        "  1  one",
        "> two▏",
        "  Enter: now",
    ]


def test_events_about_what_waits_of_an_odd_form_break_nothing():
    conversation = Conversation()
    values = (None, [], {}, {"message": 1, "messageId": 2}, {"message": {"id": 1}, "mode": 1, "position": "x"})
    for name in ("message_queued", "message_changed", "message_removed", "message_delivered"):
        apply(conversation, *({"type": "CUSTOM", "name": name, "value": value} for value in values))
    assert (conversation.messages, len(conversation.waiting)) == ([], 0)


def documented(heading: str) -> list[str]:
    """The first cells of the table that begins with this row."""
    table = pages.read("client.md").partition(f"| {heading} | |\n|---|---|\n")[2].partition("\n\n")[0]
    return [line.split("|")[1].strip().strip("`").split()[0] for line in table.splitlines()]


DJANGOS = {"-h", "--version", "-v", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color"}
DJANGOS |= {"--skip-checks"}


def test_documentation_has_every_option_command_and_exit_code():
    parser = load_command_class("agui.contrib.terminal", "chat").create_parser("manage.py", "chat")
    own = [action for action in parser._actions if action.option_strings[0] not in DJANGOS]
    assert documented("option") == [action.option_strings[0] for action in own]
    prompt = Prompt(*[None] * 4)
    assert sorted(documented("line")) == sorted([*prompt._commands, "/quit"])
    of_queue = ["Enter", "Alt+Enter", "/stop", *prompt._queue_commands]
    assert sorted(documented("line about the queue")) == sorted(of_queue)
    assert [int(code) for code in documented("exit code")] == sorted([*(ending.value for ending in Ending), 2])
    assert re.search(r"--message - ", pages.read("client.md"))
