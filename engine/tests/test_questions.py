"""No value can write a line of a question. (transcripts/questions.yaml has the rest about questions.)"""

import sys
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from daily import at_night
from django.contrib.auth import get_user_model
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import ApprovalRequired, RunContext

from agui import AgentDeps, ToolRegistry, display_value
from agui.testing import call
from agui.tools.questions import one_line
from tests.conftest import Client
from tests.transcript_tools import change

Context = RunContext[AgentDeps]


def test_a_text_is_no_list_of_names():
    with pytest.raises(ValueError, match="give a list of parameters"):
        ToolRegistry().add(change, editable="note")


BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
NEW_LINES = ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
HOSTILE = [f"fine{line}New values:{line}status: new" for line in NEW_LINES] + [
    "fine" + " " * 400 + "New values",
    "fine" + "\u3000\u00a0\u2800\u3164" * 100 + "New values",
    "fine \u202eseulav weN\u202c \u2066x\u2069",
    "x" * 10_000,
]


@given(st.text(st.sampled_from("ab \n\u200b\u2800\u202e"), max_size=200), st.integers(2, 20))
def test_line_is_cut_after_its_blanks_have_become_one(text: str, limit: int):
    whole = " ".join("".join(letter for letter in text.replace("\u2800", " ") if letter not in "\u200b\u202e").split())
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line == whole if len(whole) <= limit else line[:-1] == whole[: limit - 1]


@pytest.mark.parametrize("value", HOSTILE)
async def test_a_value_writes_no_line_of_a_question(client: Client, registry: ToolRegistry, mount, value: str):
    def ask(ctx: Context, note: str) -> list[str]:
        return [f"Keep {display_value(note)}?", f"note: {note}"]

    def keep(note: str) -> str:
        """Keep a note."""
        return note

    def drop(ctx: Context, note: str) -> str:
        """Drop a note."""
        raise ApprovalRequired({"x-confirm": f"Drop {note}?", "x-summary": note})

    registry.add(keep, destructive=True, confirm=ask)
    registry.add(drop)
    mount(registry, [call("keep", note=value), call("drop", note=value)])
    events = await client.run("Keep it, and drop it")
    asked = {one["metadata"]["toolName"]: one for one in events[-1]["outcome"]["interrupts"]}
    kept, dropped = asked["keep"]["message"], asked["drop"]["message"]
    assert len(asked["drop"]["metadata"]["x-summary"].splitlines()) == 1
    assert len(kept.splitlines()) == 2
    assert len(dropped.splitlines()) == 1
    for message in (kept, dropped):
        assert "  " not in message
        assert not {"\u202e", "\u2066", "\u3000", "\u2800"} & set(message)
        assert len(message) < 5000


# By day the characters that most people write, and those that end a line or turn its direction.
@pytest.mark.parametrize("last", [0x3100, *at_night(sys.maxunicode)])
def test_no_character_leaves_its_line(last: int):
    for number in range(last + 1):
        shown = display_value(f"a{chr(number)}b")
        assert len(shown.splitlines()) == 1, hex(number)
        assert (shown[:2], shown[-2:]) == ("“a", "b”"), hex(number)
        assert not {"“", "”"} & set(shown[1:-1]), hex(number)
        assert unicodedata.bidirectional(shown[2]) not in BIDI_CONTROLS, hex(number)


def test_values_for_people():
    assert display_value(Decimal("408.750")) == "408.750"
    assert display_value(7) == "7"
    assert display_value(get_user_model()(username="ada\n")) == "“ada”"
    assert display_value(date(2026, 11, 26)) == "Nov. 26, 2026"
    moment = datetime(2026, 11, 26, 12, 47, 5, 263490, tzinfo=ZoneInfo("UTC"))
    with timezone.override("Europe/Berlin"):
        assert display_value(moment) == "Nov. 26, 2026, 1:47 p.m. CET"
