"""The methods of a model that become tools: those that the user names."""

import inspect
from collections.abc import Iterable
from typing import Any

from django.db import models

from agui.contrib.agentify.refusal import Refused
from agui.contrib.agentify.secrets import is_secret_name

# A method that begins so answers a question, and changes nothing.
QUESTIONS = ("get_", "is_", "has_", "can_", "should_", "to_", "as_", "natural_key", "_")


def actions_of(model: type[models.Model], names: Iterable[str]) -> dict[str, str]:
    """List the methods, each with the first line of its docstring. Raises Refused."""
    actions: dict[str, str] = {}
    for name in names:
        method = inspect.getattr_static(model, name, None)
        reason = _why_not(name, method)
        if reason:
            raise Refused(f"{model.__name__}.{name} can't be a tool: {reason}.")
        first_line = (inspect.getdoc(method) or "").strip().partition("\n")[0]
        readable = first_line.isascii() and '"' not in first_line and "\\" not in first_line
        actions[name] = first_line[:80] if readable else ""
    return actions


def _why_not(name: str, method: Any) -> str:
    if method is None:
        return "there is no such method"
    if not inspect.isfunction(method):
        return "it is no method of a row"
    if hasattr(models.Model, name):
        return "it is a method of all models"
    if is_secret_name(name):
        return "its name says that it is about a secret"
    if name.startswith(QUESTIONS):
        return "it reads like a question, whose answer changes nothing"
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
        return "it is a coroutine or a generator"
    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return "it needs arguments"
    return ""
