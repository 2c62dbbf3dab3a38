"""Apps of other MCP servers on the project's page: what is shown, what they get, and who decides about their calls."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import AsyncClient

pytest.importorskip("fastmcp")

from mcp.types import Tool

from agui import ToolRegistry
from agui.contrib.mcp import app_documents, app_gate, app_views
from agui.contrib.mcp.app_policy import app_uri, is_for, policy
from agui.contrib.mcp.apps import check_apps
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.servers import AppDomains, read_servers
from agui.lazy_import import LazyImport
from agui.models import AuditRecord
from agui.testing import call, say
from tests.app_server import HTML, OTHER_URI, URI, Shop, build_app_server
from tests.conftest import results_of
from tests.connecting import Project, http_server

APPS = "/agent/mcp/apps/"
INVALID = {"error": "Invalid or expired requestState"}
NO_TOOL = {"error": "This tool is not for apps."}


class Site:
    """The project with the shop's server, and a person in a browser."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.shop = Shop()
        self.browser = AsyncClient()
        self.browser.force_login(project.client.user)

    @asynccontextmanager
    async def open(self, apps: Any = True, **more: Any) -> AsyncIterator[None]:
        async with http_server(server=build_app_server(self.shop)) as url, http_server() as other:
            self.project.configure(shop={"url": url, "apps": apps}, other={"url": other, "apps": True})
            self.project.settings.AGUI = {**self.project.settings.AGUI, **more}
            self.llm = self.project.script(call("shop_orders", customer="Ada", _id="c1"), say("Done."))
            yield

    async def activities(self) -> list[Any]:
        """What is shown of a run in which the model lists the orders."""
        return [event for event in await self.project.client.run("Orders") if event["type"] == "ACTIVITY_SNAPSHOT"]

    async def frame(self, server: str = "shop", uri: str = URI, **headers: str) -> Any:
        return await self.browser.get(APPS, {"server": server, "uri": uri}, headers=headers)

    async def ask(self, method: str, params: Any, *, server: str = "shop", answer: Any = None) -> Any:
        body = {"server": server, "method": method, "params": params}
        if answer:
            body["answer"] = answer
        return (await self.browser.post(APPS, body, content_type="application/json")).json()

    async def asked(self) -> Any:
        """An approval of the call that cancels the order 7, which the user was asked for."""
        asked = await self.call("cancel", number=7)
        assert self.shop.done == []
        assert asked["question"]["message"] == 'Run "Shop cancel"?\nnumber: 7'
        return {"id": asked["question"]["id"], "approved": True}

    async def call(self, name: str, answer: Any = None, server: str = "shop", **arguments: Any) -> Any:
        return await self.ask("tools/call", {"name": name, "arguments": arguments}, server=server, answer=answer)


@pytest.fixture
def site(project: Project) -> Site:
    return Site(project)


def directives(header: str) -> dict[str, str]:
    return dict(part.strip().split(" ", 1) for part in header.split(";"))


# --- What the thread keeps and the model reads


async def test_a_result_is_shown_in_its_app_and_the_model_reads_what_it_read_before(site: Site):
    async with site.open():
        [shown] = await site.activities()
        assert shown["activityType"] == "mcp-apps"
        assert shown["content"]["result"].pop("_meta")["secret"] == "for the app"
        assert shown["content"] == {
            "serverId": "shop",
            "serverHash": "shop",
            "resourceUri": URI,
            "toolInput": {"customer": "Ada"},
            "result": {
                "content": [{"type": "text", "text": "2 orders of Ada"}],
                "structuredContent": {"count": 2},
                "isError": False,
            },
            "title": "Orders",
            "text": "2 orders of Ada",
        }
        assert results_of(site.llm.requests[1])["c1"].content == '{"count":2}'
        # The model has no tool that is for apps alone.
        assert set(site.llm.requests[0].tools) >= {"shop_orders", "shop_secrets", "other_add"}
        assert not {"shop_refresh", "shop_cancel", "shop_broken"} & set(site.llm.requests[0].tools)
        thread = await site.project.client.thread()
        kept = [message for message in thread["messages"] if message["role"] == "activity"]
        assert [message["content"]["text"] for message in kept] == ["2 orders of Ada"]


