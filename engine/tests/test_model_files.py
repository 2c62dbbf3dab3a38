"""Files on their way to a model: addresses that the server does not open, and files that a model can't read.

The server fetches nothing that a client names, no matter which model answers. What a model can't read is never the end
of a conversation: transcripts/files.yaml has what becomes of it.
"""

import asyncio
import base64
import ipaddress
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pydantic_ai
import pytest
from daily import by_day
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import BinaryContent, FunctionToolset, _ssrf
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import FileUrl, ImageUrl, ToolReturn
from pydantic_ai.models.fallback import FallbackModel

from agui import conf
from agui.contrib.attachments import file_addresses
from agui.testing import ScriptedModel, call, fail, say
from tests.conftest import Client, parts_of, results_of, script
from tests.mounting import answering, mounted
from tests.provider_stub import Answer, ProviderStub, ToolUse
from tests.serving import Answers, serving
from tests.test_multimodal import DATA, PNG, data

BYTES = b"%PDF-1.7 the content of the file"
FOUND = (200, {"content-type": "application/pdf"}, BYTES)
HUGE = (200, {"content-type": "application/pdf"}, BYTES * 100_000)
SILENT = (200, {"content-type": "application/pdf"}, asyncio.Event())
PAINT = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]


class Files(Answers):
    """A server with files."""

    url = ""

    @property
    def paths(self) -> list[str]:
        return [request["path"] for request in self.requests]


@pytest.fixture
async def files(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Files]:
    """What this server has looks public to the library, so that only we keep its files away."""
    monkeypatch.setattr(_ssrf, "_PRIVATE_NETWORKS", ())
    files = Files()
    async with serving(files) as files.url:
        yield files


def message(*parts: Any, message_id: str = "u1") -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


def named(url: str, kind: str, media_type: str, **fields: Any) -> dict[str, Any]:
    """A part of a message that names a file by its address."""
    kind = "document" if kind in ("pdf", "text") else kind
    return {"type": kind, "source": {"type": "url", "value": url, "mimeType": media_type}, **fields}


def told(events: list[dict[str, Any]]) -> list[Any]:
    return [event["value"] for event in events if event.get("name") == "files_left_out"]


def need_library(model: str) -> None:
    pytest.importorskip("google.genai" if model.startswith("google") else model.split(":")[0].removesuffix("-chat"))


KINDS = {
    "image": ("/a.png", "image/png"),
    "pdf": ("/a.pdf", "application/pdf"),
    "text": ("/a.txt", "text/plain"),
    "audio": ("/a.wav", "audio/wav"),
    "video": ("/a.mp4", "video/mp4"),
}
# What each provider opens itself.
OPENED = {
    "openai:gpt-5.6-terra": {"image", "pdf", "text", "audio"},
    "openai-chat:gpt-5.6-terra": {"image"},
    "anthropic:claude-sonnet-5-5": {"image", "pdf"},
    "google:gemini-3-flash": set(),
}


@pytest.mark.parametrize("model", OPENED)
@pytest.mark.parametrize("kind", by_day(KINDS))
async def test_the_server_fetches_no_address_that_a_client_names(
    client: Client, stub: ProviderStub, files: Files, model: str, kind: str
):
    need_library(model)
    path, media_type = KINDS[kind]
    address = files.url + path
    stub.replies = [Answer("I see."), Answer("Yes.")]
    with answering(model=model):
        events = await client.run(messages=[message(named(address, kind, media_type))])
        again = await client.run("Really?")

    assert files.paths == []
    assert [event["type"] for event in (events[-1], again[-1])] == ["RUN_FINISHED"] * 2
    sent = json.dumps(stub.requests[0].body)
    is_opened = kind in OPENED[model]
    assert ("you can't read" not in sent) == is_opened
    assert address in sent
    assert [[file["url"] for file in one["files"]] for one in told(events)] == ([] if is_opened else [[address]])
    assert told(again) == []


@pytest.mark.parametrize("model", OPENED)
async def test_nor_one_in_the_result_of_a_client_s_tool(client: Client, stub: ProviderStub, files: Files, model: str):
    need_library(model)
    content = message(named(files.url + "/a.txt", "text", "text/plain"))["content"]
    with script(call("paint", _id="p1")):
        await client.run("Paint", tools=PAINT)
    stub.replies = [Answer("I see.")]
    with answering(model=model):
        await client.run(messages=[{"id": "r1", "role": "tool", "toolCallId": "p1", "content": content}], tools=PAINT)
    assert files.paths == []


