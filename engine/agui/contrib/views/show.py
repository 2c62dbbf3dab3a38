"""Cards that the page draws from a template of the project, in one line.

A tool of orders:

    await show_view(ctx, "shop/order_card.html", {"order": order}, title=f"Order {order.number}")
"""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import RunContext

from agui.blocking.executor import in_database
from agui.contrib.views.rendering import render
from agui.deps import AgentDeps
from agui.events.activities import show_titled

ACTIVITY = "view"
MAX_TITLE_CHARS = 200
MAX_HTML_CHARS = 50_000
"""Hosts of MCP take 150,000 characters for a whole result."""


async def show_view(
    ctx: RunContext[AgentDeps],
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    title: str = "",
) -> None:
    """Show a Django template as a card; the same title again in a tool call replaces it.

    The template is always escaped, and has no request. Raises ValueError for what a card can't
    have, such as a script, and for more than 50,000 characters of HTML.
    """
    if len(title) > MAX_TITLE_CHARS:
        raise ValueError(f"The title {title[:40]!r} has more than {MAX_TITLE_CHARS} characters.")
    card = await in_database(render, template, dict(context or {}), pool="tools")
    if len(card["html"]) > MAX_HTML_CHARS:
        raise ValueError(
            f"The card {template!r} has {len(card['html'])} characters: {MAX_HTML_CHARS} can be "
            "shown. Show less in it."
        )
    await show_titled(ctx, ACTIVITY, {"title": title, **card})
