"""Hide a name of a library from the part `fast`, and see that the server starts and answers all the same.

`python -m tests.hiding 4` does so for every fourth name that the pieces import or find, each in a process of its own,
and prints the lines of the log as JSON. The name is hidden while the pieces are imported and applied: the libraries
need it, too.
"""

import ast
import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from logging.handlers import BufferingHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.asking import ask

LIBRARIES = ("ag_ui", "anyio", "asgiref", "django", "pydantic_ai", "pydantic_core")
PATH = re.compile(r"\w+(\.\w+)+|[\w.]+:[\w.]+")
APART = {"__init__.py", "apps.py", "guard.py"}  # No pieces: they import only what is documented.


def names() -> list[str]:
    """What the pieces take from libraries: "module", "module:name" or "module:Class.name"."""
    found: set[str] = set()
    package = Path(str(import_module("agui.contrib.fast").__file__)).parent
    for path in package.glob("*.py"):
        if path.name not in APART:
            for node in ast.walk(ast.parse(path.read_text())):
                found.update(taken_by(node))
    modules = {name for name in found if ":" not in name}
    return sorted(found | {f"{name}:replace" for name in modules})


def taken_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and str(node.module).startswith(LIBRARIES):
        for alias in node.names:
            yield f"{node.module}:{alias.name}"
    elif isinstance(node, ast.Constant) and PATH.fullmatch(str(node.value)) and str(node.value).startswith(LIBRARIES):
        with suppress(ImportError):  # A class of the settings, for one.
            import_module(node.value.partition(":")[0])
            yield node.value


def hide(name: str) -> Any:
    """Hide a name; returns what shows it again."""
    module, _, attributes = name.partition(":")
    if not attributes:
        hidden = sys.modules.get(module)
        sys.modules[module] = None  # type: ignore[assignment]
        return lambda: sys.modules.update({module: hidden}) if hidden else sys.modules.pop(module)
    owner: Any = import_module(module)
    *path, last = attributes.split(".")
    for part in path:
        owner = getattr(owner, part)
    if last not in vars(owner):  # Inherited, or an annotation: there is another class that has it.
        owner = next(base for base in owner.__mro__ if last in vars(base))
    hidden = vars(owner)[last]
    delattr(owner, last)
    return lambda: setattr(owner, last, hidden)


def look(name: str, view: Any, token: str) -> dict[str, Any]:
    """Apply the pieces without a name, and answer a request."""
    from django.core.asgi import get_asgi_application
    from pydantic_ai.models.test import TestModel

    from agui import parts
    from agui.contrib.fast.apps import FastConfig

    told = BufferingHandler(1000)
    part = FastConfig("agui.contrib.fast", import_module("agui.contrib.fast"))
    others = parts.installed()
    parts.installed = lambda: (*others, part)  # type: ignore[assignment]
    application: Any = get_asgi_application()
    logging.getLogger("agui.fast").addHandler(told)
    show = hide(name) if name else lambda: None
    try:
        part.ready()
        part.prepare()
        application = part.wrap_application(application)
        events: Any = object()
        assert part.wrap_events(SimpleNamespace(join_to_log=True), events) is events
    finally:
        show()
    lines = [f"{record.levelname} {record.getMessage()}" for record in told.buffer]
    body = json.dumps({"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Hi"}]})
    headers = {"host": "localhost", "content_type": "application/json", "authorization": f"Bearer {token}"}
    with view.agent.override(model=TestModel(call_tools=[], custom_output_text="Hello.")):
        _, _, stream = asyncio.run(ask(application, "POST", "/agent/", body, **headers))
    return {"name": name, "lines": lines, "last": stream.rpartition(b"data: ")[2].decode()}


def main() -> None:
    import django
    from django.conf import settings

    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "agui.contrib.fast"]
    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connections

    from agui.http.tokens import create_token
    from agui.server import asgi  # noqa: F401 # What the core imports is there.
    from agui.server.warm_up import import_agents

    call_command("migrate", verbosity=0)
    import_agents()
    from tests.urls import view

    _ = view.agent
    chosen = ["", *names()]
    users = [get_user_model().objects.create_user(f"user {number}") for number in range(len(chosen))]
    tokens = [create_token(user)[1] for user in users]
    connections.close_all()
    for name, token in zip(chosen, tokens, strict=True):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writing, json.dumps(look(name, view, token)).encode())
            except BaseException as error:
                os.write(writing, json.dumps({"name": name, "lines": [], "last": repr(error)}).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as told:
            print(told.read(), flush=True)
        os.wait()


if __name__ == "__main__":
    main()
