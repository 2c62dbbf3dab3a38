"""Which way one request takes through the rooms of the engine: which modules run, and how many calls go up.

Run it with the Python of a generated project, in its folder: .venv/bin/python <here>/benchmarks/floor_plan.py
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

QUESTIONS = {"hello": "hello", "a tool": 'add_task title="Milk"'}


class Trace:
    """Every call from one module of the engine to another, through libraries, too."""

    def __init__(self, engine: Path) -> None:
        self.root = f"{engine}/"
        self.functions: set[Any] = set()
        self.calls: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> "Trace":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @property
    def modules(self) -> set[str]:
        return {code.co_filename.removeprefix(self.root) for code in self.functions}

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(self.root):
            return
        self.functions.add(frame.f_code)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self.root):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != frame.f_code.co_filename:
            names = (one.f_code.co_filename.removeprefix(self.root) for one in (caller, frame))
            self.calls[next(names), next(names)] += 1


def read_rooms(engine: Path) -> list[str]:
    """The rooms in the order of the docstring, in which one reads them and in which they import each other."""
    return re.findall(r"^ {4}(\w+)/ ", (engine / "__init__.py").read_text(), re.MULTILINE)


def read_leaves(engine: Path) -> set[str]:
    """What every room may use."""
    _, _, below = (engine / "__init__.py").read_text().partition("\nEvery room may use ")
    return set(re.findall(r"\w+\.py", below.partition("\nDjango's other")[0]))


def place_of(module: str, rooms: list[str], leaves: set[str]) -> int:
    """How far down a module stands: above all rooms, in one of them, or below, where every room may look."""
    room, _, rest = module.partition("/")
    if room in rooms:
        return rooms.index(room)
    return len(rooms) if not rest and room in leaves else -1


async def ask(text: str, user: Any, number: int) -> list[str]:
    """Post what a user says; the types of the events that come."""
    from django.test import AsyncClient

    client = AsyncClient()
    await client.aforce_login(user)
    messages = [{"id": "m1", "role": "user", "content": text}]
    body = {"threadId": f"t{number}", "runId": f"r{number}", "messages": messages}
    body |= {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    response = await client.post("/agent/", json.dumps(body), content_type="application/json")
    stream = b"".join([part async for part in response.streaming_content])  # type: ignore[union-attr]
    return re.findall(r'data: \{"type":"(\w+)"', stream.decode())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DEBUG": "1", "AGENT_MODEL": "demo", "LOG_LEVEL": "ERROR", "REDIS_URL": ""}
        os.environ |= {"DATABASE_URL": f"sqlite:///{folder}/db.sqlite3", "DJANGO_SETTINGS_MODULE": "config.settings"}
        sys.path.insert(0, os.getcwd())
        import django

        django.setup()
        import agui
        from django.contrib.auth import get_user_model
        from django.core.management import call_command
        from django.test.utils import setup_test_environment

        setup_test_environment()  # Its client's host is one of the site's
        call_command("migrate", verbosity=0)
        user = get_user_model().objects.create_user("somebody")
        measure(Path(agui.__file__).parent, user)


def measure(engine: Path, user: Any) -> None:
    rooms, leaves = read_rooms(engine), read_leaves(engine)
    asyncio.run(ask("hello", user, 0))  # What is imported and built once is no part of a request
    for number, (name, text) in enumerate(QUESTIONS.items(), 1):
        with Trace(engine) as trace:
            types = asyncio.run(ask(text, user, number))
        if types[-1] != "RUN_FINISHED":
            sys.exit(f"{name}: the run ended with {types[-1]}")
        places = {module: place_of(module, rooms, leaves) for pair in trace.calls for module in pair}
        rising = {pair for pair in trace.calls if places[pair[1]] < places[pair[0]]}
        calls, up = sum(trace.calls.values()), sum(trace.calls[pair] for pair in rising)
        print(f"{name}: {len(trace.modules)} modules, {len(trace.functions)} functions")
        ways = len(trace.calls)
        print(f"  ways from a module to another: {ways}, up: {len(rising)} ({len(rising) / ways:.0%})")
        print(f"  calls on them: {calls}, up: {up} ({up / calls:.0%})")
        for pair in sorted(rising):
            print(f"    {pair[0]} -> {pair[1]} ({trace.calls[pair]})")


if __name__ == "__main__":
    main()
