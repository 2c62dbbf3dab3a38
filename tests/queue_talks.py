"""One user's talk with an agent, generated from a seed, and a model of the rules for messages that wait.

The language model stops at every point at which something can happen. The driver of a talk then sends, edits, moves and
takes back messages, cancels the run, kills a process, or lets the run go on, fail, call a tool, ask or end. The rules
are checked at each request to the model, with each answer of the server, and when nothing runs.
"""

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from gates import Lost, Point
from servers import HANG_SECONDS, contents, run_input

POLL_SECONDS = 0.1
# How often a process is ended at a point.
DISTURBING = 0.03
# What a point may be answered, and how often.
STEPS = {
    "request": {"text": 6, "tool": 5, "tools": 2, "ask": 2, "both": 2, "fail": 1},
    "text": {"go on": 9, "fail": 1},
    "tool": {"go on": 1},
    "end": {"go on": 1},
}
# The answers after which a run ends, but not well.
SPOILING = ("fail", "ask", "both")
# What a client can do at any time.
CHANGES = {"post": 12, "cancel": 1, "send_now": 1, "read_queue": 1}
CHANGES_OF_ONE = {"edit": 4, "move": 3, "take_back": 3, "post_again": 2}


@dataclass
class Due:
    """The run that has to read a message before its next request, and what must not have come between."""

    run: str
    disturbances: int
    spoilt: int


