"""The images that models and tools make: kept as their owner's files, shown where they were made, seen again."""

import base64
import json
import struct
import zlib
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pydantic_ai import BinaryContent, BinaryImage, ToolReturn
from pydantic_ai._parts_manager import ModelResponsePartsManager
from pydantic_ai.messages import FilePart, TextPart
from pydantic_ai.models import override_allow_model_requests

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.contrib.attachments.image_sizes import size_of
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.attachments.tool import READ_ATTACHMENT
from agui.contrib.suggestions.follow_ups import FollowUps
from agui.models import Run
from agui.protocol import files
from agui.stores.deletion import delete_thread
from agui.testing import Part, ScriptedModel, call, say, think
from tests.conftest import Client, body_of, files_in, parts_of, results_of, script
from tests.mounting import mounted, serve_urls
from tests.provider_stub import Answer, Body, ProviderStub
from tests.providers import model_of
from tests.test_multimodal import kept
from tests.wire import check_stream

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database, pytest.mark.usefixtures("media")]

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def png(width: int = 3, height: int = 2, shade: int = 0) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([shade]) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def image(shade: int = 0, **about: Any) -> BinaryImage:
    return BinaryImage(png(shade=shade), media_type="image/png", **about)


@pytest.fixture(autouse=True)
def brush(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scripted models paint."""

    def paint(self: Any, vendor_part_id: Any, part: FilePart) -> list[Any]:
        return [self.handle_part(vendor_part_id=vendor_part_id, part=part)]

    monkeypatch.setattr(ModelResponsePartsManager, "paint", paint, raising=False)


def paint(*files: BinaryContent, **about: Any) -> Part:
    return Part("paint", [{"part": FilePart(file, **about)} for file in files])  # type: ignore[dict-item]


registry = ToolRegistry()


def serve(settings: Any, provider: str, stub: ProviderStub) -> None:
    """Let a provider's model answer, at the stub."""
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=model_of(provider, stub.url)))
    serve_urls(settings, get_urls(view))


@tool(registry)
def draw(prompt: str, shade: int = 0) -> BinaryImage:
    """Draw something."""
    return image(shade)


