"""A project that is connected with MCP servers of others: what its settings and its file say, and a scripted agent."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from mcp.server.mcpserver import MCPServer

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.contrib.mcp import connections
from agui.testing import ScriptedModel, call, say
from tests import urls
from tests.conftest import Client, results_of
from tests.mcp_server import build_server, http_application
from tests.mounting import serve_urls
from tests.serving import serving

__all__ = ["Project", "connections", "http_server"]


class Project:
    """A project whose agent, at /agent/, has the tools of the servers that it is configured with."""

    def __init__(self, client: Client, settings: Any, file: Path) -> None:
        self.client = client
        self.file = file
        self.settings = settings
        # A process that starts on a busy machine takes its time.
        self.set(TIMEOUT_SECONDS=60.0, CONFIG=file)

    def set(self, **values: Any) -> None:
        """Change the part's section of the settings."""
        agui = self.settings.AGUI
        self.settings.AGUI = {**agui, "MCP": {**agui.get("MCP", {}), **values}}

    def configure(self, **servers: Any) -> None:
        self.file.write_text(json.dumps({"mcpServers": servers}))

    def script(self, *answers: Any, registry: ToolRegistry | None = None) -> ScriptedModel:
        """Let these answers stand for those of a model."""
        llm = ScriptedModel(answers)
        view = DjangoAGUIView(registry or ToolRegistry(), AgentConfig(model=llm))
        # The other routes are those of an agent without these tools.
        serve_urls(self.settings, [*get_urls(view), *urls.urlpatterns])
        return llm

    async def call(self, name: str, **arguments: Any) -> Any:
        """What the model is told of a call that it makes in a thread of its own."""
        llm = self.script(call(name, _id="c1", **arguments), say("Done."))
        await self.client.run("Go", thread=str(uuid4()))
        return results_of(llm.requests[1])["c1"]


@asynccontextmanager
async def http_server(around: Any = None, server: MCPServer | None = None) -> AsyncIterator[str]:
    """A server on a port of its own; `around` wraps its application."""
    async with (
        http_application(server or build_server(), around) as application,
        serving(application) as url,
    ):
        yield f"{url}/mcp"
