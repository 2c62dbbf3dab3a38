"""System checks of what a project has set before it has agents.

They import Django alone: the installer runs this file in the project before it writes anything.
"""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.db import router


def check_applications(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require that `runserver` serves ASGI: under WSGI a run would end with its request."""
    names = [config.name for config in apps.get_app_configs()]
    if "daphne" not in names:
        problem = "'daphne' is not in INSTALLED_APPS."
    elif "django.contrib.staticfiles" in names[: names.index("daphne")]:
        problem = "'daphne' comes after 'django.contrib.staticfiles' in INSTALLED_APPS."
    else:
        return []
    return [
        checks.Error(
            problem,
            hint="Put it first: otherwise `runserver` is a WSGI server, which can't run agents. "
            "Set ASGI_APPLICATION, too.",
            id="agui.E001",
        )
    ]


def check_time_zones(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require times with time zones: the engine stores such times."""
    if settings.USE_TZ:
        return []
    return [
        checks.Error(
            "USE_TZ is False, and the engine stores times with their time zone.",
            hint="Set USE_TZ = True. Django's documentation of time zones has a guide for projects "
            "that change it.",
            id="agui.E013",
        )
    ]


def check_routes(owned: Iterable[Any]) -> list[checks.CheckMessage]:
    """Require one database for users and these models of what they own: a deletion takes both."""
    used = {router.db_for_write(get_user_model())}
    for model in owned:
        used |= {router.db_for_read(model), router.db_for_write(model)}
    if len(used) == 1:
        return []
    return [
        checks.Error(
            f"DATABASE_ROUTERS spread users and their conversations over {sorted(used)!r}.",
            hint="Route conversations and the models of 'agui' and its parts to the database in "
            "which users are written, for reading, too.",
            id="agui.E014",
        )
    ]
