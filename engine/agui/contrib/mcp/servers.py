"""The file of MCP servers, in the format that other MCP clients read, too.

    {"mcpServers": {
        "files": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/files"]
        },
        "search": {
            "url": "https://search.example.com/mcp",
            "headers": {"Authorization": "Bearer ${SEARCH_TOKEN}"}
        }
    }}

`"apps": true` lets a server show its apps. A server with `"auth": "oauth"` wants to know each user
(accounts/). `"oauth"` has this project's client there, if it was registered by hand: `clientId`,
`clientSecret` and `scopes`.

`${NAME}` and `${NAME:-default}` are environment variables. This module imports no library of MCP.
"""

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from agui import conf
from agui.contrib.mcp.conf import McpSettings

# The names of tools begin with that of their server, and have at most 64 characters.
SERVER_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,31}"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return value or ()


def _strings(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return value or ()


Pairs = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_pairs)]


def _sendable(headers: Pairs) -> Pairs:
    check_headers(dict(headers))
    return headers


def _origins(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not re.fullmatch(AppDomains.ORIGIN, value):
            raise ValueError(f"{value!r} is no origin such as https://tiles.example.com")
    return values


class AppDomains(BaseModel):
    """The origins that the apps of a server may use, if the server declares them, too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ORIGIN: ClassVar[str] = (
        r"(?:https|wss)://(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?"
        r"|(?:http|ws)://(?:localhost|127\.0\.0\.1)(?::\d{1,5})?"
    )

    connect_domains: Annotated[tuple[str, ...], AfterValidator(_origins)] = Field(
        (), alias="connectDomains"
    )
    resource_domains: Annotated[tuple[str, ...], AfterValidator(_origins)] = Field(
        (), alias="resourceDomains"
    )


def _allowed_apps(value: Any) -> Any:
    if value is True:
        return AppDomains()
    return value or None


class OauthClient(BaseModel):
    """This project at a server's sign-in, where somebody has registered it by hand."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)

    client_id: str = Field(min_length=1)
    client_secret: str | None = Field(None, min_length=1, repr=False)
    auth_method: Literal["client_secret_basic", "client_secret_post"] | None = Field(
        None, alias="tokenEndpointAuthMethod"
    )
    scopes: Annotated[tuple[str, ...], BeforeValidator(_strings)] = ()


class Server(BaseModel):
    """One entry of the file. Equal entries share a connection."""

    # Other clients keep more in the file.
    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "sse"] | None = None
    command: str | None = Field(None, min_length=1)
    args: Annotated[tuple[str, ...], BeforeValidator(_strings)] = ()
    env: Pairs = ()
    cwd: str | None = None
    url: str | None = Field(None, pattern=r"^https?://[^/]")
    headers: Annotated[Pairs, AfterValidator(_sendable)] = ()
    auth: Literal["oauth"] | None = None
    oauth: OauthClient | None = None
    disabled: bool = False
    apps: Annotated[AppDomains | None, BeforeValidator(_allowed_apps)] = None
    """What the apps of this server may use; None if it may show none."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> "Server":
        if (self.command is None) == (self.url is None):
            raise ValueError('it needs either a "command" to start, or a "url"')
        if self.auth is not None and not self._takes_tokens:
            raise ValueError(
                '"auth" is for a "url" that begins with https, or leads to this machine, and that '
                "is no older server (sse)"
            )
        return self

    @property
    def _takes_tokens(self) -> bool:
        url = urlsplit(self.url or "")
        is_safe = url.scheme == "https" or url.hostname in LOOPBACK
        return is_safe and self.type != "sse" and "@" not in url.netloc


def check_headers(headers: Any) -> dict[str, str]:
    """Raise ValueError for headers that can't be sent. It repeats no value: they are secrets."""
    if not isinstance(headers, dict):
        raise ValueError(f"headers are a dictionary, not a {type(headers).__name__}")
    for name, value in headers.items():
        if not isinstance(name, str) or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError(f"the header {name!r} has no name that HTTP knows")
        if not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e]*", value):
            raise ValueError(
                f"the value of the header {name!r} is no text of ASCII characters in one line"
            )
    return headers


def read_servers(path: str | Path) -> tuple[Server, ...]:
    """Read the file. Raises ValueError with the problem and its cure; it repeats no value."""
    try:
        payload = json.loads(Path(path).read_text())
    except OSError as error:
        raise ValueError(
            f"it can't be read ({error.strerror}): name the file with the servers"
        ) from None
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"it is not valid JSON{where}") from None
    entries = payload.get("mcpServers") if isinstance(payload, dict) else None
    if not isinstance(entries, dict):
        raise ValueError('it has no servers: write {"mcpServers": {"name": {...}}}')
    servers = []
    for name, entry in entries.items():
        server = _read_server(name, entry, Path(path).parent)
        if not server.disabled:
            servers.append(server)
    return tuple(servers)


def configured_servers() -> tuple[Server, ...]:
    """Read the file that the settings name. Raises ImproperlyConfigured."""
    path = conf.part(McpSettings).config or ""
    try:
        return read_servers(Path(getattr(settings, "BASE_DIR", "")) / path)
    except ValueError as error:
        raise conf.mistake(error, "MCP", "CONFIG") from None


def shows_apps() -> bool:
    """Whether a server of the project may show apps. Raises ImproperlyConfigured."""
    if not conf.part(McpSettings).config or not apps.is_installed("agui.contrib.views"):
        return False
    return any(server.apps for server in configured_servers())


def oauth_servers() -> tuple[Server, ...]:
    """List the servers at which users have accounts of their own."""
    if not conf.part(McpSettings).config:
        return ()
    return tuple(server for server in configured_servers() if server.auth == "oauth")


def _read_server(name: str, entry: Any, directory: Path) -> Server:
    if not re.fullmatch(SERVER_NAME, name):
        raise ValueError(
            f"the server {name!r} needs another name: a letter, then at most 31 letters, digits, "
            "_ or -, as it becomes a part of the names of its tools"
        )
    if not isinstance(entry, dict):
        raise ValueError(f"the server {name!r} is no object")
    if entry.get("disabled") is True:
        return Server(name=name, command="-", disabled=True)
    try:
        server = Server.model_validate({**_expand(entry), "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        where = f" {first['loc'][0]!r}:" if first["loc"] else ""
        raise ValueError(
            f"the server {name!r}:{where} {first['msg'].removeprefix('Value error, ')}"
        ) from None
    except KeyError as error:
        raise ValueError(
            f"the server {name!r} needs the environment variable {error.args[0]}: set it"
        ) from None
    if server.cwd:
        return server.model_copy(update={"cwd": str(directory / server.cwd)})
    return server


def _expand(value: Any) -> Any:
    """Replace references to environment variables, at any depth. Raises KeyError."""
    if isinstance(value, str):
        return VARIABLE.sub(_variable, value)
    if isinstance(value, dict):
        return {key: _expand(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item) for item in value]
    return value


def _variable(match: re.Match[str]) -> str:
    name, default = match.groups()
    if default is None:
        return os.environ[name]
    return os.environ.get(name) or default
