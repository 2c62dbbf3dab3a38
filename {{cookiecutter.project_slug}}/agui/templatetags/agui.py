"""What templates read of the engine."""

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui import parts

register = template.Library()


@register.simple_tag
def agui_attributes_of_parts() -> SafeString:
    """The attributes that the parts of the project add to `<agui-chat>`."""
    named = {
        name: value for part in parts.installed() for name, value in part.page_attributes().items()
    }
    return format_html_join(
        " ",
        '{}="{}"',
        ((name, "" if value is None else str(value)) for name, value in named.items()),
    )
