"""Start-up: settings are checked. What only an agent needs is imported later (agents/discovery.py)."""

import os
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import ENVIRONMENT_VARIABLE
from django.utils.autoreload import BaseReloader, autoreload_started


class AguiConfig(AppConfig):
    name = "agui"
    verbose_name = "Agent"

    def ready(self) -> None:
        from agui import checks, conf

        conf.get()
        checks.register()
        # Now: Django forgets its applications if one can't be imported.
        watched = partial(watch_modules, list(own_directories()))
        autoreload_started.connect(watched, weak=False, dispatch_uid="agui.watch")


def watch_modules(directories: list[Path], sender: BaseReloader, **kwargs: Any) -> None:
    """Let `runserver` start again after any change of the project's modules, also of those that
    could not be imported.

    Django watches what was imported, and after a mistake the file that raised it. That is a file of
    the engine if a tool is refused.
    """
    for directory in directories:
        for pattern in ("*.py", "*/*.py", "*/*/*.py"):
            sender.watch_dir(directory, pattern)


def own_directories() -> Iterator[Path]:
    """The directories of the settings and of the applications that are not installed packages."""
    if module := os.environ.get(ENVIRONMENT_VARIABLE):
        yield Path(str(import_module(module).__file__)).resolve().parent
    for config in apps.get_app_configs():
        if not {"site-packages", "dist-packages"} & {*Path(config.path).parts}:
            yield Path(config.path).resolve()