async def test_what_the_project_s_own_tool_orders_is_done(client: Client, stub: ProviderStub, files: Files):
    pytest.importorskip("google.genai")

    def look() -> ToolReturn[str]:
        """Look."""
        file = ImageUrl(files.url + "/a.png", media_type="image/png", force_download=True)
        return ToolReturn("Here", content=[file])

    files.answers = [FOUND]
    stub.replies = [ToolUse("look", {}), Answer("I see.")]
    with answering(model="google:gemini-3-flash", toolsets=[FunctionToolset([look])]):
        await client.run("Look")
    assert files.paths == ["/a.png"]


# --- With AGUI["ATTACHMENTS"]["DOWNLOADS"]


def allow(settings: Any, **limits: Any) -> None:
    settings.AGUI = {**settings.AGUI, "ATTACHMENTS": {"DOWNLOADS": limits}}


def sent_files(stub: ProviderStub) -> list[bytes]:
    contents = stub.requests[-1].body["contents"]
    data = [part["inlineData"]["data"] for content in contents for part in content["parts"] if "inlineData" in part]
    return [base64.b64decode(one) for one in data]


def pdf(address: str, message_id: str = "u1") -> dict[str, Any]:
    return message(named(address, "pdf", "application/pdf"), message_id=message_id)


@pytest.fixture
def google(stub: ProviderStub) -> Iterator[ProviderStub]:
    pytest.importorskip("google.genai")
    stub.replies = [Answer("I see.") for _ in range(3)]
    with answering(model="google:gemini-3-flash"):
        yield stub


async def test_a_setting_lets_the_server_download(
    client: Client, settings: Any, google: ProviderStub, files: Files, monkeypatch: pytest.MonkeyPatch, caplog: Any
):
    allow(settings)
    files.answers = [(302, {"location": "/a.pdf"}), FOUND]
    events = await client.run(messages=[pdf(files.url + "/there")])
    assert sent_files(google) == [BYTES]
    assert files.paths == ["/there", "/a.pdf"]
    assert told(events) == []

    monkeypatch.setattr(file_addresses, "safe_download", None)
    await client.run(messages=[pdf(files.url + "/b.pdf")], thread="t2")
    assert files.paths == ["/there", "/a.pdf"]
    assert f"pydantic-ai {pydantic_ai.__version__} has none" in caplog.text


@pytest.mark.parametrize(("limit", "answer"), [({"MAX_BYTES": 1_000_000}, HUGE), ({"TIMEOUT_SECONDS": 0.05}, SILENT)])
async def test_a_download_has_limits(client: Client, settings, google: ProviderStub, files: Files, limit, answer):
    allow(settings, **limit)
    files.answers = [answer]
    events = await client.run(messages=[pdf(files.url + "/a.pdf")])
    assert sent_files(google) == []
    assert len(told(events)) == 1
    assert events[-1]["type"] == "RUN_FINISHED"


async def test_downloads_have_a_highest_number(client: Client, settings: Any, google: ProviderStub, files: Files):
    allow(settings, MAX_FILES=2)
    files.answers = [FOUND, FOUND]
    messages = [pdf(f"{files.url}/{number}.pdf", f"u{number}") for number in range(4)]
    events = await client.run(messages=messages)
    assert files.paths == ["/3.pdf", "/2.pdf"]  # The newest
    assert len(sent_files(google)) == 2
    assert [len(one["files"]) for one in told(events)] == [2]


@pytest.mark.parametrize("is_redirect", [False, True])
async def test_a_private_address_is_never_opened(
    client: Client, settings: Any, google: ProviderStub, files: Files, monkeypatch: Any, is_redirect: bool
):
    """Not even after a redirect: the first address, 127.0.0.1, looks public here, and 127.0.0.2 private."""
    monkeypatch.setattr(_ssrf, "_PRIVATE_NETWORKS", (ipaddress.IPv4Network("127.0.0.2/32"),))
    hidden = Files()
    async with serving(hidden, host="127.0.0.2") as private:
        files.answers = [(302, {"location": f"{private}/a.pdf"})]
        allow(settings)
        events = await client.run(messages=[pdf(files.url + "/there" if is_redirect else f"{private}/a.pdf")])
    assert (files.paths, hidden.paths) == (["/there"] * is_redirect, [])
    assert sent_files(google) == []
    assert len(told(events)) == 1


