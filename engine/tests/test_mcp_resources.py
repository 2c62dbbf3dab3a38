"""Resources and prompts for MCP clients: who may read what, and how a tool is described."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404

pytest.importorskip("fastmcp")

from mcp import MCPError, types
from pydantic_ai import BinaryContent, RunContext

from agui import AgentConfig, AgentDeps, DjangoAGUIView, SkillRegistry, ToolRegistry, get_urls, tool
from agui.contrib.mcp.resources import MISSING, Resource, resource, resources_of
from agui.models import AuditRecord
from agui.testing import ScriptedModel
from tests import pages
from tests.calling import ENDPOINT, JSON, client_of, text_of
from tests.conftest import Client
from tests.serving import serve_to_mcp
from tests.test_mcp_endpoint import permit

registry = ToolRegistry()
skills = SkillRegistry()
skills.add("brief", "Be brief", "Answer {question} in {words} words: {question}", description="A short answer")
skills.add("review", "Review", server_prompt="Secret words.")
skills.add("bare", "Bare")


@dataclass
class Order:
    number: int
    customer: str


def orders(ctx: RunContext[AgentDeps], typed: str) -> Iterator[int]:
    """Complete the number of an order."""
    return iter([12, 123, 1234, 5])


@resource(registry, "shop://orders/{number}", complete={"number": orders})
def order(ctx: RunContext[AgentDeps], number: int) -> Order:
    """An order of the user."""
    if number == 404:
        raise Http404
    if number == 405:
        raise ObjectDoesNotExist
    if number == 500:
        raise ValueError("postgres://secret")
    return Order(number, ctx.deps.user.get_username())


@resource(registry, "shop://terms", title="Terms and conditions")
async def terms() -> str:
    """What customers agree to."""
    return "Be kind."


@resource(registry, "shop://logo", mime_type="image/png")
def logo() -> bytes:
    """The logo."""
    return b"\x89PNG"


@resource(registry, "shop://files/{name}")
def file(name: str) -> BinaryContent | None:
    """A file."""
    return BinaryContent(name.encode(), media_type="text/csv") if name == "a b.csv" else None


@resource(registry, "shop://reports/{kind}", permission="agui.view_run")
def report(kind: Literal["daily", "weekly"]) -> str:
    """A report for those who may."""
    return kind


@tool(registry, read_only=True)
def find_order(number: int) -> Order:
    """Find an order."""
    return Order(number, "ada")


@tool(registry, idempotent=True, open_world=True)
def mail(text: str) -> str:
    """Send mail."""
    return "sent"


@tool(registry)
def wrong() -> Order:
    """Return what was not promised."""
    return "no order"  # type: ignore[return-value]


@tool(registry)
def long() -> str:
    """Return too much."""
    return "x" * 10_000


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}}
    view = DjangoAGUIView(registry, AgentConfig(model=ScriptedModel([]), name="shop"), skills=skills)
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": get_urls(view)})


@pytest.fixture(params=["auto", "legacy"])
def connect(request: Any, user: Any) -> Any:
    """Connects the official client, in each version of the protocol."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[Any]:
        async with client_of(user, request.param) as client:
            yield client

    return connected


async def test_resources_are_listed_and_read(connect: Any):
    async with connect() as client:
        listed = {each.name: each for each in (await client.list_resources()).resources}
        templates = {each.name: each for each in (await client.list_resource_templates()).resource_templates}
        assert listed.keys() == {"terms", "logo"}
        assert listed["terms"].title == "Terms and conditions"
        assert listed["logo"].description == "The logo."
        assert templates["order"].uri_template == "shop://orders/{number}"
        assert "report" not in templates
        (read,) = (await client.read_resource("shop://orders/7")).contents
        assert json.loads(read.text) == {"number": 7, "customer": "ada"}
        assert (read.uri, read.mime_type) == ("shop://orders/7", "application/json")
        (text,) = (await client.read_resource("shop://terms")).contents
        (blob,) = (await client.read_resource("shop://logo")).contents
        (csv,) = (await client.read_resource("shop://files/a%20b.csv")).contents
        assert (text.text, blob.blob, csv.text, csv.mime_type) == ("Be kind.", "iVBORw==", "a b.csv", "text/csv")
        calls = [(one.tool_name, one.outcome) async for one in AuditRecord.objects.order_by("started_at")]
        assert calls == [("order", "success"), ("terms", "success"), ("logo", "success"), ("file", "success")]


