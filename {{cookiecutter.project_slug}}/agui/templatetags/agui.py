"""Template tags for pages with the chat."""

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui import parts

register = template.Library()


@register.simple_tag
def agui_attributes_of_parts() -> SafeString:
    """Write the attributes that the parts of the project add to `<agui-chat>`."""
    attributes: dict[str, str] = {}
    for part in parts.installed():
        for name, value in part.page_attributes().items():
            attributes[name] = "" if value is None else str(value)
    return format_html_join(" ", '{}="{}"', attributes.items())
