"""The document of an app: its HTML, as its server has sent it, in a frame of ours.

There are two frames. The outer one is this document, whose policy both inherit. The inner one has
the app, as a `srcdoc` with an opaque origin of its own. So the app can't go elsewhere, whatever
policy the page has, and a short script of ours passes its messages on.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from pydantic_ai.exceptions import ToolFailed

from agui import clock
from agui.contrib.mcp.app_policy import MIME_TYPE, policy
from agui.contrib.mcp.connections import Connection
from agui.contrib.mcp.servers import AppDomains

MAX_APP_BYTES = 5_000_000
MAX_KEPT = 8
"""The documents that are kept for one connection."""


@dataclass(frozen=True)
class Document:
    """What the frame of an app loads."""

    html: str
    policy: str
    digest: str


@dataclass(frozen=True)
class _Kept:
    document: Document
    read_at: float


async def document_of(connection: Connection, uri: str) -> Document:
    """Return the document of an app, as its server has it now. Raises ToolFailed."""
    kept: _Kept | None = connection.kept.get(uri)
    if kept and clock.monotonic() - kept.read_at <= connection.keep_seconds:
        return kept.document
    contents = await connection.read_for_app(uri)
    document = _document(uri, contents, connection.server.apps or AppDomains())
    connection.kept.pop(uri, None)
    while len(connection.kept) >= MAX_KEPT:
        del connection.kept[next(iter(connection.kept))]
    connection.kept[uri] = _Kept(document, clock.monotonic())
    return document


def _document(uri: str, contents: dict[str, Any], allowed: AppDomains) -> Document:
    for item in contents.get("contents", ()):
        if item.get("uri") == uri and item.get("mimeType", "").replace(" ", "") == MIME_TYPE:
            meta = (item.get("_meta") or {}).get("ui")
            declared = meta.get("csp") if isinstance(meta, dict) else None
            app = _text(item)
            if len(app.encode()) > MAX_APP_BYTES:
                raise ToolFailed(f"The app has more than {MAX_APP_BYTES} bytes.")
            return _framed(app, policy(declared, allowed))
    raise ToolFailed("The server has no such app.")


def _text(item: dict[str, Any]) -> str:
    if "text" in item:
        return str(item["text"])
    try:
        return base64.b64decode(item.get("blob", "")).decode()
    except ValueError:
        raise ToolFailed("The app can't be read.") from None


def _framed(app: str, csp: str) -> Document:
    # Only with this part do servers show apps.
    from agui.contrib.views.frame import RELAY

    html = f"""<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>App</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0; }}
iframe {{ border: 0; display: block; height: 100vh; width: 100%; }}
</style>
<script>{RELAY}</script>
</head>
<body><iframe title="App" sandbox="allow-scripts" srcdoc="{escape(app)}"></iframe></body>
</html>
"""
    return Document(html, csp, hashlib.sha256(f"{csp}\n{html}".encode()).hexdigest())