@dataclass
class Sent:
    """What a client knows of a message."""

    id: str
    mode: str
    text: str
    number: int
    is_raced: bool = False
    is_moved: bool = False
    """Whether it was moved or got another mode."""
    status: str = "unknown"
    """'accepted', 'refused' or 'taken back', as the server has said."""
    maybe: set[str] = field(default_factory=set)
    """The texts of edits of which the client does not know whether they came in time."""
    due: Due | None = None
    read: str = ""
    """Its text as the model has read it."""
    is_read: bool = False
    """Whether the server has said that it was read."""
    editing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Talk:
    """One thread, and what happens in it. `site` has the processes (test_queue_killed.py)."""

    def __init__(self, site: Any, seed: str, messages: int) -> None:
        self.site, self.messages = site, messages
        self.chance = random.Random(seed)  # noqa: S311 # not a secret
        self.thread = f"talk-{seed}"
        self.sent: dict[str, Sent] = {}
        self.prompts: list[str] = []
        """The user's words in the last request to the model."""
        self.points: set[Point] = set()
        self.changed = asyncio.Event()
        self.racing: set[asyncio.Task[Any]] = set()
        self.is_paused = False
        self.spoilt = 0
        """How often something has happened after which a run may end without another request."""
        self.calm = -1
        """The disturbances when a point was released last."""
        self.next: tuple[int, list[str]] = (0, [])
        """The ids with which the next run has to begin, and the disturbances when it was asked for."""
        self.log: list[str] = []
        self.mistakes: list[str] = []

    def mistake(self, text: str) -> None:
        self.mistakes.append(f"{self.thread}: {text}")
        self.log.append(f"MISTAKE: {text}")

    # --- The language model

    def arrive(self, point: Point) -> None:
        self.log.append(f"{point.name} of run {point.run[:8]} in {point.pid}: {ids_of(point.prompts)}")
        if point.name == "request":
            self.check_request(point)
        self.points.add(point)
        point.answer.add_done_callback(lambda _: self.leave(point))
        self.changed.set()

    def leave(self, point: Point) -> None:
        self.points.discard(point)
        self.changed.set()

    def release(self, point: Point, answer: str) -> None:
        self.log.append(f"-> {answer}")
        if answer in SPOILING:
            self.spoilt += 1
        self.calm = self.site.disturbances
        self.points.discard(point)
        point.release(answer)

    def check_request(self, point: Point) -> None:
        ids = ids_of(point.prompts)
        known = len(self.prompts)
        if point.prompts[:known] != self.prompts:
            self.mistake(f"read were {self.prompts}, and now {point.prompts}")
        if len(ids) != len(set(ids)):
            self.mistake(f"read twice: {ids}")
        if self.is_paused:
            self.mistake(f"read instead of an answer: {ids[known:]}")
        for text in point.prompts[known:]:
            self.check_new(point, text)
        calm, following = self.next
        # Before them may be messages whose runs have ended before a request.
        if self.is_calm_since(calm) and [each for each in ids[known:] if each in following] != following:
            self.mistake(f"began with {ids[known:]}, not with {following}")
        self.next = (0, [])
        for sent in self.sent.values():
            if sent.due and sent.due.run == point.run and not sent.read and self.is_undisturbed(sent.due):
                self.mistake(f"not read in its run: {sent}")
        self.prompts = point.prompts

    def check_new(self, point: Point, text: str) -> None:
        sent = self.sent.get(ids_of([text])[0])
        if sent is None:
            self.mistake(f"nobody has sent {text!r}")
            return
        sent.read = text
        if sent.status in ("refused", "taken back"):
            self.mistake(f"{sent.status}, and read: {sent}")
        if sent.due and sent.due.run != point.run and self.is_undisturbed(sent.due):
            self.mistake(f"read after its run: {sent}")

    def is_undisturbed(self, due: Due) -> bool:
        return self.is_calm_since(due.disturbances) and due.spoilt == self.spoilt

    def is_calm_since(self, disturbances: int) -> bool:
        """Whether all processes have been there since that number: a run of one that ends is cut short."""
        return disturbances == self.site.disturbances and disturbances % 2 == 0

    # --- The client

    async def fetch(self, method: str, path: str, body: Any = None, process: int | None = None) -> tuple[int, Any]:
        """Send a request to a process that is there. Raises Lost."""
        process = self.chance.randrange(2) if process is None else process
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            try:
                status, answer = await self.site.fetch(process, method, path, body)
            except ConnectionRefusedError:
                status, answer = 503, None
            except Lost:
                self.log.append(f"{method} {path} {body}: lost in process {process}")
                raise
            if status == 503:
                # The process is not there, or about to end.
                process = 1 - process
                await asyncio.sleep(POLL_SECONDS)
                continue
            if status >= 500:
                self.mistake(f"{method} {path} {body}: {status} {answer}")
            if method != "GET":
                self.log.append(f"{method} {path} {body}: {status} {answer} from process {process}")
            return status, answer
        raise AssertionError(f"{method} {path} {body}: nobody answers")

    async def insist(self, method: str, query: str = "", body: Any = None, process: int | None = None):
        """Send a request that may be sent again until it is answered: whether an answer was lost, and the answer."""
        path, was_lost = f"/agent/threads/{self.thread}/messages/{query}", False
        while True:
            with suppress(Lost):
                return was_lost, *await self.fetch(method, path, body, process)
            was_lost = True

    async def read_queue(self) -> dict[str, Any]:
        _, status, answer = await self.insist("GET")
        return answer if status == 200 else {"messages": [], "run": None, "held": None}

    async def read_thread(self) -> dict[str, Any]:
        while True:
            with suppress(Lost):
                status, answer = await self.fetch("GET", f"/agent/threads/{self.thread}/")
                return answer if status == 200 else {"messages": [], "pending": []}

    async def post(self, *, is_raced: bool = False) -> None:
        number = sum(sent.mode != "plain" for sent in self.sent.values()) + 1
        mode = self.chance.choice(["queue", "steer"])
        sent = Sent(f"m{number}", mode, f"{self.thread} m{number} first", number, is_raced)
        self.sent[sent.id] = sent
        body: dict[str, Any] = {"message": message_of(sent, sent.text), "mode": mode}
        if self.points and self.chance.random() < 0.2:
            run = (await self.read_queue())["run"]
            body["expected_run"] = run["run_id"] if run else "none"
        before = set(self.points)
        process = self.chance.randrange(2)
        how = self.chance.random()
        if how < 0.2:  # At once to both.
            answers = await asyncio.gather(*(self.insist("POST", body=body, process=each) for each in range(2)))
        else:
            answers = [await self.insist("POST", body=body, process=process)]
            if how < 0.3:
                answers.append(await self.insist("POST", body=body))
        self.hear(sent, answers)
        if len(answers) == 1 and not is_raced and not answers[0][0]:
            self.expect(sent, answers[0][2], before, process)

    def hear(self, sent: Sent, answers: list[tuple[bool, int, Any]]) -> None:
        """Learn from the answers of requests with the same message."""
        statuses = {status for _, status, _ in answers}
        if 202 in statuses:
            sent.status = "taken back" if sent.status == "taken back" else "accepted"
        elif statuses == {409} and {answer["error"] for *_, answer in answers} <= {"queue_full", "run_changed"}:
            if sent.status == "unknown":
                sent.status = "refused"
                if sent.read:
                    self.mistake(f"read, and refused: {sent}")
        else:
            self.mistake(f"POST: {answers}")
        for _, status, answer in answers:
            if status == 202 and answer["message_id"] != sent.id:
                self.mistake(f"another message was answered: {answer}")

    def expect(self, sent: Sent, answer: Any, before: set[Point], process: int) -> None:
        """A steered message is read before the next request of the run that waits at a point all the time.

        Without workers, the run must be in the process that has answered: others tell it a little later.
        """
        points = [point for point in before if point.is_open]
        is_waiting = sent.status == "accepted" and answer["state"] == "waiting" and answer["run"]
        is_steered = is_waiting and sent.mode == "steer" and not sent.is_moved
        if points and is_steered and (self.site.workers or points[0].pid == self.site.pid(process)):
            sent.due = Due(points[0].run, self.site.disturbances, self.spoilt)

    async def post_again(self, sent: Sent) -> None:
        """Repeat a request whose answer was lost, as it seems to the client."""
        body = {"message": message_of(sent, sent.text), "mode": sent.mode}
        again = await self.insist("POST", body=body)
        self.hear(sent, [again])
        # Nothing else has changed the message meanwhile.
        if sent.status == "taken back" and again[2]["state"] != "taken_back":
            self.mistake(f"came back: {again}")

    async def edit(self, sent: Sent) -> None:
        sent.due = None
        text = f"{self.thread} {sent.id} edited-{self.chance.randrange(10**6)}"
        body: dict[str, Any] = {"message_id": sent.id, "message": message_of(sent, text)}
        if self.chance.random() < 0.3:
            body["mode"] = self.chance.choice(["queue", "steer"])
            sent.is_moved = True
        was_lost, status, _ = await self.insist("PATCH", body=body)
        if status == 200:
            sent.text = text
        elif was_lost:
            sent.maybe.add(text)
        self.check_change(sent, "PATCH", status)

    async def move(self, sent: Sent) -> None:
        sent.is_moved = True
        body = {"message_id": sent.id, "position": self.chance.randrange(3)}
        _, status, _ = await self.insist("PATCH", body=body)
        self.check_change(sent, "PATCH", status)

    async def take_back(self, sent: Sent) -> None:
        sent.due = None
        _, status, _ = await self.insist("DELETE", f"?message_id={sent.id}")
        if status == 204:
            sent.status = "taken back"
            if sent.read:
                self.mistake(f"read, and taken back: {sent}")
        self.check_change(sent, "DELETE", status)

    def check_change(self, sent: Sent, method: str, status: int) -> None:
        good = 204 if method == "DELETE" else 200
        if status == 404 and sent.status == "accepted":
            self.mistake(f"{method} did not find {sent}")
        elif status == 409 and sent.status in ("refused", "taken back"):
            self.mistake(f"{method} says that it was read: {sent}")
        elif status == 409:
            sent.is_read = True
        elif status == 200 and sent.status in ("refused", "taken back"):
            self.mistake(f"{method} has changed {sent}")
        elif status not in (good, 404, 409):
            self.mistake(f"{method}: {status}")

    async def cancel(self) -> None:
        self.spoilt += 1
        with suppress(Lost):
            await self.fetch("POST", f"/agent/threads/{self.thread}/cancel/")
        self.spoilt += 1

    async def send_now(self) -> None:
        """Send what waits, which is refused while a run is active, and while a question is open."""
        points = [point for point in self.points if point.is_open]
        _, status, _ = await self.insist("POST", body={})
        if status == 202 and any(point.is_open for point in points):
            self.mistake("began a run beside another")
        if status not in (202, 404, 409):
            self.mistake(f"POST of nothing: {status}")

    async def change(self) -> None:
        """Do one of these, or begin it beside what comes next."""
        weights = CHANGES | CHANGES_OF_ONE
        name = self.chance.choices([*weights], [*weights.values()])[0]
        is_raced = self.chance.random() < 0.25
        if name == "post":
            change = self.post(is_raced=is_raced)
        else:
            change = self.change_one(name) if name in CHANGES_OF_ONE else getattr(self, name)()
        if is_raced:
            task = asyncio.create_task(change)
            self.racing.add(task)
            task.add_done_callback(self.end_race)
        else:
            await change

    async def change_one(self, name: str) -> None:
        """Change one of the newest messages."""
        known = [sent for sent in self.sent.values() if sent.mode != "plain"]
        if known:
            sent = self.chance.choice(known[-6:])
            async with sent.editing:
                await getattr(self, name)(sent)

    def end_race(self, task: "asyncio.Task[Any]") -> None:
        self.racing.discard(task)
        self.changed.set()
        if task.exception():
            self.mistake(f"{task.exception()!r}")

    # --- An idle thread

    async def begin(self) -> None:
        """Say something to an idle thread, answer its questions, or send what waits."""
        state = await self.read_queue()
        if state["held"] == "paused":
            how = self.chance.random()
            if how < 0.15:
                _, status, _ = await self.insist("POST", body={})
                if status != 409:
                    self.mistake(f"sent beside a question: {status}")
            elif how < 0.3:
                await self.say()
            else:
                await self.resume()
        elif state["messages"] and self.chance.random() < 0.6:
            await self.send_what_waits(state)
        else:
            await self.say()

    async def send_what_waits(self, state: dict[str, Any]) -> None:
        calm = self.site.disturbances
        self.next = (calm, [row["message_id"] for row in state["messages"]])
        was_lost, status, answer = await self.insist("POST", body={})
        if was_lost or status != 202 or answer["refusal"]:
            self.next = (0, [])

    async def say(self, text: str = "plain") -> None:
        """Send a message as ever."""
        number = len(self.sent) + 1
        sent = Sent(f"p{number}", "plain", f"{self.thread} p{number} {text}", number)
        self.sent[sent.id] = sent
        was_paused = self.is_paused
        status = await self.run({"messages": [message_of(sent, sent.text)]})
        # A run that begins while a question is open ends with an error.
        sent.status = {200: "unknown" if was_paused else "accepted", 0: "unknown"}.get(status, "refused")

    async def resume(self) -> None:
        approved = self.chance.random() < 0.5
        resume = []
        for interrupt in (await self.read_thread())["pending"]:
            resume.append({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": approved}})
        if resume:
            await self.run({"messages": [], "resume": resume})

    async def run(self, changes: dict[str, Any]) -> int:
        """Begin a run: the status of the answer, or 0."""
        self.is_paused = False
        self.spoilt += 1  # The new run may stop one that nobody reads.
        body = run_input("", threadId=self.thread, runId=str(uuid4()), **changes)
        status = 0
        with suppress(Lost):
            status, event = await self.fetch("POST", "/agent/", body)
            if status == 200 and event["type"] == "RUN_ERROR":
                return 409
        return status

    # --- The driver

    async def drive(self) -> None:
        while len(self.sent) < self.messages and not self.mistakes:
            point = await self.next_point()
            if self.chance.random() < DISTURBING:
                await self.site.disturb(self.chance, point)
            if point is None:
                await self.check_rest()
                if self.chance.random() < 0.3:
                    await self.change()
                else:
                    await self.begin()
                continue
            while self.chance.random() < 0.5:
                await self.change()
            steps = STEPS[point.name]
            self.release(point, self.chance.choices([*steps], [*steps.values()])[0])
        await self.finish()

    async def next_point(self) -> Point | None:
        """Wait until a process is at a point; None if nothing runs."""
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            self.changed.clear()
            if self.points:
                return min(self.points, key=lambda point: point.name)
            if not self.racing:
                state = await self.read_queue()
                is_calm = self.is_calm_since(self.calm)
                is_about_to_begin = state["held"] == "finished" and state["messages"] and is_calm
                if not self.points and not self.racing and state["run"] is None and not is_about_to_begin:
                    self.is_paused = state["held"] == "paused"
                    return None
            with suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), POLL_SECONDS)
        self.mistake(f"nothing happens: {await self.read_queue()}")
        raise AssertionError("\n".join([*self.log[-40:], *self.mistakes]))

    async def finish(self) -> None:
        """Let everything end well, send what waits, and have the model read the thread once more."""
        while not self.mistakes:
            point = await self.next_point()
            if point:
                self.release(point, "text" if point.name == "request" else "go on")
                continue
            state = await self.read_queue()
            if state["held"] == "paused":
                await self.resume()
            elif state["messages"]:
                await self.send_what_waits(state)
            elif not self.prompts or not self.prompts[-1].endswith(" last"):
                await self.say("last")
            else:
                break
        await self.check_rest()
        texts = contents(await self.read_thread(), "user")
        if texts != self.prompts and not self.mistakes:
            self.mistake(f"the thread has {texts}, and the model has read {self.prompts}")
        queued = [self.sent[each] for each in ids_of(self.prompts)]
        numbers = [sent.number for sent in queued if sent.mode == "queue" and not sent.is_moved and not sent.is_raced]
        if numbers != sorted(numbers):
            self.mistake(f"out of order: {ids_of(self.prompts)}")

    async def check_rest(self) -> None:
        """Compare what the server has with what a client may expect, while nothing changes."""
        before, thread, after = await self.read_queue(), await self.read_thread(), await self.read_queue()
        if before != after or after["run"] or self.points or self.racing:
            return
        texts = contents(thread, "user")
        if len(set(ids_of(texts))) != len(texts):
            self.mistake(f"twice in the thread: {texts}")
        stored = dict(zip(ids_of(texts), texts, strict=True))
        waiting = {row["message_id"]: row["message"]["content"] for row in after["messages"]}
        for sent in self.sent.values():
            self.check_place(sent, stored.get(sent.id), waiting.get(sent.id))

    def check_place(self, sent: Sent, stored: str | None, waiting: str | None) -> None:
        places = [place for place in (stored, waiting, sent.status == "taken back") if place]
        least, most = {"accepted": (1, 1), "taken back": (1, 1), "refused": (0, 0), "unknown": (0, 1)}[sent.status]
        if not least <= len(places) <= most:
            self.mistake(f"in {len(places)} places: {stored!r} {waiting!r} {sent}")
        if sent.is_read and not stored:
            self.mistake(f"not in the thread, and the server said that it was read: {sent}")
        if sent.read and stored != sent.read:
            self.mistake(f"the model has read {sent.read!r}, and the thread has {stored!r}")
        text = stored or waiting
        if text and text != sent.text and text not in sent.maybe:
            self.mistake(f"{text!r} is not what was sent last: {sent}")


def message_of(sent: Sent, text: str) -> dict[str, str]:
    return {"id": sent.id, "role": "user", "content": text}


def ids_of(texts: list[str]) -> list[str]:
    return [text.split()[1] for text in texts]
