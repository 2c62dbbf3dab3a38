"""Generated schedules against a model of the rules: no message is lost, none is read twice, the order is kept.

The language model waits at every point at which something can happen. A driver then posts, edits, moves and takes back
messages, cancels the run, or lets it go on, fail, call a tool, ask or end.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from daily import by_day
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agui.contrib.queue import next_run
from agui.contrib.queue.models import QueuedMessage
from agui.runs.live import live
from tests.conftest import Client, body_of, played_by, run_input

pytestmark = pytest.mark.database

SEEDS = range(8)
STEPS = 100


@dataclass
class Sent:
    """What a client knows of a message."""

    id: str
    mode: str
    text: str
    number: int
    moved: bool = False
    raced: bool = False
    taken_back: bool = False
    said: set[str] = field(default_factory=set)
    """The texts that the server may have: those of requests whose answers came too late to be in order."""
    run: int = 0
    """The run during which it was steered; 0 if none was on."""


class Schedule:
    """One thread, and what happens in it."""

    def __init__(self, client: Client, seed: int, processes: Any = None) -> None:
        self.processes = processes
        self.client, self.chance = client, random.Random(seed)  # noqa: S311
        self.thread = f"schedule-{seed}"
        self.path = f"/agent/threads/{self.thread}/messages/"
        self.sent: dict[str, Sent] = {}
        self.plain: list[str] = []
        self.points: asyncio.Queue[tuple[asyncio.Future[str], tuple[str, ...]]] = asyncio.Queue()
        self.racing: set[asyncio.Task[Any]] = set()
        self.readers: list[asyncio.Task[Any]] = []
        self.mistakes: list[str] = []
        self.log: list[str] = []
        self.run = 0
        self.count = 0

    # --- The language model

    async def point(self, *choices: str) -> str:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await self.points.put((future, choices))
        return await future

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.check_request(messages)
        if await self.point(*["go on"] * 12, "fail") == "fail":
            raise ModelHTTPError(503, "schedule")
        choice = await self.point("text", "text", "text", "tool", "tool", "tools", "ask", "both")
        number = self.count = self.count + 1
        self.log.append(f"the model answers with {choice}")
        if choice == "text":
            yield "Some "
            if await self.point(*["go on"] * 12, "fail") == "fail":
                raise ModelHTTPError(503, "schedule")
            yield f"text {number}."
            await self.point("go on")
            return
        calls = {"tool": 1, "tools": 2, "ask": 0, "both": 1}[choice]
        for index in range(calls):
            text = json.dumps({"text": f"result {number}"})
            yield {index: DeltaToolCall("echo", text, tool_call_id=f"call-{number}-{index}")}
        if choice in ("ask", "both"):
            yield {calls: DeltaToolCall("wipe", "{}", tool_call_id=f"wipe-{number}")}
        await self.point("go on")

    def check_request(self, messages: list[ModelMessage]) -> None:
        parts = [part for message in messages for part in message.parts]
        ids = [str(part.content).partition(":")[0] for part in parts if isinstance(part, UserPromptPart)]
        if len(ids) != len(set(ids)):
            self.mistakes.append(f"read twice: {ids}")
        for sent in self.sent.values():
            is_due = sent.mode == "steer" and sent.run == self.run and not sent.raced and not sent.taken_back
            if is_due and sent.id not in ids:
                self.mistakes.append(f"{sent.id} was not steered: {ids}")
            if sent.taken_back and sent.id in ids:
                self.mistakes.append(f"{sent.id} was taken back, and read")

    # --- The client

    async def request(self, method: str, body: Any = None, query: str = "") -> tuple[int, Any]:
        data = "" if body is None else json.dumps(body)
        is_elsewhere = self.processes and self.chance.random() < 0.5
        with self.processes.elsewhere() if is_elsewhere else nullcontext():
            response = await self.client.http.generic(method, self.path + query, data, content_type="application/json")
        content = json.loads(response.content) if response.content else None
        self.log.append(f"{method} {data or query}: {response.status_code} {content}")
        return response.status_code, content

    async def post(self, *, raced: bool = False) -> None:
        number = len(self.sent) + 1
        mode = self.chance.choice(["queue", "steer"])
        sent = self.sent[f"m{number}"] = Sent(f"m{number}", mode, f"m{number}: first", number, raced=raced, run=-1)
        for _ in range(2 if self.chance.random() < 0.3 else 1):
            await self.send(sent)

    async def send(self, sent: Sent) -> None:
        body = {"message": {"id": sent.id, "role": "user", "content": sent.text}, "mode": sent.mode}
        status, answer = await self.request("POST", body)
        if status == 409 and answer["error"] == "queue_full":
            sent.taken_back = True  # As if it had never been sent.
        elif status == 202 and answer["state"] == "waiting":
            sent.taken_back = False  # The first request was refused.
        if status not in (202, 409):
            self.mistakes.append(f"POST: {status} {answer}")
        elif status == 202 and answer["run"] and answer["state"] == "waiting" and live.tasks and not self.processes:
            # From another process, the run hears of it a little later.
            sent.run = self.run

    async def edit(self, sent: Sent, *, raced: bool = False) -> None:
        text = f"{sent.id}: edited {self.chance.random()}"
        sent.said |= {sent.text, text}
        sent.raced |= raced
        body: dict[str, Any] = {"message_id": sent.id, "message": {"id": sent.id, "role": "user", "content": text}}
        status, answer = await self.request("PATCH", body)
        if status == 200:
            sent.text = text
        elif status not in (404, 409):
            self.mistakes.append(f"PATCH: {status} {answer}")
        if not raced and not sent.raced:
            sent.said = {sent.text}

    async def move(self, sent: Sent, *, raced: bool = False) -> None:
        sent.moved = True
        await self.request("PATCH", {"message_id": sent.id, "position": self.chance.randrange(3)})

    async def take_back(self, sent: Sent, *, raced: bool = False) -> None:
        sent.raced |= raced
        status, _ = await self.request("DELETE", query=f"?message_id={sent.id}")
        if status == 204:
            sent.taken_back = True

    async def cancel(self, *, raced: bool = False) -> None:
        self.log.append("cancel")
        await self.client.http.post(f"/agent/threads/{self.thread}/cancel/")

    async def look(self, *, raced: bool = False) -> None:
        await self.request("GET")

    async def change(self) -> None:
        """Do something that a client can do at any time, perhaps with one of the newest messages."""
        known = [sent for sent in self.sent.values() if not sent.taken_back][-6:]
        changes = [self.post] * 12 + [self.cancel, self.look]
        if known:
            sent = self.chance.choice(known)
            for count, one in ((3, self.edit), (2, self.move), (3, self.take_back)):
                changes += [partial(one, sent)] * count
        change: Any = self.chance.choice(changes)
        if self.chance.random() < 0.25:
            task = asyncio.create_task(change(raced=True))
            self.racing.add(task)
            task.add_done_callback(self.racing.discard)
        else:
            await change()

    async def begin(self) -> None:
        """Say something to an idle thread, answer its questions, or send what waits."""
        pending = (await self.client.thread(self.thread))["pending"] if self.plain else []
        if pending and self.chance.random() < 0.8:
            answer = {"status": "resolved", "payload": {"approved": self.chance.random() < 0.5}}
            self.log.append(f"resume: {answer}")
            body = run_input(thread=self.thread, resume=[{"interruptId": one["id"], **answer} for one in pending])
        elif self.plain and self.chance.random() < 0.5:
            await self.request("POST", {})
            return
        else:
            self.plain.append(f"p{len(self.plain)}")
            message = {"id": self.plain[-1], "role": "user", "content": f"{self.plain[-1]}: plain"}
            self.log.append(f"plain {self.plain[-1]}")
            body = run_input(thread=self.thread, messages=[message])
        self.run += 1
        response = await self.client.post(body)
        if response.status_code != 200:
            self.log.append(f"refused: {response.status_code} {response.content}")
            return
        self.readers.append(asyncio.create_task(body_of(response)))

    # --- The driver

    async def drive(self) -> None:
        for _ in range(STEPS):
            point = await self.next_point()
            if point is None:
                await self.check_rest()
                if self.chance.random() < 0.3:
                    await self.change()
                else:
                    await self.begin()
                continue
            while self.chance.random() < 0.4:
                await self.change()
            future, choices = point
            if not future.done():
                future.set_result(self.chance.choice(choices))
        while point := await self.next_point():
            point[0].set_result(point[1][0])
        await self.check_rest()

    async def next_point(self) -> Any:
        """Wait until the model is at a point; None if nothing runs."""
        while True:
            while not self.points.empty():
                point = self.points.get_nowait()
                if not point[0].done():
                    return point
            if not live.tasks and not next_run._tasks and not self.racing:
                return None
            await asyncio.sleep(0.001)

    async def check_rest(self) -> None:
        """Compare what the server has with what a client may expect, while nothing runs."""
        if not self.sent and not self.plain:
            return
        _, queue = await self.request("GET")
        waiting = {row["message_id"]: row for row in queue["messages"]}
        if waiting and queue["held"] in (None, "finished"):
            self.mistakes.append(f"forgotten after a good end: {list(waiting)}")
        response = await self.client.get(f"threads/{self.thread}/")
        thread = json.loads(response.content)["messages"] if response.status_code == 200 else []
        lines = [(message["id"], message["content"]) for message in thread if message["role"] == "user"]
        texts = dict(lines)
        if len(texts) != len(lines) or any(text.partition(":")[0] != key for key, text in lines):
            self.mistakes.append(f"twice in the thread, or with other ids: {lines}")
        for sent in self.sent.values():
            self.check(sent, texts.get(sent.id), waiting.get(sent.id))
        order = [self.sent[key] for key in texts if key in self.sent]
        numbers = [one.number for one in order if one.mode == "queue" and not one.moved and not one.raced]
        if numbers != sorted(numbers):
            self.mistakes.append(f"out of order: {list(texts)}")

    def check(self, sent: Sent, text: str | None, row: Any) -> None:
        places = [place for place in (text, row, sent.taken_back or None) if place]
        if len(places) != 1:
            self.mistakes.append(f"{sent} is in {len(places)} places: {text!r} {row}")
        has = text or (row and row["message"]["content"])
        if has and has != sent.text and has not in sent.said:
            self.mistakes.append(f"{sent} is {has!r}")


async def play(client: Client, seed: int, processes: Any = None) -> None:
    schedule = Schedule(client, seed, processes)
    async with asyncio.timeout(240):
        with played_by(FunctionModel(stream_function=schedule.answer)):
            await schedule.drive()
    assert not schedule.mistakes, "\n".join([*schedule.log, *schedule.mistakes])
    assert await QueuedMessage.objects.filter(state="read").acount() > 0


@pytest.mark.parametrize("seed", by_day(SEEDS, every=4))
async def test_no_message_is_lost_or_read_twice(client: Client, seed: int):
    await play(client, seed)
