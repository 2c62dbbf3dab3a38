"""The methods of a model that become tools."""

import inspect
from typing import Any

from django.db import models

from agui.contrib.agentify.names import snake_case
from agui.contrib.agentify.secrets import is_secret_name

MAX_ACTIONS = 10
# A method that begins so answers a question, and changes nothing.
QUESTIONS = (
    *("get_", "is_", "has_", "can_", "should_", "to_", "as_", "check_"),
    *("last_", "next_", "natural_key"),
)


def actions_of(model: type[models.Model]) -> dict[str, str]:
    """List the methods, each with the first line of its docstring."""
    actions: dict[str, str] = {}
    for name, method in vars(model).items():
        if len(actions) == MAX_ACTIONS:
            break
        if _is_action(name, method):
            first_line = (inspect.getdoc(method) or "").strip().partition("\n")[0]
            readable = first_line.isascii() and '"' not in first_line and "\\" not in first_line
            actions[name] = first_line[:80] if readable else ""
    return actions


def _is_action(name: str, method: Any) -> bool:
    if not inspect.isfunction(method) or inspect.iscoroutinefunction(method):
        return False
    if inspect.isgeneratorfunction(method) or snake_case(name) != name:
        return False
    if name.startswith(("_", *QUESTIONS)) or hasattr(models.Model, name) or is_secret_name(name):
        return False
    # A wrapper, such as one that checks a request, is no plain method.
    if hasattr(method, "__wrapped__") or method.__name__ != name:
        return False
    parameters = list(inspect.signature(method).parameters.values())
    required = [item for item in parameters if item.default is item.empty]
    return len(required) == 1 and required[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
