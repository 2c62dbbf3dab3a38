from typing import Any

from django.conf import settings
from django.core import checks
from django.core.files.storage import storages

BACKEND = "agui.contrib.bundle.storage.StaticFiles"


def check_storage(**kwargs: Any) -> list[checks.CheckMessage]:
    """Say that the part does nothing: STORAGES, which is the project's, names another storage."""
    if settings.DEBUG:
        return []
    # This module imports whitenoise, which is an extra.
    from agui.contrib.bundle.storage import StaticFiles

    if isinstance(storages["staticfiles"], StaticFiles):
        return []
    return [
        checks.Info(
            "The part bundle does nothing: STORAGES has another storage for static files.",
            hint=f'Set STORAGES["staticfiles"] = {{"BACKEND": "{BACKEND}"}}, or remove the part.',
            id="agui_bundle.I001",
        )
    ]
