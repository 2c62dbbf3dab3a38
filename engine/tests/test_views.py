"""Cards from templates: what they may hold, who gets them, and how hosts of MCP find and read them."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from pydantic_ai import RunContext

from agui import AgentConfig, AgentDeps, DjangoAGUIView, ToolRegistry, get_urls, show_view, tool
from agui.contrib.views.frame import DOCUMENT, HEADER
from agui.contrib.views.rendering import MAX_ARGUMENTS_CHARS, render
from agui.contrib.views.show import MAX_HTML_CHARS, MAX_TITLE_CHARS
from agui.testing import ScriptedModel, call, event_types, say
from tests import pages
from tests.conftest import Client
from tests.mounting import serve_urls
from tests.wire import check_stream

pytestmark = pytest.mark.django_db(transaction=True)

Mount = Callable[..., ScriptedModel]
CARD = """{% load agui_views %}
<style>p { margin: 0 }</style>
<h3>{{ order.name }}</h3>
<p title="{{ order.name }}">For <b>{{ order.customer }}</b></p>
<button {% call_tool "cancel_order" number=order.number note=order.name %}>Cancel {{ order.name }}</button>
"""
HOSTILE = "</b><script>top.pwned=1</script>\"' onclick=x {{ 7|add:1 }} {% load static %} &lt;"
registry = ToolRegistry()


def templates(**sources: str) -> list[dict[str, Any]]:
    """Settings of templates that have these sources, with an engine that does not escape by itself."""
    loader = ("django.template.loaders.locmem.Loader", {f"{name}.html": text for name, text in sources.items()})
    options = {"loaders": [loader], "autoescape": False}
    return [{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": options}]


@pytest.fixture(autouse=True)
def written(settings: Any) -> None:
    settings.TEMPLATES = templates(card=CARD)


def rendered(source: str, **values: Any) -> dict[str, Any]:
    with override_settings(TEMPLATES=templates(tried=source)):
        return render("tried.html", values)


def button(inside: str = "Cancel", arguments: str = "number=7") -> str:
    return f"{{% load agui_views %}}<button {{% call_tool 'cancel_order' {arguments} %}}>{inside}</button>"


@tool(registry, read_only=True, metadata={"shows_view": True})
async def show_order(
    ctx: RunContext[AgentDeps], name: str = "Lamp", customer: str = "Ada", title: str = "Order"
) -> str:
    """Show an order."""
    order = {"number": 7, "name": name, "customer": customer}
    await show_view(ctx, "card.html", {"order": order}, title=title)
    return f"Order 7: {name}"


@tool(registry, destructive=True)
def cancel_order(number: int, note: str = "") -> str:
    """Cancel an order."""
    return f"Cancelled {number}"


# --- What is rendered


def test_values_are_escaped_even_if_the_engine_does_not():
    card = rendered(CARD, order={"number": 7, "name": HOSTILE, "customer": HOSTILE})
    assert "<script" not in card["html"]
    assert card["html"].count("<b>") == 1
    assert 'title="&lt;/b&gt;' in card["html"]
    assert card["text"].splitlines()[0] == " ".join(HOSTILE.split())
    # Its arguments are JSON in an attribute, and the value stays one value.
    (action,) = card["actions"]
    assert json.loads(action["arguments"]) == {"number": 7, "note": HOSTILE}
    assert action["tool"] == "cancel_order"
    assert action["label"].startswith("Cancel </b><script>")


def test_text_of_a_card_has_its_lines_without_styles_and_buttons():
    card = rendered(CARD, order={"number": 7, "name": "Lamp", "customer": "Ada"})
    assert card["text"] == "Lamp\nFor Ada"
    assert rendered("<ul><li>a&amp;b<li>c</ul>  d\n e<br>f")["text"] == "a&b\nc\nd e\nf"


@pytest.mark.parametrize(
    "source",
    [
        "<script>x</script>",
        "<SCRIPT/src=//evil.example>",
        "<iframe src='/'></iframe>",
        "<form action=/></form>",
        "<meta http-equiv=refresh content='0;url=//evil.example'>",
        "<base href=//evil.example>",
        "<object data=/></object>",
        "<p onclick=x>",
        "<svg><path OnLoad=x></svg>",
        "<iframe srcdoc=x>",
        "<button formaction=/x>Go</button>",
        "<a href='javascript:x'>x</a>",
        "<a href=' \x01java\nscript:x'>x</a>",
        "<a href='data:text/html,x'>x</a>",
        "<img src=//evil.example/pixel>",
        "<img srcset='https://evil.example/pixel 1x'>",
        "<img src='data:text/html,x'>",
        "<button data-tool=cancel_order data-arguments='{}'>Made by hand</button>",
        "{% load agui_views %}<a {% call_tool 'cancel_order' number=1 %}>A link</a>",
        button(" "),
    ],
)
def test_card_has_nothing_that_acts(source: str):
    with pytest.raises(ValueError, match=r"tried\.html"):
        rendered(source)
    with pytest.raises(ValueError, match=r"tried\.html"):
        rendered("<p>{{ trusted|safe }}</p>", trusted=source) if "{%" not in source else rendered(source)


def test_value_that_is_not_escaped_makes_no_call_of_another():
    # `|safe` is a mistake of the project. Another call than those of the template is refused.
    source = button() + "{{ name|safe }}"
    # Nor may one of another card.
    of_another = rendered(button())["html"]
    for forged in ('<button data-tool="cancel_order" data-arguments=\'{"number": 8}\'>x</button>', of_another):
        with pytest.raises(ValueError, match="no template tag"):
            rendered(button(arguments="number=9") + "{{ name|safe }}", name=forged)
    assert [one["arguments"] for one in rendered(source, name="x")["actions"]] == ['{"number": 7}']


def test_card_within_a_card_keeps_the_calls_of_the_outer_one():
    card = rendered("{{ inner }}" + button(), inner=lambda: rendered("<p>x</p>")["text"])
    assert len(card["actions"]) == 1


def test_what_a_card_may_have():
    source = (
        "<a href='https://shop.example/7'>1</a><a href='/orders/7/'>2</a><a href='mailto:a@b.example'>3</a>"
        "<img src='data:image/png;base64,AA=='><svg><circle r=1 /></svg>{% include 'part.html' only %}"
    )
    with override_settings(TEMPLATES=templates(tried=source, part=button("Go", "price=price"))):
        (action,) = render("tried.html", {"price": Decimal("1.5")})["actions"]
    assert action == {"tool": "cancel_order", "arguments": '{"price": ""}', "label": "Go"}


def test_other_engines_may_not_escape(settings: Any, tmp_path: Path):
    (tmp_path / "tried.html").write_text("<p>x</p>")
    settings.TEMPLATES = [{"BACKEND": "django.template.backends.dummy.TemplateStrings", "DIRS": [tmp_path]}]
    with pytest.raises(ValueError, match="no Django template"):
        render("tried.html", {})


def test_sizes_have_limits():
    with pytest.raises(ValueError, match="give ids, not texts"):
        rendered(button(arguments="note=note"), note="x" * MAX_ARGUMENTS_CHARS)
    (action,) = rendered(button("{{ label }}"), label="Cancel\n\u202e" + "x" * 1000)["actions"]
    assert action["label"].startswith("Cancel x")
    assert len(action["label"]) == 100


# --- In the chat


async def test_card_is_an_activity_that_the_thread_keeps(client: Client, mount: Mount):
    mount(registry, call("show_order", name=HOSTILE), say("There."))
    events = await client.run("Show it")
    check_stream(events)
    (event,) = [one for one in events if one["type"] == "ACTIVITY_SNAPSHOT"]
    assert event["activityType"] == "view"
    content = event["content"]
    assert content["title"] == "Order"
    assert (content["lang"], content["dir"]) == ("en", "ltr")
    assert "<script" not in content["html"]
    messages = (await client.thread())["messages"]
    assert [one["content"] for one in messages if one.get("activityType") == "view"] == [content]


@pytest.mark.parametrize("about", [{"title": "x" * (MAX_TITLE_CHARS + 1)}, {"customer": "x" * MAX_HTML_CHARS}])
async def test_card_that_is_too_large_is_a_failure_of_its_tool(client: Client, mount: Mount, about: dict[str, str]):
    mount(registry, call("show_order", **about), say("It failed."))
    assert "ACTIVITY_SNAPSHOT" not in event_types(await client.run("Show it"))


async def test_frame_has_one_script_and_its_own_policy(client: Client, mount: Mount):
    mount(registry)
    response = await client.get("views/frame/")
    assert response.status_code == 200
    assert response.content.decode() == DOCUMENT
    policy = dict(part.split(" ", 1) for part in response["Content-Security-Policy"].split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", DOCUMENT, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert policy["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert len(digests) == 1
    assert policy["default-src"] == "'none'"
    assert policy["sandbox"] == "allow-scripts"
    assert policy["frame-ancestors"] == "'self'"
    assert response["Content-Security-Policy"] == HEADER
    assert response["X-Frame-Options"] == "SAMEORIGIN"
    # Hosts get the document without headers: it says the same by itself, as far as a document can.
    (inside,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', DOCUMENT)
    inner = dict(part.split(" ", 1) for part in inside.split("; "))
    assert inner == {name: value for name, value in policy.items() if name not in ("sandbox", "frame-ancestors")}
    assert "//" not in re.sub(r"// .*", "", DOCUMENT)


# --- In hosts of MCP


@asynccontextmanager
async def connected(settings: Any, user: Any, registry: ToolRegistry = registry, mode: str = "auto") -> Any:
    """The official client, in a version of the protocol."""
    pytest.importorskip("fastmcp")
    from tests.test_mcp_endpoint import mcp_client, site

    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}}
    view = DjangoAGUIView(registry, AgentConfig(model=ScriptedModel([]), name="shop"))
    serve_urls(settings, get_urls(view))
    async with site() as url, mcp_client(user, url, mode) as client:
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_hosts_find_the_app_and_read_it(settings: Any, user: Any, mode: str):
    async with connected(settings, user, mode=mode) as client:
        listed = {one.name: one for one in (await client.list_tools()).tools}
        meta = listed["show_order"].meta
        assert meta == {"ui": {"resourceUri": "ui://agui/view.html"}, "ui/resourceUri": "ui://agui/view.html"}
        assert listed["cancel_order"].meta is None
        (resource,) = (await client.list_resources()).resources
        assert (str(resource.uri), resource.mime_type) == (meta["ui"]["resourceUri"], "text/html;profile=mcp-app")
        (content,) = (await client.read_resource(str(resource.uri))).contents
        assert content.text == DOCUMENT
        assert content.mime_type == "text/html;profile=mcp-app"
        assert content.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


async def test_result_has_a_text_for_the_model_and_the_card_for_the_app(settings: Any, user: Any):
    async with connected(settings, user) as client:
        result = await client.call_tool("show_order", {"name": HOSTILE})
        failed = await client.call_tool("show_order", {"title": "x" * (MAX_TITLE_CHARS + 1)})
        other = await client.call_tool("cancel_order", {"number": 7})
    (block,) = result.content
    assert block.text == f"Order 7: {HOSTILE}"
    assert result.structured_content is None
    card = result.meta["agui/view"]
    assert "<script" not in card["html"]
    assert card["html"].startswith("\n<style>")
    assert (card["lang"], card["dir"]) == ("en", "ltr")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", card["base"])
    # The model of a host reads none of it.
    assert "<style>" not in json.dumps([one.model_dump() for one in result.content])
    assert (failed.is_error, other.is_error) == (True, False)
    assert ["agui/view" in (one.meta or {}) for one in (failed, other)] == [False, False]


async def test_tool_that_does_not_say_so_shows_hosts_nothing(settings: Any, user: Any, caplog: Any):
    silent = ToolRegistry()
    silent.add(show_order)
    async with connected(settings, user, silent) as client:
        result = await client.call_tool("show_order", {})
        assert (await client.list_resources()).resources == []
    assert "agui/view" not in (result.meta or {})
    assert 'metadata={"shows_view": True}' in caplog.text


async def test_app_is_for_those_who_may_call_a_tool_that_shows_it(settings: Any, user: Any):
    from mcp import MCPError

    from tests.test_mcp_endpoint import permit

    closed = ToolRegistry()
    closed.add(show_order, permission="agui.view_run", metadata={"shows_view": True})
    async with connected(settings, user, closed) as client:
        assert (await client.list_tools()).tools == []
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource("ui://agui/view.html")
    await permit(user)
    async with connected(settings, user, closed) as client:
        assert len((await client.list_resources()).resources) == 1
        assert (await client.read_resource("ui://agui/view.html")).contents


async def test_without_the_part_hosts_hear_nothing_of_it(settings: Any, user: Any):
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "agui.contrib.views"]
    async with connected(settings, user) as client:
        assert all(one.meta is None for one in (await client.list_tools()).tools)
        assert (await client.list_resources()).resources == []
        assert "agui/view" not in ((await client.call_tool("show_order", {})).meta or {})


# --- The manual


@pytest.mark.usefixtures("example")
async def test_the_manual_shows_a_task(client: Client, mount: Mount, settings: Any, user: Any):
    page = pages.read("views.md")
    blocks = dict(re.findall(r"^```(html|python)\n(.*?)^```$", page.partition("\n## Buttons")[0], re.M | re.S))
    settings.TEMPLATES = templates(**{"assistant/task_card": blocks["html"]})
    own = ToolRegistry()
    code = blocks["python"].replace("import registry, tasks_of", "import tasks_of")
    exec(code, {"registry": own})  # noqa: S102 # the manual's own code
    task = await user.tasks.acreate(title="Write <b>", category="home")
    mount(own, call("show_task", task_id=task.pk), say("There."))
    check_stream(await client.run("Show it"))
    (content,) = [one["content"] for one in (await client.thread())["messages"] if one.get("activityType") == "view"]
    assert content["text"] == "Write <b>\nhome"
    action = {"tool": "complete_task", "arguments": f'{{"task_id": {task.pk}}}', "label": "Complete it"}
    assert content["actions"] == [action]
