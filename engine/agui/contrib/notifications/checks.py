from typing import Any

from django.conf import settings as django_settings
from django.core import checks

from agui import conf
from agui.contrib.notifications.conf import NotificationsSettings

# Backends that send no mail.
STAND_INS = ("console", "dummy", "filebased", "locmem")


def check_links(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn if messages have no links to conversations."""
    settings = conf.part(NotificationsSettings)
    if not settings.is_on or settings.site_url is not None:
        return []
    warning = checks.Warning(
        "Notifications have no links: the address of the site is unknown.",
        hint="Set SITE_URL, or AGUI['NOTIFICATIONS']['SITE_URL'].",
        id="agui_notifications.W001",
    )
    return [warning]


def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of what works on a developer's machine only."""
    settings = conf.part(NotificationsSettings)
    warnings: list[checks.CheckMessage] = []
    if settings.is_on and (settings.site_url or "").startswith("http:"):
        warnings.append(
            checks.Warning(
                "The links in notifications don't use https.",
                hint="Begin SITE_URL with https.",
                id="agui_notifications.W002",
            )
        )
    if settings.mail == "off":
        return warnings
    backend = django_settings.EMAIL_BACKEND
    if backend in {f"django.core.mail.backends.{name}.EmailBackend" for name in STAND_INS}:
        warnings.append(
            checks.Warning(
                f"Users are told by mail, and EMAIL_BACKEND is {backend!r}, which sends none.",
                hint="Name a backend that sends mail.",
                id="agui_notifications.W003",
            )
        )
    if backend.endswith(".smtp.EmailBackend") and django_settings.EMAIL_TIMEOUT is None:
        warnings.append(
            checks.Warning(
                "Users are told by mail, and a mail server that hangs is waited for without end.",
                hint="Set EMAIL_TIMEOUT, in seconds.",
                id="agui_notifications.W004",
            )
        )
    return warnings
