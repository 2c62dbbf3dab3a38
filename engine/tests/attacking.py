"""The step `attack` of a transcript: a body that no good client sends.

It is refused and changes nothing, or it is read and nothing of what was said before is lost.
"""

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import uuid4

from agui.testing import say
from tests.comparing import compare
from tests.judging import Judge, Mistake, Reply

LEAKS = ("hunter2", "Traceback", ".py", "Error(")
# Whatever a step takes, a run has no failure of ours.
TAKEN_OR_REFUSED = r"4(00|13|15|22) |(?!internal_error)[a-z]"
USER = {"role": "user", "content": "hunter2"}
numbers = count()


class Attacks(Judge):
    """Sends bodies of any kind."""

    async def post(self, by: str, data: Any, step: dict[str, Any]) -> Reply:
        raise NotImplementedError

    def check_reply(self, reply: Reply, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def resolved(self, resume: Any) -> Any:
        raise NotImplementedError

    async def do_attack(self, change: Any, by: str, step: dict[str, Any]) -> Reply:
        """Add a change to a good body, or send this text."""
        self.model.always = say("Yes.")
        if "everywhere" not in step:
            return await self.attack(change, by, step)
        reply = Reply()
        whole = with_ids(change)
        for path in places_of(whole):
            if ".".join(map(str, path)).startswith(step.get("at", "")):
                for value in step["everywhere"]:
                    reply = await self.attack(replaced(whole, path, value), by, step)
        return reply

    async def attack(self, change: Any, by: str, step: dict[str, Any]) -> Reply:
        body = change
        if isinstance(change, dict):
            body = {"threadId": "t1", "runId": str(uuid4()), "protocolVersion": "1.0", "messages": [USER]} | change
            body = with_ids(body | {"resume": self.resolved(body["resume"])} if "resume" in body else body)
        before = await self.kept(by)
        reply = await self.try_body(by, body, step, step.get("ends", "..."))
        after = await self.kept(by)
        said = before["messages"]
        if reply.status == 200 and reply.ended == "success":
            self.compare(said, after["messages"][: len(said)])
        elif before != after:
            raise Mistake(f"{before} has become {after}")
        if "anew" in step:
            thread = f"anew {next(numbers)}"
            await self.try_body(by, {**body, "threadId": thread}, step, step["anew"])
            await self.try_body(by, {**with_ids({"messages": [USER]}), "threadId": thread, "runId": "r"}, {}, "success")
            await self.http("GET", f"threads/{thread}/", by, {})
        return reply

    async def kept(self, by: str) -> Any:
        return (await self.http("GET", "threads/t1/", by, {})).json

    async def try_body(self, by: str, body: Any, step: dict[str, Any], ends: Any) -> Reply:
        """Post a body, and read the answer as strictly as can be."""
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        if "raw" in step:
            data = data.replace('"@"', step["raw"])
        reply = await self.post(by, data, step)
        if leaks := [leak for leak in LEAKS if leak in reply.raw.decode()]:
            raise Mistake(f"{leaks} in {reply.raw.decode()[:2000]}")
        if reply.status == 200:
            self.check_reply(reply, body if isinstance(body, dict) else {})
            ended = reply.ended
        else:
            self.compare({"error": "...", "message": "..."}, reply.json)
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
