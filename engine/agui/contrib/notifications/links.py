"""Links in messages, which are made outside of requests."""

from urllib.parse import quote

from django.urls import NoReverseMatch, reverse

from agui import conf
from agui.contrib.notifications.conf import NotificationsSettings
from agui.namespaces import mounted_agents, split_scope


def thread_url(scope: str, thread_id: str) -> str:
    """Link to a conversation; '' if the settings don't say where its page is."""
    settings = conf.part(NotificationsSettings)
    namespace, _ = split_scope(scope)
    page = settings.pages.get(namespace)
    if settings.site_url is None or page is None:
        return ""
    joint = "&" if "?" in page else "?"
    return f"{settings.site_url}{page}{joint}thread={quote(thread_id, safe='')}"


def choices_url(scope: str) -> str:
    """Link to the page on which a user chooses how to be told; '' if there is none."""
    site_url = conf.part(NotificationsSettings).site_url
    namespace, _ = split_scope(scope)
    for name, mounted in mounted_agents().items():
        if site_url is not None and mounted == namespace:
            try:
                return site_url + reverse(f"{name}:notifications-page")
            except NoReverseMatch:
                return ""
    return ""
