"""Template tags for pages with the chat."""

from django import template
from django.conf import settings
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch
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


@register.simple_tag
def agui_login_url() -> str:
    """Return the address of the project's sign-in page; "" if LOGIN_URL names no route."""
    try:
        return resolve_url(settings.LOGIN_URL)
    except NoReverseMatch:
        return ""
