from typing import TYPE_CHECKING, Any

from django.urls import get_script_prefix, resolve, reverse

from agui.later import Later
from agui.parts import Part

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from agui.contrib.mentions import references
else:
    # This module loads pydantic-ai, which start-up doesn't need.
    references = Later("agui.contrib.mentions.references")


class MentionsConfig(Part):
    name = "agui.contrib.mentions"
    label = "agui_mentions"
    verbose_name = "Agent: mentions"

    def routes(self) -> dict[str, tuple[str, str]]:
        return {"mentions": ("mentions/", "agui.contrib.mentions.views.MentionsView")}

    def page_attributes(self, agent: str) -> dict[str, Any]:
        url = reverse(f"{agent}:mentions")
        # `resolve` wants the path without FORCE_SCRIPT_NAME.
        view: Any = resolve("/" + url.removeprefix(get_script_prefix())).func
        return {"data-mentions-url": url} if view.mentions else {}

    def show(self, messages: "list[ModelMessage]") -> "list[ModelMessage]":
        return references.with_mentions(messages)
