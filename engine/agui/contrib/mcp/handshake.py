"""Sessions of clients that begin with `initialize`, without anything kept on the server.

Such a client says only once what it can do. So its session id is what it has said, signed: each
process can read it, and it holds for the user who has begun the session.
"""

from dataclasses import dataclass
from typing import Any

from django.core import signing
from mcp import types
from pydantic import ValidationError

from agui.actor import Actor
from agui.contrib.mcp.caller import MAX_NAME_CHARS, fills_forms
from agui.errors import NotFound

SESSION_HEADER = "Mcp-Session-Id"
SALT = "agui.mcp.session"
MAX_AGE_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class Handshake:
    """What a client has told about itself."""

    client: str = ""
    fills_forms: bool = False
    opens_links: bool = False
    """Whether the client opens the address of a page for its user."""


def begin(actor: Actor, message: dict[str, Any]) -> str:
    """Return the session id for an `initialize`; '' if it is no valid one."""
    try:
        params = types.InitializeRequestParams.model_validate(message.get("params"), by_name=False)
    except ValidationError:
        return ""
    told = {
        "scope": actor.scope,
        "client": params.client_info.name[:MAX_NAME_CHARS],
        "forms": fills_forms(params.capabilities),
        "links": opens_links(params.capabilities),
    }
    return signing.dumps(told, salt=SALT, compress=True)


def read(session_id: str | None, actor: Actor) -> Handshake:
    """Read a session id. Raises NotFound for another's: its client begins anew."""
    if not session_id:
        return Handshake()
    try:
        told = signing.loads(session_id, salt=SALT, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature:
        told = {}
    if told.get("scope") != actor.scope:
        raise NotFound("This session has ended. Begin a new one.")
    return Handshake(told["client"], told["forms"], told.get("links", False))


def opens_links(capabilities: types.ClientCapabilities) -> bool:
    """Whether a client opens the address of a page: an empty `elicitation` means forms alone."""
    elicitation = capabilities.elicitation
    return elicitation is not None and elicitation.url is not None
