"""Generated talks against a model of the rules: no message is lost, none is read twice, the order is kept.

The model waits at every point at which something can happen. queue_talks.py plays the client, in one process or two.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from daily import by_day
from gates import Point
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from queue_talks import Talk

from agui.agents.hooks import serving
from agui.testing import read_frames
from tests.conftest import Client, played_by

pytestmark = pytest.mark.database

CALLS = {"tool": ["echo"], "tools": ["echo", "echo"], "ask": ["wipe"], "both": ["echo", "wipe"]}


class Site:
    """The processes of a talk; `processes` are two that share a Redis."""

    has_workers = False
    disturbances = 0

    def __init__(self, client: Client, seed: int, processes: Any = None) -> None:
        self.client, self.processes = client, processes
        self.talk = Talk(self, str(seed), messages=20, disturbing=0)
        self.calls = 0

    def pid(self, number: int) -> int:
        return number if self.processes else 0

    async def fetch(self, number: int, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Send a request to a process, and read no more than the first event of a run."""
        if self.processes:
            self.processes.here = self.processes.all[number]
        data = "" if body is None else json.dumps(body)
        response = await self.client.http.generic(method, path, data, content_type="application/json")
        if not response.streaming:
            return response.status_code, json.loads(response.content) if response.content else None
        async with aclosing(read_frames(response)) as frames:
            first = (await anext(frames)).event
        response.close()
        return response.status_code, first

    async def reach(self, name: str, prompts: Any = ()) -> str:
        log = serving.get().run.log
        number = self.processes.all.index(self.processes.owner(log)) if self.processes else 0
        point = Point(name, log.thread_id, log.key, number, list(prompts))
        self.talk.arrive(point)
        answer = await point.answer
        if answer == "fail":
            raise ModelHTTPError(503, "talk")
        return answer

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        parts = [part for message in messages for part in message.parts]
        choice = await self.reach("request", [part.content for part in parts if part.part_kind == "user-prompt"])
        if choice == "text":
            yield "Some "
            await self.reach("text")
            yield "text."
        for index, name in enumerate(CALLS.get(choice, ())):
            self.calls += 1
            arguments = '{"text": "a"}' if name == "echo" else "{}"
            yield {index: DeltaToolCall(name, arguments, tool_call_id=f"call-{self.calls}")}
        await self.reach("end")

    async def play(self) -> None:
        async with asyncio.timeout(240):
            with played_by(FunctionModel(stream_function=self.answer)):
                await self.talk.drive()
        assert not self.talk.mistakes, "\n".join([*self.talk.log, *self.talk.mistakes])
        assert any(sent.read for sent in self.talk.sent.values())


@pytest.mark.parametrize("seed", by_day(range(8), every=4))
async def test_no_message_is_lost_or_read_twice(client: Client, seed: int):
    await Site(client, seed).play()
