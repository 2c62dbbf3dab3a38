"""Cards of tools as apps of hosts (MCP Apps, 2026-01-26), if the part `views` is there.

A tool says in its metadata that it shows one: `metadata={"shows_view": True}`. Its app is the same
document for all tools. The card is in the `_meta` of a result, which hosts give to the app alone.
"""

import logging
from typing import Any

from django.apps import apps
from mcp import types

from agui.contrib.mcp.caller import Caller
from agui.protocol.types import EventType
from agui.tools.registry import ToolBinding

logger = logging.getLogger("agui.mcp")

URI = "ui://agui/view.html"
MIME_TYPE = "text/html;profile=mcp-app"
ACTIVITY = "view"
# The app loads nothing, so its host need allow nothing.
META = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}


def shows_card(binding: ToolBinding) -> bool:
    """Whether a tool has said that it shows a card."""
    metadata = binding.spec.metadata or {}
    return metadata.get("shows_view") is True and apps.is_installed("agui.contrib.views")


def meta_of_tool(binding: ToolBinding) -> dict[str, Any] | None:
    if not shows_card(binding):
        return None
    # Older hosts read the flat name.
    return {"ui": {"resourceUri": URI}, "ui/resourceUri": URI}


def resource() -> types.Resource:
    return types.Resource(
        uri=URI, name="view", title="Card", description="Draws the cards of tools.",
        mime_type=MIME_TYPE, meta=META,
    )  # fmt: skip


def contents() -> types.TextResourceContents:
    from agui.contrib.views.frame import DOCUMENT

    return types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=DOCUMENT, meta=META)


def card_in(event: Any) -> dict[str, Any] | None:
    """Return the card in an event that a tool has emitted, if it is one."""
    payload: Any = event.to_payload() if hasattr(event, "to_payload") else None
    if getattr(payload, "type", None) is not EventType.ACTIVITY_SNAPSHOT:
        return None
    content = payload.content if payload.activity_type == ACTIVITY else None
    return content if isinstance(content, dict) and "html" in content else None


def meta_of_result(
    binding: ToolBinding, card: dict[str, Any] | None, caller: Caller
) -> dict[str, Any] | None:
    """Return the `_meta` with which the app gets its card."""
    if card is None or not apps.is_installed("agui.contrib.views"):
        return None
    if not shows_card(binding):
        logger.warning(
            "Tool %r has shown a view, which hosts of MCP can't draw: register the tool with "
            'metadata={"shows_view": True}.',
            binding.spec.name,
        )
        return None
    from agui.contrib.views.frame import KEY

    base = caller.request.build_absolute_uri("/")
    return {KEY: {key: card[key] for key in ("html", "lang", "dir")} | {"base": base}}
