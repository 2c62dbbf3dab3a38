from typing import Any

from django.core import checks

from agui import conf
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.servers import oauth_servers


def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of what works on a developer's machine only."""
    site_url = conf.part(McpSettings).site_url or ""
    if site_url.startswith("https:") or not oauth_servers():
        return []
    warning = checks.Warning(
        "Users connect accounts at MCP servers, which send them back to a fixed address by https, "
        f"and SITE_URL is {site_url!r}.",
        hint="Set SITE_URL=https://... or AGUI['MCP']['SITE_URL'].",
        id="agui_mcp.W001",
    )
    return [warning]
