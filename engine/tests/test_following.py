"""Connections that break: whatever the moment, following again gives the rest, byte by byte."""

import asyncio
import random
import re
from contextlib import aclosing
from typing import Any

import pytest

from agui.testing import call, event_types, say, think, wait
from tests.conftest import Client, run_input, script

pytestmark = pytest.mark.database

CUTS = 50


class Gates:
    """A script that goes on when it is told to, so that connections break in mid-run."""

    def __init__(self) -> None:
        self.events: list[asyncio.Event] = []

    def __call__(self) -> Any:
        self.events.append(asyncio.Event())
        return wait(self.events[-1])

    async def open_slowly(self) -> None:
        for event in self.events:
            event.set()
            for _ in range(100):
                await asyncio.sleep(0)


def answers(gate: Any) -> list[Any]:
    """All kinds of events: thoughts, texts, calls at once, progress, an approval, and the end after it."""
    return [
        [think("Let me think.", 5), gate(), say("One moment. ", 7), gate(), call("echo", text="a" * 50, _chunks=6)],
        [
            gate(),
            call("work", events=[{"step": "Search"}, {"activity": {"found": 1}}, {"note": "Milk"}], _chunks=3),
            call("echo", text="naïve ✓ \u2028", _chunks=4),
            gate(),
        ],
        [think("Hm.", 2), gate(), say("May I?", 3), gate(), call("wipe", what="disk", _id="wipe-1", _chunks=3)],
        [gate(), say("Done, and that was all of it.", 12), gate()],
    ]


def frames_of(raw: bytes) -> list[bytes]:
    """The whole frames; what came of a further one is lost with the connection."""
    return [frame for frame in re.findall(rb".*?\n\n", raw, re.DOTALL) if not frame.startswith(b":")]


async def read(response: Any, most: int | None = None) -> bytes:
    """Read a stream, and break it off after so many bytes."""
    raw = b""
    async with aclosing(aiter(response)) as body:
        async for chunk in body:
            raw += chunk
            if most is not None and len(raw) >= most:
                raw = raw[:most]
                break
    response.close()
    return raw


async def follow_to_the_end(client: Client, response: Any, chance: random.Random, cuts: list[int]) -> bytes:
    """Read with a connection that breaks at random, in the middle of a frame, too."""
    joined: list[bytes] = []
    while True:
        most = chance.randrange(1, 2000) if len(cuts) < CUTS else None
        joined += frames_of(await read(response, most))
        if joined and b'"type":"RUN_FINISHED"' in joined[-1]:
            return b"".join(joined)
        cuts.append(len(joined))
        last = joined[-1].split(b"\n")[0].removeprefix(b"id: ").decode() if joined else ""
        response = await client.get("threads/t1/events/", **{"Last-Event-ID": last})


async def turn(client: Client, body: dict[str, Any], gates: Gates, chance: random.Random, cuts: list[int]) -> bytes:
    """Take a turn over a connection that breaks, while another reads it whole."""
    response = await client.post(body)
    whole = asyncio.create_task(read(await client.get("threads/t1/events/")))
    opening = asyncio.create_task(gates.open_slowly())
    joined = await follow_to_the_end(client, response, chance, cuts)
    assert joined == b"".join(frames_of(await whole))
    # And when all is over.
    assert joined == b"".join(frames_of(await read(await client.get("threads/t1/events/"))))
    await opening
    return joined


async def test_a_connection_that_breaks_loses_nothing_and_doubles_nothing(client: Client):
    seed = random.randrange(10**9)  # noqa: S311 # not a secret
    print(f"seed {seed}")
    chance = random.Random(seed)  # noqa: S311
    cuts: list[int] = []
    count = 0
    while len(cuts) < CUTS:
        count += 1
        gates, later = Gates(), Gates()
        with script(*answers(gates)[:3], answers(later)[3]):
            await turn(client, run_input("Go"), gates, chance, cuts)
            resume = [approve(one) for one in (await client.thread())["pending"]]
            await turn(client, run_input(resume=resume), later, chance, cuts)
    broken = (await client.thread())["messages"]
    # Another thread, over connections that don't break.
    for _ in range(count):
        gates = Gates()
        script_of_both = answers(gates)
        await gates.open_slowly()
        with script(*script_of_both):
            asked = await client.run("Go", thread="whole")
            resume = [approve(one) for one in asked[-1]["outcome"]["interrupts"]]
            assert event_types(await client.run(resume=resume, thread="whole"))[-1] == "RUN_FINISHED"
    whole = (await client.thread("whole"))["messages"]
    assert [without_ids(one) for one in broken] == [without_ids(one) for one in whole]


def approve(interrupt: dict[str, Any]) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}


def without_ids(message: dict[str, Any]) -> str:
    """A message without what is another in every run: its id, those of its calls, and how long they took."""
    text = str({key: value for key, value in message.items() if key not in ("id", "metadata")})
    return re.sub(r"call-[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f-]{27}", "...", text)
