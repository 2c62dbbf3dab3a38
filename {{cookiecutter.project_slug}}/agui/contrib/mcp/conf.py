from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported


class McpSettings(Section):
    """Whose tools the agent may call, and who may call the project's."""

    environment = {"config": "MCP_CONFIG", "endpoint": "MCP_ENDPOINT"}

    config: str | Path | None = Field(
        None,
        description="Path of an mcp.json, from BASE_DIR: servers elsewhere "
        "whose tools the agent may call, after approval.",
    )
    headers: str | None = Field(
        None,
        description="Dotted path of a function of a user and a server's name: "
        "the headers that are the user's.",
    )
    timeout_seconds: float = Field(
        5.0,
        gt=0,
        description="Longest wait for a server to say what it offers; then runs go on without it.",
    )
    call_seconds: float = Field(120.0, gt=0, description="Longest call of a tool of a server.")
    endpoint: bool = Field(
        False, description="Serve the project's own tools to MCP clients, at mcp/."
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
