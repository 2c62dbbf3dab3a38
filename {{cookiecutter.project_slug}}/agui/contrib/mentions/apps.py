from typing import Any

from django.urls import get_script_prefix, resolve, reverse

from agui.parts import Part


class MentionsConfig(Part):
    name = "agui.contrib.mentions"
    label = "agui_mentions"
    verbose_name = "Agent: mentions"
    page_modules = {"list:@": "agui_mentions/mentions.js"}

    def routes(self) -> dict[str, tuple[str, str]]:
        return {"mentions": ("mentions/", "agui.contrib.mentions.views.MentionsView")}

    def page_attributes(self, agent: str) -> dict[str, Any]:
        url = reverse(f"{agent}:mentions")
        # `resolve` wants the path without FORCE_SCRIPT_NAME.
        view: Any = resolve("/" + url.removeprefix(get_script_prefix())).func
        return {"data-mentions-url": url} if view.mentions else {}
