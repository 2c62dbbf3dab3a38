"""The versions that a report of a mistake needs."""

import platform
from importlib import import_module
from importlib.metadata import version

PACKAGES = ("pydantic-ai-slim", "ag-ui-protocol", "django", "daphne")


def versions() -> str:
    """Name the engine's version and those of what it stands on, in one line."""
    told = [f"agui-django {import_module('agui').__version__}"]
    for package in PACKAGES:
        told.append(f"{package} {version(package)}")
    return ", ".join([*told, f"Python {platform.python_version()}"])
