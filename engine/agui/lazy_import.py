"""Modules that are imported on first use.

Every command of `manage.py` imports the admin, the routes and the checks. Only a page, a request or
a run needs the agent, and importing pydantic-ai takes longer than importing Django.
"""

from importlib import import_module
from typing import Any


class LazyImport:
    """Stands for a module, or for an object in it, and imports the module on first use."""

    def __init__(self, module: str, attribute: str | None = None) -> None:
        self._module = module
        self._attribute = attribute

    def __getattr__(self, name: str) -> Any:
        target: Any = import_module(self._module)
        if self._attribute:
            target = getattr(target, self._attribute)
        return getattr(target, name)
