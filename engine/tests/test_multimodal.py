"""Files in results of tools and in answers of models: their bytes are not kept. (files.yaml has those of users.)"""

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from pydantic import BaseModel, computed_field
from pydantic_ai import BinaryContent, ImageUrl, ToolReturn
from pydantic_ai._parts_manager import ModelResponsePartsManager
from pydantic_ai.messages import FilePart, TextPart, ToolReturnPart

from agui import parts
from agui.models import Message, Run
from agui.protocol.files import part_without_bytes
from agui.runs import drafts
from agui.testing import Part, call, collect, fail, say, think, wait
from tests import urls
from tests.conftest import Client, parts_of, results_of, run_input, script

DATA = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PNG = base64.b64decode(DATA)


def message(*parts: dict) -> dict:
    return {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


def data(kind: str, mime_type: str, value: str = DATA) -> dict:
    return {"type": kind, "source": {"type": "data", "value": value, "mimeType": mime_type}}


def url(kind: str, value: str, **source: str) -> dict:
    return {"type": kind, "source": {"type": "url", "value": value, **source}}


HTTPS = "https://example.org/a"


# --- Bytes that the server made are not kept

FILE = BinaryContent(PNG, media_type="image/png")


class Shot(BaseModel):
    """A result with a file in it."""

    title: str
    file: Any


@dataclass
class Frame:
    """Another one."""

    file: BinaryContent


async def kept(client: Client) -> str:
    """Everything that the database and a client have of the conversations."""
    rows: list[Any] = [data async for data in Message.objects.values_list("data", flat=True)]
    rows += [draft async for draft in Run.objects.values_list("draft", flat=True)]
    return json.dumps([rows, await client.thread()])


@pytest.mark.parametrize(
    "result",
    [
        FILE,
        [FILE, "a shot"],
        {"deep": [{"er": (FILE,)}]},
        Shot(title="a shot", file=FILE),
        {"frames": [Frame(FILE)]},
        PNG,
        ToolReturn({"shot": FILE}),
        ToolReturn("taken", content=["Look:", FILE]),
        ToolReturn("taken", metadata={"shot": FILE}),
    ],
    ids=lambda result: str(result)[:40],
)
async def test_files_that_tools_made_are_neither_kept_nor_sent_to_clients(client: Client, result: Any, no_files: None):
    def shoot() -> Any:
        """Take a shot."""
        return result

    with script(call("shoot"), say("I see."), say("Yes.")) as model, urls.view.agent.override(tools=[shoot]):
        events = await client.run("Shoot")
        everything = await kept(client)
        await client.run("Really?")
    if getattr(result, "metadata", None) is None:
        assert any(form in str(model.requests[1].messages) for form in (str(PNG), DATA))  # Then it is seen
    assert DATA not in json.dumps(events) + everything + await kept(client)
    assert str(PNG) not in str(model.requests[2].messages)
    assert f"{len(PNG)} bytes" in str(model.requests[2].messages)
    assert events[-1]["outcome"] == {"type": "success"}


class Report(BaseModel):
    """A result with something that only pydantic can dump."""

    rows: list[int]

    @computed_field
    def total(self) -> int:
        return sum(self.rows)


async def test_what_has_no_file_in_it_is_kept_as_it_is(client: Client):
    def look() -> Any:
        """Look."""
        return {"report": Report(rows=[1, 2]), "urls": [ImageUrl(f"{HTTPS}.png")], "list": [1, {"a": None}]}

    with script(call("look", _id="c1"), say("I see."), say("Yes.")) as model, urls.view.agent.override(tools=[look]):
        await client.run("Look")
        await client.run("Really?")
    result = results_of(model.requests[2])["c1"].content
    report, addresses = {"rows": [1, 2], "total": 3}, [ImageUrl(f"{HTTPS}.png")]
    assert result == {"report": report, "urls": addresses, "list": [1, {"a": None}]}


def shoot() -> BinaryContent:
    """Take a shot."""
    return FILE


@pytest.mark.parametrize("last", [fail(RuntimeError("gone")), [say("I"), fail(RuntimeError("gone"))]])
async def test_nor_are_they_when_the_run_fails(client: Client, last: Any, no_files: None):
    with script(call("shoot"), last, say("Yes.")) as model, urls.view.agent.override(tools=[shoot]):
        await client.run("Shoot")
        assert DATA not in await kept(client)
        await client.run("Really?")
    assert f"[image/png, {len(PNG)} bytes, not kept]" in str(model.requests[2].messages)


async def test_nor_are_they_in_the_draft_of_a_run(client: Client):
    reached, go_on = asyncio.Event(), asyncio.Event()
    with script(call("shoot"), [wait(go_on, reached), say("I see.")]), urls.view.agent.override(tools=[shoot]):
        response = await client.post(run_input("Shoot"))
        await reached.wait()
        await drafts.checkpoints.write()
        draft = json.dumps((await Run.objects.aget()).draft)
        go_on.set()
        await collect(response)
    assert f"{len(PNG)} bytes" in draft
    assert DATA not in draft


async def test_nor_is_a_file_that_the_model_made(client: Client, monkeypatch, no_files: None):
    def paint(self: Any, vendor_part_id: Any) -> list[Any]:
        return [self.handle_part(vendor_part_id=vendor_part_id, part=FilePart(FILE, id="ig_1", provider_name="x"))]

    monkeypatch.setattr(ModelResponsePartsManager, "paint", paint, raising=False)
    painted = Part("paint", [{}])
    answers = [[call("echo", text="x"), painted], [painted, say("There.")], [think("Hm"), painted]]
    with script(*answers, [say("Here:"), painted], say("Yes.")) as model:
        events = [*await client.run("Paint"), *await client.run("Alone"), *await client.run("And in red?")]
        assert DATA not in await kept(client)
        await client.run("Thanks")
    assert DATA not in json.dumps(events)
    words = [part for part in parts_of(model.requests[4]) if isinstance(part, TextPart) and "image/png" in part.content]
    assert [(part.id, part.provider_name) for part in words] == [(None, None)] * 4
    messages = (await client.thread())["messages"]
    assert messages == (await client.thread())["messages"]  # Their ids, too
    known = {message["id"]: message for message in messages}
    assert len(known) == len(messages)
    streamed: dict[str, str] = {}
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            streamed[event["messageId"]] = streamed.get(event["messageId"], "") + event["delta"]
    drawn = f"\n[An image was made here that is not kept: image/png, {len(FILE.data)} bytes]\n"
    assert list(streamed.values()) == [drawn, f"{drawn}There.", drawn, f"Here:{drawn}"]
    assert {one: known[one]["content"] for one in streamed} == streamed


def test_circles_are_left_to_whoever_writes_them_down():
    part = ToolReturnPart("echo", urls.ODD["circle"])
    assert part_without_bytes(part) is part


# --- Without the part `attachments`


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    if not apps.is_installed("agui.contrib.attachments"):
        return
    assert urls.view.agent, "It is built with all parts, whichever test comes first."
    others = [part for part in parts.installed() if part.label != "agui_attachments"]
    monkeypatch.setattr(parts, "installed", lambda: tuple(others))


@pytest.mark.parametrize("part", [data("image", "image/png"), url("image", f"{HTTPS}.png")])
async def test_a_file_is_refused_by_an_agent_that_takes_none(client: Client, no_files: None, part: dict):
    with script(say("Hello.")) as model:
        response = await client.post(run_input(messages=[message(part)]))
        events = await client.run("Hello?")

    assert response.status_code == 422
    assert json.loads(response.content)["message"] == "This agent takes no files."
    assert events[-1]["type"] == "RUN_FINISHED"
    assert len(model.requests) == 1


async def test_a_stored_file_is_words_for_an_agent_that_takes_none(client: Client, request: pytest.FixtureRequest):
    if not apps.is_installed("agui.contrib.attachments"):
        pytest.skip("Nothing stores a file")
    with script(say("I see."), say("Not any more.")) as model:
        await client.run(messages=[message(data("image", "image/png"))])
        request.getfixturevalue("no_files")
        events = await client.run("And now?")

    assert events[-1]["type"] == "RUN_FINISHED"
    assert "[image/png, 70 bytes, not kept]" in str(model.requests[1].messages)
    assert DATA not in str(model.requests[1].messages)
    assert "BinaryContent" not in str(model.requests[1].messages)
