from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported

SITE = r"^https?://[^/\s?#@]+$"


class McpSettings(Section):
    """MCP: tools of other servers for the agent, and the project's tools for other clients."""

    environment = {"config": "MCP_CONFIG", "endpoint": "MCP_ENDPOINT", "site_url": "SITE_URL"}

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
    pin: Literal["first_use", "operator", "off"] = Field(
        "first_use",
        description="Which definitions of remote tools the model may read: those of the first "
        "list that a server gives and those that an operator accepts, the latter only, or all.",
    )
    auth_hosts: list[str] = Field(
        [],
        description="Hosts with private addresses at which users may sign in to remote servers.",
    )
    site_url: str | None = Field(
        None,
        pattern=SITE,
        description="The address of the site, to which users come back from a remote server's "
        "sign-in. None takes it from each request, which is for a developer's machine.",
    )
    timeout_seconds: float = Field(
        5.0,
        gt=0,
        description="How long a run waits for a server's list of tools before it goes on without "
        "them. A server with a `command` has 30 s to start.",
    )
    call_seconds: float = Field(120.0, gt=0, description="Longest call of a server's tool.")
    endpoint: bool = Field(
        False, description="Serves the project's own tools to MCP clients, at mcp/."
    )
    task_after_seconds: float = Field(
        5.0,
        ge=0,
        description="How long a call may take before a client that supports tasks gets a handle "
        "for it. Other clients wait for the result.",
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
            raise ValueError("it needs packages: install agui-django[mcp]")
        return value

    @field_validator("headers")
    @classmethod
    @by_import
    def _importable(cls, path: str | None) -> str | None:
        return None if path is None else imported(path)