async def test_a_private_address_of_the_library_s_own_list_is_refused(
    client: Client, settings: Any, google: ProviderStub, files: Files, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.undo()
    monkeypatch.setenv("GOOGLE_API_KEY", "not-a-real-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", google.url)
    allow(settings)
    await client.run(messages=[pdf(files.url + "/a.pdf")])
    assert files.paths == []


@pytest.mark.parametrize("wrong", [{"MAX_BYTES": 0}, {"FILES": 1}, True])
def test_a_wrong_setting_is_named_at_start_up(wrong: Any):
    with pytest.raises(ImproperlyConfigured, match="DOWNLOADS"):
        conf.load({"ATTACHMENTS": {"DOWNLOADS": wrong}})


def test_an_address_is_handed_on_only_if_each_model_of_a_fallback_may_have_it():
    opens, stranger = ScriptedModel([]), ScriptedModel([])
    stranger.hands_on_addresses = False
    image = ImageUrl("https://example.com/a.png")
    assert file_addresses.is_handed_on(FallbackModel(opens, opens), image)
    for models in ((stranger, opens), (opens, stranger)):
        assert not file_addresses.is_handed_on(FallbackModel(*models), image)


@pytest.mark.parametrize("wrong", [["file"], ["HTTP"], ["http://"], ["data"], [""], "http", None])
def test_a_wrong_scheme_is_named_at_start_up(wrong: Any):
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_FILE_URL_SCHEMES"):
        conf.load({"ALLOWED_FILE_URL_SCHEMES": wrong})


@pytest.mark.parametrize("force", [True, "allow-local"])
async def test_a_client_can_not_make_the_server_download(client: Client, force: Any):
    """Neither by a message nor by the result of a tool of its own."""
    part = named("http://127.0.0.1:8000/admin/", "image", "image/png", metadata={"force_download": force})
    result = {**message(part, message_id="r1"), "role": "tool", "toolCallId": "p1"}
    with script(call("paint", _id="p1"), say("ok")) as model:
        await client.run(messages=[message(part)], tools=PAINT)
        await client.run(messages=[result], tools=PAINT)
    sent, returned = parts_of(model.requests[0])[0].content, results_of(model.requests[1])["p1"].content
    assert [file.force_download for file in (*sent, *returned) if isinstance(file, FileUrl)] == [False, False]


# --- Files that a model can't read

REFUSED = fail(ModelHTTPError(400, "m", {"error": "a secret: unsupported file"}))


@pytest.mark.parametrize(
    ("model", "part"),
    [
        ("openai:gpt-5.6-terra", data("video", "video/mp4")),
        ("openai-chat:gpt-5.6-terra", data("video", "video/mp4")),
        ("openai-chat:gpt-5.6-terra", data("audio", "audio/ogg")),
        ("openai-chat:gpt-5.6-terra", data("document", "text/plain")),  # This is not a text.
        ("openai-chat:gpt-5.6-terra", data("document", "application/x-unknown")),
        ("openai:gpt-5.6-terra", data("document", "application/x-unknown")),
        ("anthropic:claude-sonnet-5-5", data("audio", "audio/wav")),
        ("anthropic:claude-sonnet-5-5", data("video", "video/mp4")),
        ("anthropic:claude-sonnet-5-5", data("document", "application/x-unknown")),
    ],
    ids=lambda value: value if isinstance(value, str) else value["source"]["mimeType"],
)
async def test_a_kind_that_the_model_class_knows_nothing_of(client: Client, stub: ProviderStub, model: str, part: Any):
    """It failed before any request left, in each later turn again."""
    need_library(model)
    stub.replies = [Answer("I can't hear it."), Answer("Hello.")]
    with answering(model=model):
        first = await client.run(messages=[message(part)])
        second = await client.run("Hello?")
    assert [one[-1]["type"] for one in (first, second)] == ["RUN_FINISHED"] * 2
    assert len(told(first)) == 1
    assert told(second) == []
    assert all("you can't read" in json.dumps(request.body) for request in stub.requests)
    assert DATA not in json.dumps([request.body for request in stub.requests])


async def test_each_model_of_a_chain_is_sent_what_it_can_read(client: Client):
    one, other = ScriptedModel([REFUSED, fail(ModelHTTPError(503, "m"))]), ScriptedModel([say("A dot.")])
    with mounted(model=FallbackModel(one, other)):
        await client.run(messages=[message(data("image", "image/png"))])
    assert [str(PNG) in str(request.messages) for request in (*one.requests, *other.requests)] == [True, False, True]


async def test_a_file_of_a_tool_is_left_out_too(client: Client):
    def shoot() -> Any:
        """Take a shot."""
        return ["Here:", BinaryContent(PNG, media_type="image/png")]

    model = ScriptedModel([call("shoot"), REFUSED, call("shoot"), say("Hm.")])
    with mounted(model=model, toolsets=[FunctionToolset([shoot])]):
        events = await client.run("Shoot")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert [str(PNG) in str(request.messages) for request in model.requests] == [False, True, False, False]
    assert len(told(events)[0]["files"]) == 1
