"""Django system checks: what would fail later, said at start-up with its cure."""

from typing import Any

from django.conf import settings
from django.core import checks

from agui.agent import missing_key


def register() -> None:
    checks.register(check_database, checks.Tags.database)
    checks.register(check_applications)
    checks.register(check_model)


def check_applications(**kwargs: Any) -> list[checks.CheckMessage]:
    apps = settings.INSTALLED_APPS
    if "daphne" in apps and apps.index("daphne") > apps.index("django.contrib.staticfiles"):
        return [
            checks.Error(
                "'daphne' comes after 'django.contrib.staticfiles' in INSTALLED_APPS.",
                hint="Put it first: else `runserver` is the WSGI server, and answers don't stream.",
                id="agui.E001",
            )
        ]
    return []


def check_model(**kwargs: Any) -> list[checks.CheckMessage]:
    """Is the model's key there? In production its absence stops the server, so this is for developers."""
    if settings.DEBUG and (missing := missing_key(settings.AGENT_MODEL)):
        return [
            checks.Warning(
                f"AGENT_MODEL is {settings.AGENT_MODEL!r}, but {missing} is not set.",
                hint=f"Set {missing} in .env. Until then the offline demo model answers.",
                id="agui.W001",
            )
        ]
    return []


def check_database(**kwargs: Any) -> list[checks.CheckMessage]:
    """ATOMIC_REQUESTS can't work with asynchronous views."""
    return [
        checks.Error(
            f"DATABASES[{name!r}]['ATOMIC_REQUESTS'] is on.",
            hint="Turn it off: Django refuses it for asynchronous views, and the agent's is one.",
            id="agui.E002",
        )
        for name, options in settings.DATABASES.items()
        if options.get("ATOMIC_REQUESTS")
    ]
