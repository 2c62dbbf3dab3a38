from typing import Any

from django.urls import reverse

from agui.parts import Part


class ViewsConfig(Part):
    name = "agui.contrib.views"
    label = "agui_views"
    verbose_name = "Agent: views"
    page_modules = {
        "activity:view": "agui_views/view.js",
        # The apps of the MCP servers that a project connects, if the part `mcp` is there.
        "activity:mcp-apps": "agui_views/server-app.js",
    }

    def routes(self) -> dict[str, tuple[str, str]]:
        return {"view-frame": ("views/frame/", "agui.contrib.views.page.FrameView")}

    def page_attributes(self, agent: str) -> dict[str, Any]:
        return {"data-view-frame-url": reverse(f"{agent}:view-frame")}
