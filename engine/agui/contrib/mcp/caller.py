"""The client of one request: whom it acts for, and whether it can ask its user."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from django.conf import settings
from django.http import HttpRequest
from mcp import types

from agui.actor import Actor
from agui.tools.registry import ToolBinding

MAX_NAME_CHARS = 100
TASKS = "io.modelcontextprotocol/tasks"
"""The extension of MCP for long calls. It needs a client of 2026."""


class Stream(Protocol):
    """The stream of a response, on which requests of ours can go to the client."""

    is_closed: bool

    async def send(self, message: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Connection:
    """An app that a user has connected: the part `oauth` finds it by its token."""

    client_id: str
    name: str
    scopes: frozenset[str]
    needed_for: Callable[[ToolBinding], Iterable[str]] = field(repr=False)
    """The scopes that a function needs."""

    @classmethod
    def of(cls, request: HttpRequest) -> "Connection | None":
        """Return the connection of a request; None if its user has signed in some other way."""
        return getattr(request, "mcp_connection", None)


@dataclass(frozen=True)
class Caller:
    """A client that acts as a user, for one request."""

    actor: Actor
    request: HttpRequest = field(repr=False)
    client: str = ""
    """The client's own name for itself: for people to read, and never for a decision."""
    fills_forms: bool = False
    """Whether the client has declared that it shows forms to its user."""
    takes_tasks: bool = False
    """Whether the client has declared that it takes a handle for a result (tasks.py)."""
    is_page: bool = False
    """Whether it is our own page that asks the user: what it says, the user has said."""
    stream: Stream | None = field(default=None, repr=False)
    """The stream for requests of ours. Only clients of 2025 take them there."""

    @property
    def via(self) -> str:
        """Where calls come from, for the audit trail.

        The name under which an app was connected counts more than what a client says.
        """
        connection = Connection.of(self.request)
        name = connection.name[:MAX_NAME_CHARS] if connection else self.client
        return f"mcp: {name}" if name else "mcp"

    @property
    def key(self) -> str:
        """A digest of the user and of the client: another client of the user has another.

        A connected app is known by its id, because its tokens change. Any other client is known by
        its credential.
        """
        connection = Connection.of(self.request)
        if connection:
            return key_of_app(self.actor.scope, connection.client_id)
        credential = self.request.headers.get("Authorization", "")
        if not credential:
            credential = self.request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        return _key(self.actor.scope, credential)

    def may_use(self, binding: ToolBinding) -> bool:
        """Whether the scopes of the client's connection allow a function, if it has one."""
        connection = Connection.of(self.request)
        return connection is None or connection.scopes.issuperset(connection.needed_for(binding))

    def declaring(self, session: Any) -> "Caller":
        """Return the caller with what this request of 2026 declares about its client."""
        capabilities = session.client_capabilities
        if capabilities is None:
            return self
        params = session.client_params
        name = params.client_info.name if params else ""
        return replace(
            self,
            client=name[:MAX_NAME_CHARS],
            fills_forms=fills_forms(capabilities),
            takes_tasks=TASKS in (capabilities.extensions or {}),
        )


def key_of_app(scope: str, client_id: str) -> str:
    """Return the key of a connected app, as a caller in a user's scope has it."""
    return _key(scope, f"app {client_id}")


def _key(scope: str, credential: str) -> str:
    return hashlib.sha256(f"{scope}\n{credential}".encode(errors="replace")).hexdigest()


def fills_forms(capabilities: types.ClientCapabilities) -> bool:
    """Whether a client shows forms: an empty `elicitation` means that, too."""
    elicitation = capabilities.elicitation
    if elicitation is None:
        return False
    return elicitation.form is not None or elicitation.url is None