@pytest.mark.parametrize(
    "uri",
    [
        "shop://orders/404",
        "shop://orders/405",
        "shop://orders/many",
        "shop://orders/",
        "shop://orders/1/2",
        "shop://files/none",
        "shop://files/..",
        "shop://files/..%2Fa",
        "shop://files/%00",
        "shop://reports/daily",
        "file:///etc/passwd",
        "nothing",
    ],
)
async def test_what_is_not_there_is_said_in_one_way_and_a_failure_keeps_its_secrets(connect: Any, uri: str):
    async with connect() as client:
        with pytest.raises(MCPError, match="The failure was logged"):
            await client.read_resource("shop://orders/500")
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert (caught.value.error.message, caught.value.error.data) == (MISSING, {"uri": uri})
        assert caught.value.error.code in (types.INVALID_PARAMS, -32002)


async def test_a_permission_opens_a_resource(connect: Any, user: Any):
    async with connect() as client:
        await permit(user)
        (read,) = (await client.read_resource("shop://reports/daily")).contents
        assert read.text == "daily"
        completed = await complete(client, "shop://reports/{kind}", "kind", "w")
        assert completed.values == ["weekly"]


async def complete(client: Any, uri: str, name: str, value: str) -> types.Completion:
    reference = types.ResourceTemplateReference(type="ref/resource", uri=uri)
    result = await client.complete(reference, {"name": name, "value": value})
    found: types.Completion = result.completion
    return found


async def test_values_are_completed(connect: Any):
    async with connect() as client:
        assert (await complete(client, "shop://orders/{number}", "number", "12")).values == ["12", "123", "1234"]
        with pytest.raises(MCPError, match="Unknown resource template"):
            await complete(client, "shop://reports/{kind}", "kind", "")


async def test_skills_are_prompts(connect: Any):
    async with connect() as client:
        listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert listed.keys() == {"brief", "bare"}
        assert [argument.name for argument in listed["brief"].arguments] == ["question", "words"]
        result = await client.get_prompt("brief", {"question": "{words}", "words": "two"})
        assert result.messages[0].content.text == "Answer {words} in two words: {words}"
        with pytest.raises(MCPError, match="Missing arguments: words"):
            await client.get_prompt("brief", {"question": "Why?"})
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("review", {})
        words = types.PromptReference(type="ref/prompt", name="brief")
        assert (await client.complete(words, {"name": "question", "value": "W"})).completion.values == []


async def test_tools_have_hints_and_the_schema_of_their_results(connect: Any, settings: Any):
    async with connect() as client:
        info = client.server_info
        assert (info.name, info.title, info.version) == ("shop", "Shop", "0.1.0")
        assert info.website_url.startswith("http://127.0.0.1:")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = {name: each.annotations.model_dump() for name, each in tools.items()}
        assert hints["find_order"] == {
            "title": "Find order",
            "read_only_hint": True,
            "destructive_hint": False,
            "idempotent_hint": True,
            "open_world_hint": False,
        }
        known = [hints["mail"][name] for name in ("read_only_hint", "idempotent_hint", "open_world_hint")]
        assert known == [False, True, True]
        assert tools["find_order"].output_schema["required"] == ["number", "customer"]
        assert tools["mail"].output_schema is None
        found = await client.call_tool("find_order", {"number": 3})
        assert found.structured_content == {"number": 3, "customer": "ada"}
        assert (await client.call_tool("wrong", {})).is_error
        # A long result is cut as in a run.
        settings.AGUI = {**settings.AGUI, "MAX_RESULT_BYTES": 1000}
        cut = text_of(await client.call_tool("long", {}))
        assert len(cut) < 1200
        assert "Cut off" in cut


async def test_long_lists_have_pages(user: Any, settings: Any):
    many = ToolRegistry()
    for number in range(230):
        many.add(lambda: "", name=f"tool_{number}", description="One of many")
    serve_to_mcp(settings, many)
    async with client_of(user) as client:
        first = await client.list_tools()
        last = await client.list_tools(cursor="200")
        with pytest.raises(MCPError, match="no such page"):
            await client.list_tools(cursor="999")
    assert (len(first.tools), first.next_cursor) == (100, "100")
    assert (len(last.tools), last.next_cursor) == (30, None)


# --- Where requests may come from


PROBE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "probe", "version": "1"},
}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": PROBE}


