from collections.abc import Mapping
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
        return {"data-mentions-url": url} if _has_records(url) else {}

    def modules_of_page(self, agent: str) -> Mapping[str, str]:
        return self.page_modules if _has_records(reverse(f"{agent}:mentions")) else {}


def _has_records(url: str) -> bool:
    """Tell whether an agent has something to mention."""
    # `resolve` wants the path without FORCE_SCRIPT_NAME.
    view: Any = resolve("/" + url.removeprefix(get_script_prefix())).func
    return bool(view.mentions)
