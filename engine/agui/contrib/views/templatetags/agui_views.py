"""`{% call_tool %}`, for the buttons of cards that `show_view` shows."""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from agui.contrib.views.rendering import call_attributes

register = template.Library()


@register.simple_tag
def call_tool(tool: str, /, **arguments: Any) -> SafeString:
    """Make a button call a tool: `<button {% call_tool "cancel_order" number=order.number %}>`."""
    return call_attributes(tool, arguments)