@pytest.mark.parametrize("apps", [False, None])
async def test_without_the_project_s_word_a_server_shows_no_app(site: Site, apps: Any):
    async with site.open(apps=apps):
        assert await site.activities() == []
        assert (await site.frame()).status_code == 404
        assert (await site.browser.post(APPS, {"server": "shop"}, content_type="application/json")).status_code == 400
        assert await site.call("refresh") == {"error": "not_found", "message": "There is no such app."}
    assert site.shop.done == []


async def test_a_result_that_is_too_large_is_not_shown(site: Site, caplog: Any):
    async with site.open(MAX_RESULT_BYTES=1000):
        site.project.script(call("shop_orders", customer="A" * 2000, _id="c1"), say("Done."))
        assert await site.activities() == []
    assert "Not showing the app of tool 'orders'" in caplog.text


# --- The frame


async def test_frame_has_the_app_inside_a_policy_of_the_project(site: Site):
    async with site.open():
        response = await site.frame()
        assert response.status_code == 200
        page = response.content.decode()
        assert 'sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;' in page
        # Nothing of the app stands in the outer document.
        assert HTML not in page
        assert page.count("<script>") == 1
        told = directives(response["Content-Security-Policy"])
        for name in ("default-src", "connect-src", "frame-src", "form-action", "base-uri"):
            assert told[name] == "'none'", name
        assert told["sandbox"] == "allow-scripts"
        assert told["frame-ancestors"] == "'self'"
        assert told["script-src"] == told["style-src"] == "'unsafe-inline'"
        assert told["worker-src"] == "blob:"
        assert response["X-Frame-Options"] == "SAMEORIGIN"
        assert response["Referrer-Policy"] == "no-referrer"
        assert response["X-DNS-Prefetch-Control"] == "off"
        again = await site.frame(**{"If-None-Match": response["ETag"]})
        assert again.status_code == 304
        assert again["Content-Security-Policy"] == response["Content-Security-Policy"]
        assert site.shop.reads == 1


@pytest.mark.parametrize("escape", ['"></iframe><script>top.x=1</script>', "'>", "&quot;><b>", "</script><script>"])
async def test_html_of_an_app_stays_in_its_frame_with_the_network_that_the_project_allows(site: Site, escape: str):
    site.shop.html = escape
    site.shop.csp = {"connectDomains": ["https://api.example.com"], "resourceDomains": ["https://cdn.example.com"]}
    async with site.open(apps={"connectDomains": ["https://api.example.com"]}):
        frame = await site.frame()
    page, told = frame.content.decode(), directives(frame["Content-Security-Policy"])
    assert page.count("<script>") == page.count("</script>") == page.count("</iframe>") == 1
    assert told["connect-src"] == "https://api.example.com"
    assert told["script-src"] == "'unsafe-inline'"


async def test_frame_shows_only_what_a_tool_of_that_server_names(site: Site):
    async with site.open():
        for query in [
            *({"server": server} for server in ("other", "nobody", "")),
            *({"uri": uri} for uri in ("ui://shop/data.json", "", "file:///etc/shop.conf", "ui://shop/none.html")),
            {"uri": "https://evil.example/"},
        ]:
            assert (await site.frame(**query)).status_code == 404, query
        for dest in ("document", "empty", "object"):
            assert (await site.frame(**{"Sec-Fetch-Dest": dest})).status_code == 404, dest
        assert site.shop.reads == 0
        assert (await site.frame(**{"Sec-Fetch-Dest": "iframe"})).status_code == 200


