"""What a scope of a connection allows. The user's permissions count as well, at each call."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.contrib.mcp.resources import resources_of
from agui.contrib.oauth.conf import OauthSettings
from agui.tools.registry import ToolBinding, ToolRegistry

READ, WRITE, GROUP = "tools:read", "tools:write", "tools:"

WORDS = {
    READ: _("Read what you may see: use tools that change nothing, resources and prompts"),
    WRITE: _("Act for you: use tools that create, change or delete something"),
}

# What a client says to begin, and what needs no answer.
OPEN_METHODS = ("initialize", "ping", "server/discover")


def scopes() -> Mapping[str, Any]:
    """Map each scope to what a user reads about it: to read, to write, and the project's groups."""
    groups = conf.part(OauthSettings).groups
    return WORDS | {GROUP + name: group.words for name, group in groups.items()}


def needed_scopes(message: Any, registry: ToolRegistry) -> list[str]:
    """Return all scopes that a client's message needs."""
    messages = message if isinstance(message, list) else [message]
    needed = {scope for each in messages for scope in _needed_by(each, registry)}
    return [scope for scope in scopes() if scope in needed]


def _needed_by(message: Any, registry: ToolRegistry) -> Iterable[str]:
    method = message.get("method") if isinstance(message, dict) else None
    if not isinstance(method, str) or method in OPEN_METHODS:
        return
    if method.startswith("notifications/"):
        return
    yield READ
    if method == "tasks/update":  # An answer lets the tool act.
        yield WRITE
    params = message.get("params")
    touched = _touched(method, params, registry) if isinstance(params, dict) else None
    if touched is not None:
        yield from scopes_of(touched)


def scopes_of(binding: ToolBinding) -> Iterable[str]:
    """Return the scopes that a call of a function needs, beside the one to read."""
    if not binding.spec.read_only:
        yield WRITE
    for name, group in conf.part(OauthSettings).groups.items():
        if binding.spec.permission in group.permissions:
            yield GROUP + name


def _touched(method: str, params: dict[str, Any], registry: ToolRegistry) -> ToolBinding | None:
    """Return the tool that a client calls, or the function of the resource that it reads."""
    if method == "tools/call":
        name = params.get("name")
        return registry.get(name) if isinstance(name, str) and name in registry else None
    about = params.get("ref") if method == "completion/complete" else params
    uri = about.get("uri") if isinstance(about, dict) else None
    if not isinstance(uri, str):
        return None
    resources = resources_of(registry)
    template = resources.get(uri)
    if template is not None:
        return template.binding
    found = resources.find(uri)
    return found[0].binding if found is not None else None
