"""What the app of another server may do: what its server declares, and what the project allows.

The policy is a header of the frame around the app, which a document inside can only narrow. Without
a word from both sides an app can request nothing. No directive holds back WebRTC and connections
that a browser opens in advance: mcp-apps.md says what that means.
"""

import re
from collections.abc import Iterable
from typing import Any

from mcp.types import Tool

from agui.contrib.mcp.servers import AppDomains

SCHEME = "ui://"
MIME_TYPE = "text/html;profile=mcp-app"
ORIGIN = re.compile(AppDomains.ORIGIN)


def app_uri(tool: Tool) -> str | None:
    """Return the address of the app that shows a tool's results, if it has one."""
    match tool.meta:
        case {"ui": {"resourceUri": str(uri)}} | {"ui/resourceUri": str(uri)}:
            return uri if uri.startswith(SCHEME) else None
    return None


def is_for(tool: Tool, audience: str) -> bool:
    """Whether a tool is for the "model" or for an "app". A server says so, or it is for both."""
    match tool.meta:
        case {"ui": {"visibility": list(audiences)}}:
            return audience in audiences
    return True


def policy(declared: Any, allowed: AppDomains) -> str:
    """Write the Content-Security-Policy of a frame. `declared` is the `csp` of its resource."""
    csp = declared if isinstance(declared, dict) else {}
    resources = _both(csp.get("resourceDomains"), allowed.resource_domains)
    connect = _both(csp.get("connectDomains"), allowed.connect_domains)
    directives = {
        "default-src": ["'none'"],
        "script-src": ["'unsafe-inline'", *resources],
        "style-src": ["'unsafe-inline'", *resources],
        "img-src": ["data:", "blob:", *resources],
        "font-src": ["data:", *resources],
        "media-src": ["data:", "blob:", *resources],
        "worker-src": ["blob:"],
        "connect-src": connect or ["'none'"],
        # This also keeps the app from taking its frame, with data in the address, elsewhere.
        "frame-src": ["'none'"],
        "form-action": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'self'"],
        # It holds where somebody opens the address itself, without the frame of the chat.
        "sandbox": ["allow-scripts"],
    }
    return "; ".join(f"{name} {' '.join(values)}" for name, values in directives.items())


def _both(declared: Any, allowed: Iterable[str]) -> list[str]:
    """Return the origins that the server declares and the project allows."""
    if not isinstance(declared, list):
        return []
    allowed = tuple(allowed)
    # What is no origin could be a directive of its own.
    origins = [each for each in declared if isinstance(each, str) and ORIGIN.fullmatch(each)]
    return sorted({each for each in origins if any(_covers(own, each) for own in allowed)})


def _covers(own: str, origin: str) -> bool:
    """Whether an allowed origin is this one; one of `https://*.` has all hosts below it."""
    scheme, _, host = own.partition("://*.")
    if host and origin.startswith(f"{scheme}://"):
        return origin.endswith(f".{host}")
    return own == origin
