"""What a tool returns is bounded: what the model reads, what is stored, what clients are sent."""

import json
from typing import Any

import pytest
from daily import by_day
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import BinaryContent, FunctionToolset, ImageUrl, ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed

from agui import conf
from agui.models import Message, Run
from agui.testing import ScriptedModel, call, say
from agui.tools.results import bounded
from tests.conftest import Client
from tests.mounting import mounted

LIMIT = 20_000
LARGE = "x" * 3_000_000


@pytest.fixture(autouse=True)
def limit(settings: Any) -> None:
    settings.AGUI = {**settings.AGUI, "MAX_RESULT_BYTES": LIMIT, "MAX_READ_BYTES": LIMIT}


async def stored() -> int:
    rows = [len(data) async for data in Message.objects.values_list("data", flat=True)]
    rows += [len(json.dumps(draft)) async for draft in Run.objects.values_list("draft", flat=True)]
    return sum(rows)


@pytest.mark.parametrize(
    "result",
    by_day(
        [
            LARGE,
            [LARGE, LARGE],
            {"deep": [{"er": LARGE}]},
            list(range(1_000_000)),
            LARGE.encode(),
            ToolReturn(LARGE),
            ToolReturn("Here", content=LARGE),
            BinaryContent(LARGE.encode(), media_type="image/png"),
            ["Look", BinaryContent(LARGE.encode(), media_type="image/png")],
            ToolFailed(LARGE),
            ModelRetry(LARGE),
        ]
    ),
    ids=lambda result: f"{type(result).__name__} {str(result)[:30]}",
)
async def test_a_huge_result_is_neither_stored_nor_sent(client: Client, result: Any):
    def fetch() -> Any:
        """Fetch it."""
        if isinstance(result, Exception):
            raise result
        return result

    model = ScriptedModel([call("fetch"), say("Too much."), say("Yes.")])
    with mounted(model=model, toolsets=[FunctionToolset([fetch])]):
        events = await client.run("Fetch")
        await client.run("Really?")

    assert events[-1]["type"] == "RUN_FINISHED"
    assert len(json.dumps(events)) < 3 * LIMIT
    assert await stored() < 3 * LIMIT
    for request in model.requests:
        assert len(str(request.messages)) < 3 * LIMIT
    assert any(word in str(model.requests[1].messages) for word in ("Ask for less", "too large"))


def test_a_result_says_how_much_there_was():
    content = bounded("ä" * LIMIT)
    assert content.startswith("ä" * 9_999)
    assert content.endswith(f"[Cut off: the result has {2 * LIMIT} bytes, and {LIMIT} are the limit. Ask for less.]")
    file = BinaryContent(b"x", media_type="image/png")
    cut, kept = bounded([LARGE, file])
    assert kept is file
    assert len(cut) < LIMIT + 200
    with pytest.raises(ImproperlyConfigured, match="MAX_RESULT_BYTES"):
        conf.load({"MAX_RESULT_BYTES": 10})


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "x" * LIMIT,
        ["x", {"a": [1.5, None]}],
        (1, 2),
        b"bytes",
        BinaryContent(b"x" * LIMIT, media_type="image/png"),
        ImageUrl("https://example.org/a.png"),
        ["Look", BinaryContent(b"x", media_type="image/png")],
        ToolReturn({"a": 1}, content=["Look"], metadata={"b": 2}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_fits_is_the_very_same(value: Any):
    assert bounded(value) is value
