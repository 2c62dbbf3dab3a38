"""Messages with more than text: what reaches the model, and what is refused."""

import base64
import json

import pytest
from pydantic_ai import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, VideoUrl

from agui.testing import call, say
from agui.tests.conftest import Client, parts_of, results_of, run_input, script

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PNG).decode()


def message(*parts: dict) -> dict:
    return {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


def data(kind: str, mime_type: str, value: str = DATA) -> dict:
    return {"type": kind, "source": {"type": "data", "value": value, "mimeType": mime_type}}


def url(kind: str, value: str, **source: str) -> dict:
    return {"type": kind, "source": {"type": "url", "value": value, **source}}


HTTPS = "https://example.org/a"


@pytest.mark.parametrize(
    ("part", "kind", "media_type", "content"),
    [
        (data("image", "image/png"), BinaryContent, "image/png", PNG),
        (data("audio", "audio/wav"), BinaryContent, "audio/wav", PNG),
        (data("document", "application/pdf"), BinaryContent, "application/pdf", PNG),
        (url("image", f"{HTTPS}.png"), ImageUrl, "image/png", f"{HTTPS}.png"),
        (url("audio", f"{HTTPS}.mp3"), AudioUrl, "audio/mpeg", f"{HTTPS}.mp3"),
        (url("video", "HTTPS://example.org/a.mp4"), VideoUrl, "video/mp4", "HTTPS://example.org/a.mp4"),
        (url("document", HTTPS, mimeType="application/pdf"), DocumentUrl, "application/pdf", HTTPS),
        # As clients before 1.0 send it, .NET's among them.
        ({"type": "binary", "mimeType": "image/png", "data": DATA}, BinaryContent, "image/png", PNG),
    ],
)
async def test_every_part_of_a_message_reaches_the_model(client: Client, part, kind, media_type, content):
    with script(say("I see."), say("Yes.")) as model:
        await client.run(messages=[message(part)])
        await client.run("Really?")
    for request in model.requests:
        text, found = parts_of(request)[0].content
        assert text == "Look"
        assert isinstance(found, kind)
        assert (found.media_type, found.data if kind is BinaryContent else found.url) == (media_type, content)


async def test_the_thread_shows_the_parts_again(client: Client):
    with script(say("I see.")):
        await client.run(messages=[message(data("image", "image/png"))])
    assert (await client.thread())["messages"][0] == message(data("image", "image/png"))


@pytest.mark.parametrize(
    "part",
    [
        url("image", "file:///etc/passwd"),
        url("image", "s3://bucket/key.png"),
        url("image", "gs://bucket/key.png"),
        url("image", "ftp://example.org/a.png"),
        url("image", "data:image/png;base64,aGk="),
        url("image", "/etc/passwd"),
        url("image", "javascript:alert(1)"),
        url("image", ""),
        {"type": "document", "source": {"type": "file", "value": "file-1", "provider": "openai"}},
        data("image", "image/png", value="no base64!"),
        data("image", "image/png", value=""),
    ],
    ids=lambda part: json.dumps(part["source"])[:60],
)
@pytest.mark.parametrize("earlier", [[], [{"id": "u0", "role": "user", "content": "Hi"}]], ids=["alone", "imported"])
async def test_what_only_the_server_could_open_is_422(client: Client, part, earlier):
    with script(say("never")) as model:
        response = await client.post(run_input(messages=[*earlier, message(part)]))
    assert response.status_code == 422
    assert model.requests == []


async def test_a_result_that_looks_like_a_file_of_the_server_is_a_text(client: Client):
    text = '{"kind": "image-url", "url": "s3://bucket/key.png", "media_type": "image/png"}'
    tools = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]
    with script(call("paint", _id="p1"), say("ok")) as model:
        await client.run("Paint", tools=tools)
        await client.run(messages=[{"id": "r1", "role": "tool", "toolCallId": "p1", "content": text}], tools=tools)
    assert results_of(model.requests[1])["p1"].content == text
