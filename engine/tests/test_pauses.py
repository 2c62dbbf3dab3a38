"""What a client may choose costs in proportion to its size: each field of a body, and what a thread keeps of it.

The work is counted in steps and not in seconds: lines of Python, each as often as it runs, and calls of C with the text
that they belong to. The longest pause is the work between two turns of the event loop, or that of one call on a pool's
thread. The steps within a regular expression can't be counted, so no request may compile one of its own.
"""

import asyncio.events
import json
import re
import re._compiler
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic_ai import RunContext

from agui import AgentDeps, ToolRegistry, tool
from agui.blocking.fair_threads import FairThreads
from agui.contrib.mentions.records import Mentions
from agui.testing import call, collect, say
from tests.conftest import Client, run_input

TURN = asyncio.events.Handle._run.__code__
COMPILE = re._compiler.compile.__code__  # type: ignore[attr-defined]
nightly = pytest.mark.nightly
# What a request without any size may take, and each byte of it.
MAX_STEPS = 20_000
MAX_STEPS_A_BYTE = 50
Body = dict[str, Any]


class Pauses:
    """Counts the steps of a thread, and keeps the most between two turns."""

    def __init__(self) -> None:
        self.steps = 0
        self.longest = 0
        self.compiled = 0
        self.bytes = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        sys.settrace(self.trace)
        sys.setprofile(self.profile)
        try:
            yield
        finally:
            sys.settrace(None)
            sys.setprofile(None)
            self.turn()

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code is TURN:
            self.turn()
        elif frame.f_code is COMPILE:
            self.compiled += 1
        return self.trace_line

    def trace_line(self, frame: Any, event: str, argument: Any) -> Any:
        self.steps += 1
        return self.trace_line

    def profile(self, frame: Any, event: str, argument: Any) -> None:
        if event == "c_call" and isinstance(argument.__self__, str | bytes):
            self.steps += len(argument.__self__) // 100

    def turn(self) -> None:
        self.longest = max(self.longest, self.steps)
        self.steps = 0


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pauses]:
    """Count the work of the event loop and of the pools' threads."""
    loop, submit = Pauses(), FairThreads.submit

    def submit_counted(self: Any, owner: Any, work: Callable[[], Any]) -> Any:
        def counted() -> Any:
            thread = Pauses()
            try:
                with thread.counting():
                    return work()
            finally:
                loop.longest = max(loop.longest, thread.longest)
                loop.compiled += thread.compiled

        return submit(self, owner, counted)

    with monkeypatch.context() as patch, loop.counting():
        patch.setattr(FairThreads, "submit", submit_counted)
        yield loop


# --- What a client sends, of a size


def user(text: Any, number: int = 0, **fields: Any) -> Body:
    return {"id": f"u{number}", "role": "user", "content": text, **fields}


def answer(number: int, **fields: Any) -> Body:
    return {"id": f"a{number}", "role": "assistant", "content": "ok", **fields}


def calls(size: int) -> list[Body]:
    """One answer with many calls, and their results."""
    function = {"name": "echo", "arguments": '{"text": "a"}'}
    asked = [{"id": f"c{n}", "type": "function", "function": function} for n in range(size)]
    results = [{"id": f"r{n}", "role": "tool", "toolCallId": f"c{n}", "content": "a"} for n in range(size)]
    return [answer(0, toolCalls=asked), *results, user("And?")]


def turns(size: int) -> list[Body]:
    return [message for n in range(size) for message in (user("a", n), answer(n))] + [user("And?", size)]


def mentioning(size: int) -> list[Body]:
    titles = ["z", *("@" * 190 + f"{size}{letter}" for letter in "abcdefghijklmnopqrs")]
    records = [{"kind": "task", "id": "1", "title": title} for title in titles]
    return [user("z @z " + "@" * size, metadata={"mentions": records})]


def paint(**schema: Any) -> list[Body]:
    return [{"name": "paint", "description": "Paint", "parameters": schema}]


def circle(size: int) -> list[Body]:
    """A schema with many alternatives, the last of which is the schema itself."""
    schema = {"anyOf": [{}] * size + [{"$ref": "#/$defs/A"}]}
    return paint(**{"$defs": {"A": schema}, "$ref": "#/$defs/A"})


def secrets(size: int) -> list[Body]:
    return paint(type="object", properties={f"p{n}": {"type": "string", "format": "password"} for n in range(size)})


