"""Start-up: check the settings. Modules that only an agent needs are imported later."""

import gc
import os
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import ENVIRONMENT_VARIABLE, settings
from django.utils.autoreload import BaseReloader, autoreload_started

from agui.sentences import wording

# Directories of installed packages, which nobody edits.
INSTALLED = {"site-packages", "dist-packages"}


class AguiConfig(AppConfig):
    name = "agui"
    verbose_name = wording("Agent")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agui import checks, conf

        conf.get()
        checks.register()
        # Django adds FORCE_SCRIPT_NAME to a relative address when it is first read, and only the
        # thread that loads the applications knows that name: the one of `runserver` does not.
        _ = settings.STATIC_URL
        # List the directories now: Django forgets its applications if one can't be imported.
        watch = partial(watch_modules, list(own_directories()))
        autoreload_started.connect(watch, weak=False, dispatch_uid="agui.watch")
        gc.enable()  # manage.py has disabled it.


def watch_modules(directories: list[Path], sender: BaseReloader, **kwargs: Any) -> None:
    """Let `runserver` restart after a change of any module of the project.

    Django watches only imported modules, and after a mistake the file that raised it. If the engine
    refuses a tool, that file is the engine's.
    """
    for directory in directories:
        for pattern in ("*.py", "*/*.py", "*/*/*.py"):
            sender.watch_dir(directory, pattern)


def own_directories() -> Iterator[Path]:
    """Yield the directories of the settings and of all applications that are not installed."""
    module = os.environ.get(ENVIRONMENT_VARIABLE)
    if module:
        settings_file = str(import_module(module).__file__)
        yield Path(settings_file).resolve().parent
    for config in apps.get_app_configs():
        path = Path(config.path)
        if not INSTALLED.intersection(path.parts):
            yield path.resolve()
