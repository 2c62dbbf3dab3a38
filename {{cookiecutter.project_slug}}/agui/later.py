"""Modules that are imported when something of them is first used.

Every command of `manage.py` imports the admin, the routes and the checks. Only a page, a request or a run needs the
agent, and pydantic-ai takes longer to import than Django.
"""

from importlib import import_module
from typing import Any


class Later:
    """Stand for a module, and import it when an attribute of it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
