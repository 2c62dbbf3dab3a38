"""agui/manual/recipes/, the recipe about MCP: what it claims."""

import json

import pytest

pytest.importorskip("fastmcp")

from pydantic_ai.mcp import MCPToolset

from agui.testing import Chat, call, say
from tests import mcp_server
from tests.serving import serving
from tests.test_mcp_servers import Traffic


async def test_call_an_mcp_server_with_oauth(paste, user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    traffic = Traffic()
    async with (
        mcp_server.http_application(mcp_server.build_server(), traffic) as application,
        serving(application) as url,
    ):
        monkeypatch.setenv("LIBRARY_URL", f"{url}/mcp")
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"other": {"url": f"{url}/mcp"}}}))
        paste("use-other-services#call-an-mcp-server-with-oauth")
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
