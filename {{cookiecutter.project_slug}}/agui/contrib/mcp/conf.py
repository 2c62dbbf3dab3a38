from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported


class McpSettings(Section):
    """MCP: tools of other servers for the agent, and the project's tools for other clients."""

    environment = {"config": "MCP_CONFIG", "endpoint": "MCP_ENDPOINT"}

    config: str | Path | None = Field(
        None,
        description="Path of an mcp.json, relative to BASE_DIR, that lists servers whose tools "
        "the agent may call after approval.",
    )
    headers: str | None = Field(
        None,
        description="Dotted path of a function of a user and a server's name that returns headers "
        "for that user.",
    )
    timeout_seconds: float = Field(
        5.0,
        gt=0,
        description="How long a run waits for a server's list of tools before it goes on without "
        "them.",
    )
    call_seconds: float = Field(120.0, gt=0, description="Longest call of a server's tool.")
    endpoint: bool = Field(
        False, description="Serves the project's own tools to MCP clients, at mcp/."
    )
    destructive_by_form: bool = Field(
        False,
        description="Lets a form in an MCP client approve destructive tools, too. A form proves "
        "only that the client says yes; otherwise the user decides on the project's page.",
    )

    @field_validator("config", "endpoint")
    @classmethod
    def _has_mcp(cls, value: Any) -> Any:
        if value and find_spec("fastmcp") is None:
            raise ValueError("it needs the library: `make setup EXTRAS=mcp`")
        return value

    @field_validator("headers")
    @classmethod
    @by_import
    def _importable(cls, path: str | None) -> str | None:
        return None if path is None else imported(path)
