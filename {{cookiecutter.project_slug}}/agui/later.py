"""Modules that are imported when something of them is first used.

Every command of `manage.py` imports the admin, the routes and the checks. Only a page, a request or
a run needs the agent, and pydantic-ai takes longer to import than Django.
"""

from importlib import import_module
from typing import Any


class Later:
    """Stand for a module, or for something of it, and import it when an attribute is first read."""

    def __init__(self, module: str, of: str | None = None) -> None:
        self._module, self._of = module, of

    def __getattr__(self, name: str) -> Any:
        module = import_module(self._module)
        return getattr(getattr(module, self._of) if self._of else module, name)