def images_of(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The images of each activity, as a strict client has them in the end."""
    shown = check_stream(events).activities.values()
    assert {kind for kind, _ in shown} <= {"images"}
    return [content["images"] for _, content in shown]


def not_kept(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [event["value"]["images"] for event in events if event.get("name") == "images_not_kept"]


async def fetched(client: Client, path: str) -> tuple[int, bytes]:
    response = await client.get(path)
    return response.status_code, await body_of(response) if response.streaming else response.content


async def test_a_models_image_is_kept_and_shown_at_its_place(client: Client, other_client: Client):
    with script([say("Look:"), paint(image()), say("Nice?")], say("Yes.")) as model:
        events = await client.run("Paint")
        thread = await client.thread()
        await client.run("Is it?")
    [[row]] = images_of(events)
    attachment = await Attachment.objects.aget()
    # So it goes with the thread, and no earlier.
    use = await AttachmentUse.objects.aget()
    assert (use.attachment_id, use.thread_id) == (attachment.pk, "t1")

    about = {"name": "image-1.png", "mime": "image/png", "size": len(png()), "width": 3, "height": 2}
    assert row == {"id": str(attachment.pk), "url": f"attachments/{attachment.pk}/", **about}
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant", "activity", "assistant"]
    assert [message["content"] for message in thread["messages"][1:]] == ["Look:", {"images": [row]}, "Nice?"]
    streamed = [event["messageId"] for event in events if event["type"] in ("TEXT_MESSAGE_START", "ACTIVITY_SNAPSHOT")]
    assert [message["id"] for message in thread["messages"][1:]] == streamed
    assert base64.b64encode(png()).decode() not in json.dumps(events) + await kept(client)
    assert await fetched(client, row["url"]) == (200, png())
    assert (await fetched(other_client, row["url"]))[0] == 404
    # The model sees it again: its bytes, between its texts.
    [answer] = [message.parts for message in model.requests[1].messages if message.kind == "response"]
    assert [type(part) for part in answer] == [TextPart, FilePart, TextPart]
    assert answer[1].content.data == png()
    assert [READ_ATTACHMENT in request.tools for request in model.requests] == [False, True]


async def test_a_provider_gets_its_own_image_back(client: Client, settings: Any):
    pytest.importorskip("google.genai")
    data = base64.b64encode(png()).decode()
    part = {"inlineData": {"mimeType": "image/png", "data": data}, "thoughtSignature": "c2ln"}
    chunk = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    with ProviderStub() as stub, override_allow_model_requests(True):
        stub.replies = [Body([f"data: {json.dumps(chunk)}\r\n\r\n"]), Answer("Red now.")]
        serve(settings, "google", stub)
        [[row]] = images_of(await client.run("Paint"))
        await client.run("In red")
        [_, answer, _] = stub.requests[-1].body["contents"]

    [sent] = answer["parts"]
    assert (sent["inlineData"]["data"], sent["thoughtSignature"]) == (data, "c2ln")
    assert len(stub.requests) == 2  # An answer of an image alone is one.
    assert await fetched(client, row["url"]) == (200, png())


@pytest.mark.parametrize("api", ["chat", "google"])
async def test_a_response_without_an_end_is_stopped(client: Client, settings: Any, api: str):
    pytest.importorskip("google.genai")
    settings.AGUI = {**settings.AGUI, "MAX_RESPONSE_BYTES": 100_000}
    sent = 0

    def endless() -> Any:
        nonlocal sent
        yield "data: "
        while sent < 50_000_000:
            sent += 50_000
            yield "A" * 50_000

    with ProviderStub() as stub, override_allow_model_requests(True):
        stub.replies = [Body(endless())]
        serve(settings, api, stub)
        events = await client.run("Paint")

    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "output_limit")
    assert sent < 50_000_000


async def test_nothing_is_suggested_after_an_image_without_words(client: Client):
    model = ScriptedModel([[paint(image())], call("final_result", response=["Another one"])])
    with mounted(model=model, capabilities=[FollowUps()]):
        await client.run("Paint")
    assert len(model.requests) == 1


async def test_images_without_words_between_them_are_shown_together(client: Client):
    sketches = paint(image(4), image(5), image(6), id="ig_1", provider_name="x")
    with script([think("Hm"), paint(image(1)), paint(image(2)), say("And:"), sketches]):
        events = await client.run("Paint")
    messages = (await client.thread())["messages"]
    [both, [row]] = images_of(events)

    assert len(both) == 2
    assert [message["role"] for message in messages] == ["user", "reasoning", "activity", "assistant", "activity"]
    shown = [message["content"]["images"] for message in messages if message["role"] == "activity"]
    assert shown == [both, [row]]
    # A sketch makes place for its image.
    assert await fetched(client, row["url"]) == (200, png(shade=6))
    assert await Attachment.objects.acount() == 3


async def test_a_tools_image_is_kept_with_the_words_it_was_made_from(client: Client, mount: Any):
    calls = [call("draw", prompt="A red  fox", shade=1, _id="a"), call("draw", prompt="A hen", shade=2, _id="b")]
    model = mount(registry, calls, say("Here."), say("Thanks."))
    events = await client.run("Draw")
    thread = await client.thread()
    await client.run("Nice")
    [rows] = images_of(events)
    ids = {row["alt"]: row["id"] for row in rows}

    assert list(ids) == ["A red fox", "A hen"]
    assert {row["name"].partition("-")[0] for row in rows} == {"draw"}
    words = {event["toolCallId"]: event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"}
    assert words["a"] == f"[image/png, {len(png(shade=1))} bytes, kept as {ids['A red fox']}]"
    assert words == {one["toolCallId"]: one["content"] for one in thread["messages"] if one["role"] == "tool"}
    # The model has seen it at once, and sees it again in the next turn, with its words.
    assert results_of(model.requests[1])["a"].content.data == png(shade=1)
    again = results_of(model.requests[2])["a"].content
    assert (again[0], again[1].data, again[1].identifier) == (words["a"], png(shade=1), ids["A red fox"])
    assert base64.b64encode(png(shade=1)).decode() not in json.dumps(events) + await kept(client)


async def test_a_large_result_without_images_is_not_searched_for_them(client: Client, mount: Any, monkeypatch: Any):
    def list_rows() -> list[list[int]]:
        """List many rows."""
        return [[]] * 2000

    def look(value: Any) -> Any:
        looks.append(value)
        return really_look(value)

    looks, really_look = [], files.files_in
    monkeypatch.setattr(files, "files_in", look)
    tools = ToolRegistry()
    tools.add(list_rows)
    mount(tools, call("list_rows"), say("Many."))
    await client.run("List")
    assert len(looks) < 10


async def test_what_a_tool_lets_the_model_look_at_is_shown_too(client: Client, mount: Any):
    tools = ToolRegistry()
    with_words, alone = ToolReturn("Taken.", content=["Look:", image(7)]), ToolReturn([], content=[image(8)])
    tools.add(lambda: with_words, name="shoot", description="Take a shot of the page.")
    tools.add(lambda: alone, name="say_nothing", description="Take a shot of the page, without a word.")
    both = [call("shoot", _id="s"), call("say_nothing", _id="n")]
    model = mount(tools, both, say("I see."), say("Yes."), say("No."))
    [rows] = images_of(await client.run("Shoot"))
    await client.run("Really?")
    await Attachment.objects.all().adelete()
    await client.run("Really?")

    assert len(rows) == 2
    seen, later = results_of(model.requests[2]), results_of(model.requests[3])
    assert (seen["s"].content[1].data, seen["n"].content.data) == (png(shade=7), png(shade=8))
    assert later["n"].content == []
    assert "Taken." in str(later["s"].content)


async def test_only_as_many_images_are_kept_as_the_settings_allow(client: Client, settings: Any):
    settings.AGUI = {**settings.AGUI, "ATTACHMENTS": {"MAX_IMAGES": 2, "MAX_BYTES": 5000}}
    large = BinaryImage(png(90, 90) + b"\0" * 5000, media_type="image/png")
    drawn = BinaryContent(SVG, media_type="image/svg+xml")
    with script([paint(drawn, large), *(paint(image(n)) for n in range(40))], say("Yes.")) as model:
        events = await client.run("Paint")
        thread = await client.thread()
        await client.run("And?")
    [rows] = images_of(events)
    [told] = not_kept(events)
    texts = [message for message in thread["messages"] if message["role"] == "assistant"]

    assert len(rows) == await Attachment.objects.acount() == 2
    assert [one["reason"] for one in told] == ["unknown_kind", "too_large", *["too_many"] * 18]
    assert told[0] == {"mime": "image/svg+xml", "size": len(SVG), "reason": "unknown_kind"}
    assert texts[-1]["metadata"]["images_not_kept"] == told
    assert f"[An image was made here that is not kept: image/png, {len(large.data)} bytes]" in texts[0]["content"]
    sent = [part for part in parts_of(model.requests[1]) if isinstance(part, FilePart)]
    assert [len(part.content.data) for part in sent] == [len(png()), len(png(shade=1))]
    assert "Binary" not in json.dumps(thread)
    assert "None" not in json.dumps(thread)


@pytest.mark.parametrize(("room", "kept"), [(len(png(shade=1)) + 1, 1), (1, 0)])
async def test_an_owner_without_room_is_told(client: Client, settings: Any, room: int, kept: int):
    settings.AGUI = {**settings.AGUI, "ATTACHMENTS": {"MAX_TOTAL_BYTES": room}}
    with script([paint(image(1)), paint(image(2)), say("There.")], say("Yes.")) as model:
        events = await client.run("Paint")
        await client.run("And?")

    assert [len(rows) for rows in images_of(events)] == [1] * kept
    assert [one["reason"] for one in not_kept(events)[0]] == ["no_room"] * (2 - kept)
    sent = parts_of(model.requests[1])
    assert len([part for part in sent if isinstance(part, FilePart)]) == kept
    assert "[An image was made here that is not kept: image/png]" in str(sent)


@pytest.mark.parametrize("begins_anew", [False, True])
async def test_an_image_for_a_deleted_thread_is_deleted(client: Client, mount: Any, media: Any, begins_anew: bool):
    late = ToolRegistry()

    @tool(late)
    async def draw() -> BinaryImage:
        """Draw something."""
        # As another process does: this one does not know.
        run = await Run.objects.aget(thread_id="t1")
        await sync_to_async(delete_thread)("t1", run.scope)
        if begins_anew:
            await Run.objects.acreate(run_id="new", thread_id="t1", scope=run.scope, status="finished")
        return image()

    mount(late, call("draw", _id="d"), say("Here."))
    await client.run("Draw")

    # A new thread of the same id may need the file.
    assert await Attachment.objects.acount() == begins_anew
    assert len(files_in(media)) == begins_anew


async def test_an_image_that_was_deleted_is_words_for_the_model(client: Client, mount: Any):
    model = mount(registry, [say("Look:"), paint(image())], call("draw", prompt="x", _id="d"), say("So."), say("Yes."))
    await client.run("Paint")
    await client.run("Draw")
    await Attachment.objects.all().adelete()
    await client.run("And?")

    sent = parts_of(model.requests[3])
    assert not [part for part in sent if isinstance(part, FilePart)]
    assert "[An image was made here that is not kept: image/png]" in str(sent)
    assert "kept as" in results_of(model.requests[3])["d"].content


async def test_a_result_that_names_an_image_of_another_user_shows_none(client: Client, other_client: Client, mount):
    tools = ToolRegistry()
    named: list[str] = []

    @tool(tools)
    def fetch() -> list[dict[str, str]]:
        """Return what somebody else has written: once stored, it reads like an image."""
        about = {"kind": "binary", "media_type": "image/png", "data": ""}
        return [about | {"identifier": name} for name in named]

    model = mount(tools, [paint(image(4)), say("There.")], call("fetch", _id="f"), say("So."), say("Yes."))
    [[row]] = images_of(await other_client.run("Paint", thread="theirs"))
    named.append(row["id"])
    await client.run("Fetch")
    await client.run("And?")

    assert results_of(model.requests[-1])["f"].content == []


JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0001108000500070301220002110103110100ffd9")
WEBP = b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (8).to_bytes(3, "little") + (3).to_bytes(3, "little")
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\x30\x01\0\x9d\x01\x2a" + (9).to_bytes(2, "little") + (4).to_bytes(2, "little")
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (8 | 3 << 14).to_bytes(4, "little")
GIF = b"GIF89a" + (9).to_bytes(2, "little") + (4).to_bytes(2, "little")
SIZES = [
    (png(9, 4), "image/png", (9, 4)),
    (JPEG, "image/jpeg", (7, 5)),
    (GIF, "image/gif", (9, 4)),
    (WEBP, "image/webp", (9, 4)),
    (LOSSY, "image/webp", (9, 4)),
    (LOSSLESS, "image/webp", (9, 4)),
    # It is not looked for without an end.
    (JPEG[:2] + b"\xff" * 500 + JPEG[2:], "image/jpeg", (7, 5)),
    (JPEG[:2] + b"\xff" * 5000 + JPEG[2:], "image/jpeg", None),
    (SVG, "image/svg+xml", None),
    (png(0, 4), "image/png", None),
]


@pytest.mark.parametrize(("data", "media_type", "size"), SIZES)
def test_the_size_of_an_image_is_read(data: bytes, media_type: str, size: tuple[int, int] | None):
    assert size_of(data, media_type) == size
    for length in range(min(len(data), 200)):
        assert size_of(data[:length], media_type) in (None, size)  # Nothing raises.
