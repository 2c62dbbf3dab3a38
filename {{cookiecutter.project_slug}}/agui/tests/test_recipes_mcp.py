"""docs/recipes/, the part about MCP: what each page claims."""

import re

import pytest

pytest.importorskip("fastmcp")

from agui.mcp import sessions
from agui.models import AuditRecord
from agui.testing import Chat, call, say
from agui.tests import mcp_server
from agui.tests.recipes import read_page
from agui.tests.serving import serving
from agui.tests.test_mcp_endpoint import mcp_client, site, text_of
from agui.tests.test_mcp_servers import Traffic


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
        settings.AGUI = {**settings.AGUI, "MCP_TIMEOUT_SECONDS": 60.0}
        chat = Chat(user, call("library_add", a=1, b=2), call("library_erase", what="all"), say("Done."))
        answer = await chat.send("Add")
        await sessions.close_all()
    assert answer.results == ["3"]
    assert len(answer.interrupts) == 1
    assert {headers["x-on-behalf-of"] for headers in traffic.headers} == {"ada"}


async def test_mcp_endpoint(paste, user):
    paste("mcp-endpoint")
    async with site() as url, mcp_client(user, url) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["count_words"]
        assert text_of(await client.call_tool("count_words", {"text": "one two"})) == "2"
    assert (await AuditRecord.objects.aget()).user_id == user.pk
