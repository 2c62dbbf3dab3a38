"""Start-up: settings are checked, tools are found."""

import os
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import ENVIRONMENT_VARIABLE
from django.db.models.signals import post_delete, post_save
from django.utils.autoreload import BaseReloader, autoreload_started
from django.utils.module_loading import autodiscover_modules


class AguiConfig(AppConfig):
    name = "agui"
    verbose_name = "Agent"

    def ready(self) -> None:
        from agui import attachments, budgets, checks, conf
        from agui.models import Attachment, Budget

        conf.load()
        checks.register()
        # A signal, because it is Django's own way to tell what its cascades delete.
        post_delete.connect(attachments.delete_file, sender=Attachment)
        post_save.connect(budgets.belief.forget, sender=Budget)
        # Now: Django forgets its applications if one can't be imported.
        autoreload_started.connect(partial(watch_modules, list(own_directories())), weak=False)
        autodiscover_modules("tools", "skills")
        # Now: they take long enough to hold up a server that is at work.
        if conf.get().telemetry:
            import_module("agui.otel")
        if conf.get().mcp_config:
            import_module("agui.mcp.toolset")
        if conf.get().mcp_endpoint:
            import_module("agui.mcp.endpoint")
        if conf.get().run_executor == "dbos" and find_spec("dbos"):
            import_module("agui.durable.orders")


def watch_modules(directories: list[Path], sender: BaseReloader, **kwargs: Any) -> None:
    """Let `runserver` start again after any change of the project's modules, also of those that could not be imported.

    Django watches what was imported, and after a mistake the file that raised it. That is a file of the engine if a
    tool is refused.
    """
    for directory in directories:
        for pattern in ("*.py", "*/*.py"):
            sender.watch_dir(directory, pattern)


def own_directories() -> Iterator[Path]:
    """The directories of the settings and of the applications that are not installed packages."""
    if module := os.environ.get(ENVIRONMENT_VARIABLE):
        yield Path(str(import_module(module).__file__)).resolve().parent
    for config in apps.get_app_configs():
        if not {"site-packages", "dist-packages"} & {*Path(config.path).parts}:
            yield Path(config.path).resolve()
