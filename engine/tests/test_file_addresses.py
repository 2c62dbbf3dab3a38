"""Files named by an address: the server fetches nothing that a client names, no matter which model answers."""

import base64
import ipaddress
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pydantic_ai
import pytest
from daily import by_day
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import FunctionToolset, _ssrf
from pydantic_ai.messages import ImageUrl, ToolReturn
from pydantic_ai.models.fallback import FallbackModel

from agui import conf
from agui.contrib.attachments import file_addresses
from agui.testing import ScriptedModel, call, say
from tests.conftest import Client, parts_of, script
from tests.provider_stub import Answer, ProviderStub, ToolUse
from tests.test_llm import answering, stub

__all__ = ["stub"]

BYTES = b"%PDF-1.7 the content of the file"


@dataclass
class Files:
    """A server with files, and the paths that it was asked for."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    gate: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    """What this server has looks public to the library, so that only we keep its files away."""
    monkeypatch.setattr(_ssrf, "_PRIVATE_NETWORKS", ())
    files = Files()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.paths.append(self.path)
            if self.path in files.redirects:
                self.send_response(302)
                self.send_header("Location", files.redirects[self.path])
                self.end_headers()
                return
            if self.path.startswith("/slow"):
                files.gate.wait(60)
            data = BYTES * (100_000 if self.path.startswith("/huge") else 1)
            self.send_response(200)
            self.send_header("Content-Type", "application/pdf")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(OSError):  # The reader may have had enough
                self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Keep the tests' output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    files.url = f"http://127.0.0.1:{server.server_port}"
    yield files
    files.gate.set()
    server.shutdown()
    server.server_close()
    thread.join()


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


def message(url: str, kind: str, media_type: str, message_id: str = "u1") -> dict[str, Any]:
    kind = "document" if kind in ("pdf", "text") else kind
    part = {"type": kind, "source": {"type": "url", "value": url, "mimeType": media_type}}
    return {"id": message_id, "role": "user", "content": [{"type": "text", "text": "Look"}, part]}


def told(events: list[dict[str, Any]]) -> list[Any]:
    return [event["value"] for event in events if event.get("name") == "files_left_out"]


def need_library(model: str) -> None:
    pytest.importorskip("google.genai" if model.startswith("google") else model.split(":")[0].removesuffix("-chat"))


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
        events = await client.run(messages=[message(address, kind, media_type)])
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
    tools = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]
    content = message(files.url + "/a.txt", "text", "text/plain")["content"]
    with script(call("paint", _id="p1")):
        await client.run("Paint", tools=tools)
    stub.replies = [Answer("I see.")]
    with answering(model=model):
        await client.run(messages=[{"id": "r1", "role": "tool", "toolCallId": "p1", "content": content}], tools=tools)
    assert files.paths == []


async def test_what_the_project_s_own_tool_orders_is_done(client: Client, stub: ProviderStub, files: Files):
    pytest.importorskip("google.genai")

    def look() -> ToolReturn[str]:
        """Look."""
        file = ImageUrl(files.url + "/a.png", media_type="image/png", force_download=True)
        return ToolReturn("Here", content=[file])

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
    return message(address, "pdf", "application/pdf", message_id)


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
    files.redirects["/there"] = "/a.pdf"
    events = await client.run(messages=[pdf(files.url + "/there")])
    assert sent_files(google) == [BYTES]
    assert files.paths == ["/there", "/a.pdf"]
    assert told(events) == []

    monkeypatch.setattr(file_addresses, "safe_download", None)
    await client.run(messages=[pdf(files.url + "/b.pdf")], thread="t2")
    assert files.paths == ["/there", "/a.pdf"]
    assert f"pydantic-ai {pydantic_ai.__version__} has none" in caplog.text


@pytest.mark.parametrize(
    ("limit", "path"), [({"MAX_BYTES": 1_000_000}, "/huge.pdf"), ({"TIMEOUT_SECONDS": 0.05}, "/slow.pdf")]
)
async def test_a_download_has_limits(
    client: Client, settings: Any, google: ProviderStub, files: Files, limit: Any, path: str
):
    allow(settings, **limit)
    events = await client.run(messages=[pdf(files.url + path)])
    assert sent_files(google) == []
    assert len(told(events)) == 1
    assert events[-1]["type"] == "RUN_FINISHED"


async def test_downloads_have_a_highest_number(client: Client, settings: Any, google: ProviderStub, files: Files):
    allow(settings, MAX_FILES=2)
    messages = [pdf(f"{files.url}/{number}.pdf", f"u{number}") for number in range(4)]
    events = await client.run(messages=messages)
    assert files.paths == ["/3.pdf", "/2.pdf"]  # The newest
    assert len(sent_files(google)) == 2
    assert [len(one["files"]) for one in told(events)] == [2]


@pytest.mark.parametrize("path", ["/a.pdf", "/there"])
async def test_a_private_address_is_never_opened(
    client: Client, settings: Any, google: ProviderStub, files: Files, monkeypatch: pytest.MonkeyPatch, path: str
):
    """Not even after a redirect: the first address, 127.0.0.1, looks public here, and 127.0.0.2 private."""
    monkeypatch.setattr(_ssrf, "_PRIVATE_NETWORKS", (ipaddress.IPv4Network("127.0.0.2/32"),))
    private = files.url.replace("127.0.0.1", "127.0.0.2") + "/a.pdf"
    files.redirects["/there"] = private
    allow(settings)
    events = await client.run(messages=[pdf(private if path == "/a.pdf" else files.url + path)])
    assert files.paths == ([] if path == "/a.pdf" else ["/there"])
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


async def test_a_model_that_hands_addresses_on_gets_them(client: Client):
    with script(say("I see.")) as model:
        await client.run(messages=[pdf("https://example.org/a.pdf")])
    assert parts_of(model.requests[0])[0].content[1].url == "https://example.org/a.pdf"


@pytest.mark.parametrize("stranger_is_first", [True, False])
def test_an_address_is_handed_on_only_if_each_model_of_a_fallback_may_have_it(stranger_is_first: bool):
    opens, stranger = ScriptedModel([]), ScriptedModel([])
    stranger.hands_on_addresses = False
    image = ImageUrl("https://example.com/a.png")
    assert file_addresses.is_handed_on(FallbackModel(opens, opens), image)
    both = (stranger, opens) if stranger_is_first else (opens, stranger)
    assert not file_addresses.is_handed_on(FallbackModel(*both), image)
