"""What a scope of a connection allows. The user's permissions count as well, at each call."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from agui.tools.registry import ToolRegistry

READ, WRITE = "tools:read", "tools:write"
SCOPES = (READ, WRITE)

WORDS = {
    READ: _("Read what you may see: use tools that change nothing, resources and prompts"),
    WRITE: _("Act for you: use tools that create, change or delete something"),
}

# What a client says to begin, and what needs no answer.
OPEN_METHODS = ("initialize", "ping", "server/discover")


def needed_scopes(message: Any, registry: ToolRegistry) -> tuple[str, ...]:
    """Return all scopes that a client's message needs."""
    messages = message if isinstance(message, list) else [message]
    needed: tuple[str, ...] = ()
    for each in messages:
        method = each.get("method") if isinstance(each, dict) else None
        if not isinstance(method, str) or method in OPEN_METHODS:
            continue
        if method.startswith("notifications/"):
            continue
        if method == "tools/call" and _changes_something(each.get("params"), registry):
            return (READ, WRITE)
        if method == "tasks/update":
            # An answer lets the tool act.
            return (READ, WRITE)
        needed = (READ,)
    return needed


def _changes_something(params: Any, registry: ToolRegistry) -> bool:
    name = params.get("name") if isinstance(params, dict) else None
    if not isinstance(name, str) or name not in registry:
        return False
    return not registry.get(name).spec.read_only
