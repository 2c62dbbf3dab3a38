"""Django system checks: what would fail later, said at start-up with its cure."""

from typing import Any

from django.conf import settings
from django.core import checks


def register() -> None:
    checks.register(check_database, checks.Tags.database)
    checks.register(check_applications)


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
