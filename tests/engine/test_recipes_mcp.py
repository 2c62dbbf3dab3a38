"""docs/recipes/, the part about MCP: what each page claims."""

import json
import re

import pytest

pytest.importorskip("fastmcp")

from pydantic_ai.mcp import MCPToolset

from agui.contrib.mcp import connections
from agui.models import AuditRecord
from agui.testing import Chat, call, say
from engine import mcp_server
from engine.recipes import read_page
from engine.serving import serving
from engine.test_mcp_endpoint import mcp_client, site, text_of
from engine.test_mcp_servers import Traffic, set_mcp


async def test_mcp_servers(paste, user, settings, tmp_path, monkeypatch):
    settings.BASE_DIR = tmp_path
    traffic = Traffic()
    async with (
        mcp_server.http_application(mcp_server.build_server(), traffic) as application,
        serving(application) as url,
    ):
        monkeypatch.setenv("LIBRARY_URL", f"{url}/mcp")
        [written] = re.findall(r"```json\n(.*?)```", read_page("mcp-servers"), re.DOTALL)
        (tmp_path / "mcp.json").write_text(written)
        paste("mcp-servers")
        set_mcp(settings, TIMEOUT_SECONDS=60.0)
        chat = Chat(user, call("library_add", a=1, b=2), call("library_erase", what="all"), say("Done."))
        answer = await chat.send("Add")
        await connections.close_all()
    assert answer.results == ["3"]
    assert len(answer.interrupts) == 1
    assert {headers["x-on-behalf-of"] for headers in traffic.headers} == {"ada"}


async def test_mcp_oauth(paste, user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    traffic = Traffic()
    async with (
        mcp_server.http_application(mcp_server.build_server(), traffic) as application,
        serving(application) as url,
    ):
        monkeypatch.setenv("LIBRARY_URL", f"{url}/mcp")
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"other": {"url": f"{url}/mcp"}}}))
        paste("mcp-oauth")
        calls = [call("library_add", a=1, b=2), call("other_add", a=3, b=4), call("library_erase", what="all")]
        chat = Chat(user, *calls, say("Done."))
        answer = await chat.send("Add")
        listed = {tool["name"]: tool["summary"] for tool in (await chat.http.get("/agent/tools/")).json()}
    assert [str(result) for result in answer.results] == ["3", "7"]
    assert [one["metadata"]["x-summary"] for one in answer.interrupts] == ["Library erase"]
    assert listed["library_add"] == "Library add"
    assert {headers.get("authorization") for headers in traffic.headers} == {"Bearer token-of-ada", None}


def test_oauth_in_a_browser_can_be_asked_for():
    with pytest.warns(UserWarning, match="in-memory token storage"):
        assert MCPToolset("http://127.0.0.1:9/mcp", auth="oauth").client is not None


async def test_mcp_endpoint(paste, user):
    paste("mcp-endpoint")
    async with site() as url, mcp_client(user, url) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["count_words"]
        assert text_of(await client.call_tool("count_words", {"text": "one two"})) == "2"
    assert (await AuditRecord.objects.aget()).user_id == user.pk