async def post(client: Client, body: Any, path: str = ENDPOINT, **headers: str) -> Any:
    return await client.http.post(path, json.dumps(body), content_type="application/json", headers=JSON | headers)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://testserver", 200),
        ("https://app.example.com", 200),
        ("https://a.sub.example.org", 200),
        ("https://testserver", 403),
        ("http://testserver.evil.com", 403),
        ("http://evil.com", 403),
        ("https://example.com", 403),
        ("http://a.sub.example.org", 403),
        ("null", 403),
        ("", 403),
    ],
)
async def test_only_known_origins_are_answered(client: Client, settings: Any, origin: str, status: int):
    settings.CSRF_TRUSTED_ORIGINS = ["https://app.example.com", "https://*.sub.example.org"]
    assert (await post(client, INITIALIZE, Origin=origin)).status_code == status


async def test_a_session_id_holds_for_its_user(client: Client, other_client: Client):
    session = (await post(client, INITIALIZE))["Mcp-Session-Id"]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for who, sent, status in (
        (client, session, 200),
        (client, session[:-1], 404),
        (client, "nonsense", 404),
        (other_client, session, 404),
    ):
        assert (await post(who, listing, **{"Mcp-Session-Id": sent})).status_code == status


# --- Mistakes


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("orders/{number}", "write an address"),
        ("shop://orders/{id}", "placeholders and the parameters"),
        ("shop://orders", "placeholders and the parameters"),
    ],
)
def test_a_mistake_in_a_resource_names_its_cure(uri: str, message: str):
    with pytest.raises(ValueError, match=message):
        resource(ToolRegistry(), uri)(order)


def test_a_resource_needs_a_registry_and_an_address_of_its_own():
    with pytest.raises(TypeError, match="@resource lacks the registry"):
        resource("shop://terms", "x")  # type: ignore[arg-type]
    own = ToolRegistry()
    resource(own, "shop://terms", name="one", description="One")(lambda: "")
    with pytest.raises(ValueError, match="registered twice"):
        resource(own, "shop://terms", name="two", description="Two")(lambda: "")
    assert [each.uri for each in resources_of(own)] == ["shop://terms"]


def test_a_tool_is_destructive_or_read_only():
    with pytest.raises(ValueError, match="keep the one that is true"):
        tool(ToolRegistry(), destructive=True, read_only=True)(logo)


def test_a_template_matches_whole_values_only():
    found = Resource("shop://a/{x}/b/{y}", None, "")  # type: ignore[arg-type]
    assert found.match("shop://a/1/b/2%203") == {"x": "1", "y": "2 3"}
    assert found.match("shop://a/1/b/2/3") is None
    assert found.match("shop://a/1/b/2?q=1") is None
    for unsafe in ("..", ".", "..%2Fc", "%5C", "%00", "%0A"):
        assert found.match(f"shop://a/{unsafe}/b/2") is None


# --- The manual


def block_of(words: str) -> str:
    """The block of Python in mcp.md that has these words."""
    blocks = re.findall(r"^```python\n(.*?)^```$", pages.read("mcp.md"), re.M | re.S)
    (code,) = [code for code in blocks if words in code]
    return str(code)


async def test_the_manual_reads_tasks(user: Any, settings: Any):
    own = ToolRegistry()
    code = block_of("@resource").replace("from assistant.tools import registry", "")
    exec(code, {"registry": own, "Any": Any})  # noqa: S102 # the manual's own code
    serve_to_mcp(settings, own)
    task = await user.tasks.acreate(title="Write")
    async with client_of(user) as client:
        (listed,) = (await client.read_resource("tasks://open")).contents
        (one,) = (await client.read_resource(f"tasks://{task.pk}")).contents
        with pytest.raises(MCPError, match=MISSING):
            await client.read_resource("tasks://999999")
    assert (listed.text, json.loads(one.text)) == ("- Write", {"title": "Write", "category": "general"})


async def test_the_manual_has_a_route_without_a_redirect(client: Client, settings: Any):
    patterns: list[Any] = []
    exec(block_of("re_path"), {"urlpatterns": patterns})  # noqa: S102 # the manual's own code
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})
    for path in ("/mcp", "/mcp/"):
        response = await post(client, INITIALIZE, path)
        assert response.status_code == 200
        assert response.json()["result"]["protocolVersion"] == "2025-11-25"
