"""Template tags for pages with the chat."""

import json
from typing import Any

from django import template
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.shortcuts import resolve_url
from django.templatetags.static import static
from django.urls import NoReverseMatch, resolve, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui import parts
from agui.namespaces import FIRST_AGENT, mounted_agents

register = template.Library()


@register.simple_tag
def agui_agent_attributes(agent: str = "") -> SafeString:
    """Write the attributes of `<agui-chat>` for an agent: its addresses, and what parts add.

    Without a name this is the only agent of the project. If there are several, one must be named:
    otherwise a page could show another agent than its author meant.
    """
    agent = agent or _only_agent()
    attributes: dict[str, Any] = {
        "endpoint": reverse(f"{agent}:run"),
        "data-tools-url": reverse(f"{agent}:tools"),
        "data-skills-url": reverse(f"{agent}:skills"),
        "data-threads-url": reverse(f"{agent}:threads"),
    }
    header = settings.CSRF_HEADER_NAME.removeprefix("HTTP_").replace("_", "-")
    own_names = {"data-csrf-header": header, "data-csrf-cookie": settings.CSRF_COOKIE_NAME}
    for name, value in own_names.items():
        if value not in ("X-CSRFTOKEN", "csrftoken"):
            attributes[name] = value
    modules: dict[str, str] = {}
    for part in parts.installed():
        for name, path in part.modules_of_page(agent).items():
            modules[name] = static(path)
        for name, value in part.page_attributes(agent).items():
            attributes[name] = "" if value is None else value
    if modules:
        attributes |= {"data-modules": json.dumps(modules)}
    return format_html_join(" ", '{}="{}"', attributes.items())


@register.simple_tag
def agui_pages(agent: str = "") -> list[tuple[str, Any]]:
    """List the pages of parts for a person who is signed in: their addresses and names."""
    agent = agent or _only_agent()
    return [page for part in parts.installed() for page in part.personal_pages(agent).items()]


@register.simple_tag
def agui_models(agent: str = "") -> str:
    """Write the names of the models that an agent offers, as JSON. This imports the agent."""
    view: Any = resolve(reverse(f"{agent or _only_agent()}:run")).func
    return json.dumps(list(view.endpoint.config.models), ensure_ascii=False)


def _only_agent() -> str:
    agents = list(mounted_agents())
    if len(agents) > 1:
        raise ImproperlyConfigured(
            f"This project has several agents ({', '.join(agents)}), and a page "
            f'names none: {{% include "agui/attributes.html" with agent="{agents[-1]}" %}}.'
        )
    return agents[0] if agents else FIRST_AGENT


@register.simple_tag
def agui_login_url() -> str:
    """Return the address of the project's sign-in page; "" if LOGIN_URL names no route."""
    try:
        return resolve_url(settings.LOGIN_URL)
    except NoReverseMatch:
        return ""


@register.simple_tag
def agui_languages() -> list[tuple[str, str]]:
    """List the site's languages with the names that LANGUAGES gives them, in no other language."""
    return list(settings.LANGUAGES)