async def test_app_that_is_too_large_or_no_app_is_not_shown_and_few_documents_are_kept(site: Site, monkeypatch: Any):
    monkeypatch.setattr(app_documents, "MAX_KEPT", 1)
    monkeypatch.setattr(app_documents, "MAX_APP_BYTES", len(HTML) - 1)
    async with site.open():
        assert (await site.frame()).status_code == 404
        monkeypatch.setattr(app_documents, "MAX_APP_BYTES", len(HTML))
        site.shop.reads = 0
        for uri, reads in ((URI, 1), (OTHER_URI, 2), (OTHER_URI, 2), (URI, 3)):
            assert (await site.frame(uri=uri)).status_code == 200
            assert site.shop.reads == reads
    site.shop.mime = "text/html"
    async with site.open():
        assert (await site.frame()).status_code == 404


async def test_project_without_the_library_has_no_apps(site: Site, monkeypatch: Any):
    site.project.settings.AGUI = {}
    monkeypatch.setattr(app_views, "app_gate", LazyImport("agui.nowhere"))
    assert (await site.frame()).status_code == 404


# --- Its network


ALLOWED = {
    "connectDomains": ["https://api.example.com"],
    "resourceDomains": ["https://*.tiles.example", "wss://w.example"],
}


@pytest.mark.parametrize(
    ("declared", "connect", "image"),
    [
        (None, "'none'", "data: blob:"),
        ({}, "'none'", "data: blob:"),
        ({"connectDomains": ["https://api.example.com"]}, "https://api.example.com", "data: blob:"),
        ({"connectDomains": ["https://evil.example", "https://api.example.com.evil.example"]}, "'none'", "data: blob:"),
        ({"connectDomains": ["http://api.example.com", "https://api.example.com:444"]}, "'none'", "data: blob:"),
        ({"connectDomains": ["*", "https:", "'self'", "https://*", "https://*.example.com"]}, "'none'", "data: blob:"),
        ({"connectDomains": ["https://api.example.com; script-src *"]}, "'none'", "data: blob:"),
        ({"connectDomains": ["https://api.example.com *"]}, "'none'", "data: blob:"),
        ({"resourceDomains": ["https://a.tiles.example"]}, "'none'", "data: blob: https://a.tiles.example"),
        ({"resourceDomains": ["https://*.tiles.example"]}, "'none'", "data: blob: https://*.tiles.example"),
        ({"resourceDomains": ["https://tiles.example", "https://eviltiles.example"]}, "'none'", "data: blob:"),
        ({"resourceDomains": ["http://a.tiles.example", "https://api.example.com"]}, "'none'", "data: blob:"),
        ({"resourceDomains": ["wss://a.tiles.example", "https://a.tiles.example:444"]}, "'none'", "data: blob:"),
        ({"resourceDomains": ["https://evil.example https://a.tiles.example"]}, "'none'", "data: blob:"),
        ({"resourceDomains": ["https://x.tiles.example; img-src https://a.tiles.example"]}, "'none'", "data: blob:"),
        ({"frameDomains": ["https://a.tiles.example"], "baseUriDomains": ["https://b.c"]}, "'none'", "data: blob:"),
        ({"connectDomains": "https://api.example.com", "resourceDomains": [None, 1, {}]}, "'none'", "data: blob:"),
    ],
)  # fmt: skip
def test_network_is_what_the_server_declares_and_the_project_allows(declared: Any, connect: str, image: str):
    told = directives(policy(declared, AppDomains.model_validate(ALLOWED)))
    assert told["connect-src"] == connect
    assert told["img-src"] == image
    assert told["frame-src"] == told["base-uri"] == "'none'"
    assert directives(policy(declared, AppDomains()))["connect-src"] == "'none'"


@pytest.mark.parametrize(
    "apps",
    [
        {"connectDomains": ["*"]}, {"connectDomains": ["https://*"]}, {"connectDomains": ["https://a.b/path"]},
        {"connectDomains": ["http://a.example"]}, {"connectDomains": ["https://a.b; script-src *"]},
        {"resourceDomains": ["https://*.com*"]}, {"frameDomains": []}, "yes", 1,
    ],
)  # fmt: skip
def test_wrong_domains_are_named(project: Project, apps: Any):
    project.configure(shop={"command": "x", "apps": apps})
    with pytest.raises(ValueError, match=r"the server 'shop': 'apps'"):
        read_servers(project.file)


