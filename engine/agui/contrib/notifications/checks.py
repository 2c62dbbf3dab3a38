from typing import Any

from django.conf import settings as django_settings
from django.core import checks

from agui import conf
from agui.contrib.notifications.conf import NotificationsSettings

BACKENDS = "django.core.mail.backends"
SMTP = f"{BACKENDS}.smtp.EmailBackend"
# Backends that send no mail.
STAND_INS = {
    f"{BACKENDS}.{name}.EmailBackend" for name in ("console", "dummy", "filebased", "locmem")
}


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
    backend, timeout = _mailer()
    if backend in STAND_INS:
        warnings.append(
            checks.Warning(
                f"Users are told by mail, and the backend {backend!r} sends none.",
                hint="Name a backend that sends mail.",
                id="agui_notifications.W003",
            )
        )
    if backend == SMTP and timeout is None:
        warnings.append(
            checks.Warning(
                "Users are told by mail, and a mail server that hangs is waited for without end.",
                hint="Set EMAIL_TIMEOUT, or the timeout of MAILERS, in seconds.",
                id="agui_notifications.W004",
            )
        )
    return warnings


def _mailer() -> tuple[str, float | None]:
    """Return what sends mails, and its timeout in seconds: MAILERS is of Django 6.1."""
    if (mailers := getattr(django_settings, "MAILERS", None)) is not None:
        default = mailers.get("default", {})
        return default.get("BACKEND", SMTP), default.get("OPTIONS", {}).get("timeout")
    # Django 6.1 warns of each of them that is asked for.
    names: dict[str, Any] = {"EMAIL_BACKEND": SMTP, "EMAIL_TIMEOUT": None}
    settings: Any = django_settings
    backend, timeout = (
        getattr(settings, name) if settings.is_overridden(name) else default
        for name, default in names.items()
    )
    return backend, timeout
