"""The step `attack` of a transcript: a body that no good client sends.

It is refused and changes nothing, or it is read and nothing of what was said before is lost.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from agui.testing import say
from tests.comparing import compare
from tests.judging import Mistake, Reply

LEAKS = ("hunter2", "Traceback", ".py", "Error(")
# Whatever a step takes, a run has no failure of ours.
TAKEN_OR_REFUSED = r"4(00|13|15|22) |(?!internal_error)[a-z]"
USER = {"role": "user", "content": "hunter2"}
numbers = count()


@dataclass
class Attack:
    """A step of a transcript that a player plays."""

    player: Any
    by: str
    step: dict[str, Any]

    async def play(self, change: Any) -> Reply:
        """Add a change to a good body, or send this text."""
        self.player.model.always = say("Yes.")
        if "everywhere" not in self.step:
            return await self.send(change)
        reply = Reply()
        whole = with_ids(change)
        for path in places_of(whole):
            if ".".join(map(str, path)).startswith(self.step.get("at", "")):
                for value in self.step["everywhere"]:
                    reply = await self.send(replaced(whole, path, value))
        return reply

    async def send(self, change: Any) -> Reply:
        body = change
        if isinstance(change, dict):
            body = {"threadId": "t1", "runId": str(uuid4()), "protocolVersion": "1.0", "messages": [USER]} | change
            answers = {"resume": self.player.resolved(body["resume"])} if "resume" in body else {}
            body = with_ids(body | answers)
        before = await self.kept("t1")
        reply = await self.post(body, self.step.get("ends", "..."))
        after = await self.kept("t1")
        said = before["messages"]
        if reply.status == 200 and reply.ended == "success":
            self.player.compare(said, after["messages"][: len(said)])
        elif before != after:
            raise Mistake(f"{before} has become {after}")
        if "anew" in self.step:
            thread = {"threadId": f"anew {next(numbers)}"}
            await self.post(body | thread, self.step["anew"])
            await self.post(with_ids({"messages": [USER], "runId": "r"}) | thread, "success")
            await self.kept(thread["threadId"])
        return reply

    async def kept(self, thread: str) -> Any:
        return (await self.player.http("GET", f"threads/{thread}/", self.by, {})).json

    async def post(self, body: Any, ends: Any) -> Reply:
        """Post a body, and read the answer as strictly as can be."""
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        if "raw" in self.step:
            data = data.replace('"@"', self.step["raw"])
        reply: Reply = await self.player.post(self.by, data, self.step)
        if leaks := [leak for leak in LEAKS if leak in reply.raw.decode()]:
            raise Mistake(f"{leaks} in {reply.raw.decode()[:2000]}")
        if reply.status == 200:
            self.player.check_reply(reply, body if isinstance(body, dict) else {})
            ended = reply.ended
        else:
            self.player.compare({"error": "...", "message": "..."}, reply.json)
            ended = f"{reply.status} {reply.json['error']}"
        allowed = ends if isinstance(ends, list) else [ends]
        if all(compare(one, ended, {}) for one in allowed) or not re.match(TAKEN_OR_REFUSED, ended):
            raise Mistake(f"{ended!r} is none of {allowed}: {str(data)[:500]}")
        return reply


def with_ids(body: dict[str, Any]) -> dict[str, Any]:
    """Give the messages ids, unless they have some."""
    if not isinstance(body.get("messages"), list):
        return body
    named = [{"id": f"m{next(numbers)}", **one} if isinstance(one, dict) else one for one in body["messages"]]
    return {**body, "messages": named}


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a body."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places_of(inner, (*path, key))


def replaced(body: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A body with this value at that place."""
    changed: dict[str, Any] = json.loads(json.dumps(body))
    *parents, last = path
    place: Any = changed
    for key in parents:
        place = place[key]
    place[last] = value
    return changed