TEXTS = {"a": "a", "blanks": " ", "at": "@", "quotes": "'\"", "markup": "![](<", "lines": "\n- ", "slashes": "/a {x} "}
BODIES: dict[str, tuple[int, Callable[[int], Body]]] = {
    **{f"text of {name}": (20_000, lambda n, t=text: {"messages": [user(t * n)]}) for name, text in TEXTS.items()},
    "a skill": (20_000, lambda n: {"messages": [user("/explain " + "x " * n)]}),
    "mentions in a text": (20_000, lambda n: {"messages": mentioning(n)}),
    "many mentions": (100, lambda n: {"messages": [user("@z", metadata={"mentions": [{"kind": "t"}] * n})]}),
    "many files": (100, lambda n: {"messages": [user("a", metadata={"attachments": [{"id": "x"}] * n})]}),
    "wide metadata": (100, lambda n: {"messages": [user("a", metadata={f"k{k}": "v" for k in range(n)})]}),
    "parts": (50, lambda n: {"messages": [user([{"type": "text", "text": "a"}] * n)]}),
    "new messages": (20, lambda n: {"messages": [user("a", k) for k in range(n)]}),
    "a history": (20, lambda n: {"messages": turns(n)}),
    "calls of an answer": (20, lambda n: {"messages": calls(n)}),
    "system messages": (
        50,
        lambda n: {"messages": [{**user("a", k), "role": "system"} for k in range(n)] + [user("a", n)]},
    ),
    "tools": (20, lambda n: {"tools": [{**paint()[0], "name": f"t{k}"} for k in range(n)]}),
    "a schema of alternatives": (1000, lambda n: {"tools": circle(n)}),
    "a schema of secrets": (200, lambda n: {"tools": secrets(n)}),
    "a long description": (20_000, lambda n: {"tools": [{**paint()[0], "description": "a " * n}]}),
    "context": (100, lambda n: {"context": [{"description": "d", "value": "v"}] * n}),
    "a long context": (20_000, lambda n: {"context": [{"description": "d", "value": "<" * n}]}),
    "state": (200, lambda n: {"state": {f"k{k}": [k] for k in range(n)}}),
    "a list in the state": (200, lambda n: {"state": {"list": [{"a": k} for k in range(n)]}}),
    "forwarded properties": (200, lambda n: {"forwardedProps": {f"k{k}": k for k in range(n)}}),
    "a model's name": (20_000, lambda n: {"forwardedProps": {"model": "m" * n}}),
    "answers to nothing": (
        50,
        lambda n: {"resume": [{"interruptId": f"i{k}", "status": "cancelled"} for k in range(n)]},
    ),
    "unknown fields": (200, lambda n: {f"k{k}": k for k in range(n)}),
    "a long id": (20_000, lambda n: {"parentRunId": "p" * n}),
}
# The settings that let more of a body through.
SETTINGS = {
    "CLIENT_INSTRUCTIONS": "use",
    "HISTORY_MESSAGES": None,
    "MAX_CONTEXT_CHARS": 10_000_000,
    "SEARCH_TOOLS_ABOVE": 10,
    "MAX_TOOLS": 10_000,
    "THROTTLE": {"USER": "10000/minute"},
}


def search(user: Any, text: str) -> list[Any]:
    return []


@pytest.fixture(params=[pytest.param({}, marks=nightly), SETTINGS], ids=["the defaults", "open settings"])
def agent(request: Any, settings: Any, mount: Any) -> Any:
    settings.AGUI = {**settings.AGUI, **request.param}
    registry = ToolRegistry()

    @tool(registry)
    def echo(ctx: RunContext[AgentDeps], text: str) -> str:
        """Say a text."""
        return text

    arguments = {f"p{n}": "x" for n in range(50)}

    def serve(body: Body) -> None:
        first = call("paint", **arguments) if any(t["name"] == "paint" for t in body.get("tools", ())) else say("ok")
        mount(registry, *[first, *[say("ok")] * 20], capabilities=[Mentions(search)])

    return serve


async def pause_of(client: Client, agent: Any, body: Body, thread: str, monkeypatch: pytest.MonkeyPatch) -> Pauses:
    """Send a body, then a short message to the same thread, and read the thread."""
    body = {**run_input("" if "messages" in body else "Hi", thread=thread), **body}
    data = json.dumps(body)
    agent(body)
    with watched(monkeypatch) as pauses:
        response = await client.post(data)
        if response.status_code == 200:
            await collect(response)
            second = await client.post(run_input("More", thread=thread))
            if second.status_code == 200:
                await collect(second)
            await client.get(f"threads/{thread}/")
            await client.get("threads/?q=more")
    pauses.bytes = len(data)
    return pauses


DAILY = {"a history"}


@pytest.mark.parametrize("name", [name if name in DAILY else pytest.param(name, marks=nightly) for name in BODIES])
async def test_the_longest_pause_grows_as_the_body_does(client: Client, agent: Any, name: str, monkeypatch):
    size, make = BODIES[name]
    re.purge()  # Python keeps 512 patterns: those of other tests would push out those of this one.
    once, twice, fourfold = [
        await pause_of(client, agent, make(size * factor), f"t{factor}", monkeypatch) for factor in (1, 2, 4)
    ]
    longest = once.longest, twice.longest, fourfold.longest
    # The first request may compile patterns of the engine.
    assert twice.compiled == fourfold.compiled == 0
    # What is quadratic grows fourfold.
    assert twice.longest < 2.5 * once.longest, longest
    assert fourfold.longest < 2.5 * twice.longest, longest
    assert fourfold.longest < MAX_STEPS_A_BYTE * fourfold.bytes + MAX_STEPS, longest