def test_apps_need_the_part_that_shows_them(project: Project, monkeypatch: Any):
    project.configure(shop={"command": "x", "apps": True})
    servers = read_servers(project.file)
    check_apps(servers)
    monkeypatch.setattr("django.apps.apps.is_installed", lambda name: False)
    with pytest.raises(ImproperlyConfigured, match=r"add \"agui.contrib.views\" to INSTALLED_APPS"):
        check_apps(servers)


@pytest.mark.parametrize(
    ("meta", "uri", "audiences"),
    [
        ({"ui/resourceUri": URI}, URI, "app model"),
        ({"ui": {"resourceUri": "https://evil.example/"}}, None, "app model"),
        ({"ui": {"resourceUri": ["ui://x"]}}, None, "app model"),
        ({"ui": "ui://x"}, None, "app model"),
        ({"ui": {"visibility": []}}, None, ""),
    ],
)
def test_a_server_says_of_a_tool_which_app_it_has_and_whom_it_is_for(meta: Any, uri: str | None, audiences: str):
    tool = Tool(name="x", input_schema={"type": "object"}, _meta=meta)
    assert app_uri(tool) == uri
    assert [each for each in ("app", "model") if is_for(tool, each)] == audiences.split()


# --- Its calls


async def test_app_calls_harmless_tools_which_are_audited_and_count_for_the_limits(site: Site):
    async with site.open(THROTTLE={"USER": "2/day"}):
        answer = await site.call("refresh")
        record = await AuditRecord.objects.aget()
        assert "isError" in (await site.call("refresh"))["result"]
        refused = (await site.call("refresh"))["result"]
    assert answer["result"]["structuredContent"] == {"calls": 1}
    assert (record.tool_name, record.outcome, record.via) == ("shop_refresh", "success", "mcp: app of shop")
    assert record.user_id == site.project.client.user.pk
    assert refused["isError"] is True
    assert "Try again in" in refused["content"][0]["text"]
    assert site.shop.done == ["refresh", "refresh"]


async def test_app_s_destructive_call_waits_for_the_user_and_runs_once(site: Site):
    async with site.open():
        yes = await site.asked()
        # The answer holds for these arguments, this tool and this user.
        other = await site.call("cancel", answer=yes, number=8)
        assert other["question"]["id"] != yes["id"]
        assert (await site.call("refresh", answer=yes))["result"]["structuredContent"] == {"calls": 1}
        site.shop.done.clear()
        answer = await site.call("cancel", answer=yes, number=7)
        assert answer["result"]["content"] == [{"type": "text", "text": "cancelled 7"}]
        assert await site.call("cancel", answer=yes, number=7) == INVALID
    assert site.shop.done == ["cancel 7"]
    record = await AuditRecord.objects.aget(tool_name="shop_cancel")
    assert (record.outcome, record.approved_by) == ("success", str(site.project.client.user.pk))


async def test_answer_that_is_no_or_forged_or_of_somebody_else_or_late_approves_nothing(site: Site, other: Any):
    async with site.open():
        yes = await site.asked()
        answer = await site.call("cancel", answer={**yes, "approved": False}, number=7)
        assert answer["result"]["isError"] is True
        assert (await AuditRecord.objects.aget()).outcome == "denied"
        assert await site.call("cancel", answer=yes, number=7) == INVALID
        for forged in ("", "x", "00000000-0000-4000-8000-000000000000"):
            answer = await site.call("cancel", answer={"id": forged, "approved": True}, number=7)
            assert "result" not in answer
        late = await site.asked()
        await ClientQuestion.objects.aupdate(expires_at="2020-01-01T00:00Z")
        assert await site.call("cancel", answer=late, number=7) == INVALID
        yes = await site.asked()
        for user in (other, site.project.client.user):
            site.browser = AsyncClient()
            await site.browser.aforce_login(user)
            assert await site.call("cancel", answer=yes, number=7) == INVALID
    assert site.shop.done == []


async def test_app_reaches_only_its_server_s_tools_that_are_for_apps(site: Site):
    async with site.open():
        for name in ("secrets", "nothing", "other_add", "add", "shop_refresh", "", "../other/add"):
            assert await site.call(name) == NO_TOOL, name
    assert site.shop.done == []
    assert not await AuditRecord.objects.aexists()


async def test_tool_whose_name_the_project_has_is_not_for_apps_and_auto_confirm_counts_for_them(site: Site):
    registry = ToolRegistry()
    registry.add(lambda: "", name="shop_refresh", description="Refresh.")
    async with site.open(AUTO_CONFIRM=["shop_cancel"]):
        site.project.script(registry=registry)
        assert await site.call("refresh") == NO_TOOL
        assert site.shop.done == []
        assert (await site.call("cancel", number=7))["result"]["content"][0]["text"] == "cancelled 7"


async def test_call_that_fails_or_is_none_fails_alone(site: Site):
    wrong = {"name": "cancel", "arguments": {"number": "x"}}
    async with site.open():
        for params in ({}, {"name": 1}, {"name": "refresh", "arguments": "x"}, {"name": None}):
            assert await site.ask("tools/call", params) == {"error": "This is no call of a tool."}
        assert site.shop.done == []
        answer = await site.call("broken")
        assert answer["result"]["content"] == [{"type": "text", "text": "no luck"}]
        assert answer["result"]["isError"] is True
        assert (await AuditRecord.objects.aget()).outcome == "failed"
        asked = await site.ask("tools/call", wrong)
        answer = await site.ask("tools/call", wrong, answer={"id": asked["question"]["id"], "approved": True})
        assert answer["result"]["isError"] is True
        assert (await site.call("refresh"))["result"]["isError"] is False


# --- What it reads


async def test_app_reads_what_its_server_offers_to_apps(site: Site, monkeypatch: Any):
    async with site.open():
        read = await site.ask("resources/read", {"uri": "ui://shop/data.json"})
        assert read["result"]["contents"][0]["text"] == '{"a": 1}'
        with monkeypatch.context() as smaller:
            smaller.setattr(app_gate, "MAX_APP_BYTES", 7)
            large = await site.ask("resources/read", {"uri": "ui://shop/data.json"})
            assert large == {"error": "What an app reads has at most 5000000 bytes."}
        for uri in ("file:///etc/shop.conf", "https://evil.example/", "UI://shop/data.json", None, 1, ["ui://x"]):
            refused = await site.ask("resources/read", {"uri": uri})
            assert refused == {"error": "An app reads what its server offers to apps, and nothing else."}, uri
        missing = await site.ask("resources/read", {"uri": "ui://shop/none"})
        assert "ui://shop/none" in missing["error"]
        for method in ("resources/list", "tools/list", "prompts/get", "sampling/createMessage", "__class__"):
            assert await site.ask(method, {}) == {"error": "Unknown method."}


# --- Who may ask


async def test_apps_are_for_people_who_are_signed_in_here(site: Site):
    body = {"server": "shop", "method": "tools/call", "params": {"name": "refresh"}}
    strict = AsyncClient(enforce_csrf_checks=True)
    await strict.aforce_login(site.project.client.user)
    async with site.open():
        assert (await AsyncClient().get(APPS, {"server": "shop", "uri": URI})).status_code == 401
        assert (await site.project.client.http.post(APPS, body, content_type="application/json")).status_code == 403
        assert (await strict.post(APPS, body, content_type="application/json")).status_code == 403
        assert (await site.browser.post(APPS, json.dumps(body), content_type="text/plain")).status_code == 415
        for wrong in ([], {}, {"server": 1, "method": "x"}, {**body, "more": 1}, {**body, "answer": {"id": "x"}}):
            assert (await site.browser.post(APPS, wrong, content_type="application/json")).status_code == 400, wrong
        assert (await site.browser.delete(APPS)).status_code == 405
    assert site.shop.done == []
