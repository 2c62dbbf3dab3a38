"""One user's talk with an agent, generated from a seed, and what may never become of messages that wait.

The language model stops at every point at which something can happen. The driver of a talk then sends, edits, moves and
takes back messages, cancels the run, kills a process, or lets the run go on, fail, call a tool, ask or end. At each
request to the model, with each answer of the server, and when nothing runs, each message has to be where it belongs.
When they are read, and in which order, is for the engine's test_queue_schedules.py.
"""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

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
# What a client can do at any time.
CHANGES = {"post": 12, "cancel": 1, "send_now": 1, "read_queue": 1}
CHANGES_OF_ONE = {"edit": 4, "move": 3, "take_back": 3, "post_again": 2}


@dataclass
class Sent:
    """What a client knows of a message."""

    id: str
    mode: str
    text: str
    status: str = "unknown"
    """'accepted', 'refused' or 'taken back', as the server has said."""
    maybe: set[str] = field(default_factory=set)
    """The texts of edits of which the client does not know whether they came in time."""
    read: str = ""
    """Its text as the model has read it."""
    is_read: bool = False
    """Whether the server has said that it was read."""


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
        self.is_paused = False
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
        for key, text in zip(ids[known:], point.prompts[known:], strict=True):
            if key not in self.sent:
                self.mistake(f"nobody has sent {text!r}")
                continue
            self.sent[key].read = text
            if self.sent[key].status in ("refused", "taken back"):
                self.mistake(f"{self.sent[key].status}, and read: {self.sent[key]}")
        self.prompts = point.prompts

    # --- The client

    async def fetch(self, method: str, path: str, body: Any = None, process: int | None = None) -> tuple[int, Any]:
        """Send a request to a process that is there. Raises Lost."""
        process = self.chance.randrange(2) if process is None else process
        request = f"{method} {path} {body}"
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                try:
                    status, answer = await self.site.fetch(process, method, path, body)
                except ConnectionRefusedError:
                    status, answer = 503, None
                except Lost:
                    self.log.append(f"{request}: lost in process {process}")
                    raise
                if status != 503:
                    break
                # The process is not there, or about to end.
                process = 1 - process
                await asyncio.sleep(POLL_SECONDS)
        if status >= 500:
            self.mistake(f"{request}: {status} {answer}")
        if method != "GET":
            self.log.append(f"{request}: {status} {answer} from process {process}")
        return status, answer

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

    def new_message(self, mode: str, text: str) -> Sent:
        key = f"m{len(self.sent) + 1}"
        self.sent[key] = Sent(key, mode, f"{self.thread} {key} {text}")
        return self.sent[key]

    async def post(self) -> None:
        sent = self.new_message(self.chance.choice(["queue", "steer"]), "first")
        body: dict[str, Any] = {"message": message_of(sent, sent.text), "mode": sent.mode}
        if self.points and self.chance.random() < 0.2:
            run = (await self.read_queue())["run"]
            body["expected_run"] = run["run_id"] if run else "none"
        how = self.chance.random()
        if how < 0.2:  # At once to both.
            answers = await asyncio.gather(*(self.insist("POST", body=body, process=each) for each in range(2)))
        else:
            answers = [await self.insist("POST", body=body) for _ in range(2 if how < 0.3 else 1)]
        self.hear(sent, answers)

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

    async def post_again(self, sent: Sent) -> None:
        """Repeat a request whose answer was lost, as it seems to the client."""
        body = {"message": message_of(sent, sent.text), "mode": sent.mode}
        again = await self.insist("POST", body=body)
        self.hear(sent, [again])
        # Nothing else has changed the message meanwhile.
        if sent.status == "taken back" and again[2]["state"] != "taken_back":
            self.mistake(f"came back: {again}")

    async def edit(self, sent: Sent) -> None:
        text = f"{self.thread} {sent.id} edited-{self.chance.randrange(10**6)}"
        body: dict[str, Any] = {"message_id": sent.id, "message": message_of(sent, text)}
        if self.chance.random() < 0.3:
            body["mode"] = self.chance.choice(["queue", "steer"])
        was_lost, status, _ = await self.insist("PATCH", body=body)
        if status == 200:
            sent.text = text
        elif was_lost:
            sent.maybe.add(text)
        self.check_change(sent, "PATCH", status)

    async def move(self, sent: Sent) -> None:
        body = {"message_id": sent.id, "position": self.chance.randrange(3)}
        _, status, _ = await self.insist("PATCH", body=body)
        self.check_change(sent, "PATCH", status)

    async def take_back(self, sent: Sent) -> None:
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
        with suppress(Lost):
            await self.fetch("POST", f"/agent/threads/{self.thread}/cancel/")

    async def send_now(self) -> None:
        """Send what waits, which is refused while a run is active, and while a question is open."""
        points = [point for point in self.points if point.is_open]
        _, status, _ = await self.insist("POST", body={})
        if status == 202 and any(point.is_open for point in points):
            self.mistake("began a run beside another")
        if status not in (202, 404, 409):
            self.mistake(f"POST of nothing: {status}")

    async def change(self) -> None:
        """Do one of these, with one of the newest messages if it is about one."""
        weights = CHANGES | CHANGES_OF_ONE
        name = self.chance.choices([*weights], [*weights.values()])[0]
        known = [sent for sent in self.sent.values() if sent.mode != "plain"][-6:]
        if name in CHANGES:
            await getattr(self, name)()
        elif known:
            await getattr(self, name)(self.chance.choice(known))

    # --- An idle thread

    async def begin(self) -> None:
        """Say something to an idle thread, answer its questions, or send what waits."""
        state, how = await self.read_queue(), self.chance.random()
        if state["held"] == "paused" and how > 0.3:
            await self.resume()
        elif state["messages"] and how > 0.15:
            await self.send_now()
        else:
            await self.say()

    async def say(self, text: str = "plain") -> None:
        """Send a message as ever."""
        sent, was_paused = self.new_message("plain", text), self.is_paused
        status = await self.run(messages=[message_of(sent, sent.text)])
        # A run that begins while a question is open ends with an error.
        sent.status = {200: "unknown" if was_paused else "accepted", 0: "unknown"}.get(status, "refused")

    async def resume(self) -> None:
        answer = {"status": "resolved", "payload": {"approved": self.chance.random() < 0.5}}
        pending = (await self.read_thread())["pending"]
        if pending:
            await self.run(messages=[], resume=[{"interruptId": one["id"], **answer} for one in pending])

    async def run(self, **changes: Any) -> int:
        """Begin a run: the status of the answer, or 0."""
        self.is_paused = False
        with suppress(Lost):
            status, event = await self.fetch("POST", "/agent/", run_input("", threadId=self.thread, **changes))
            return 409 if status == 200 and event["type"] == "RUN_ERROR" else status
        return 0

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
        with suppress(TimeoutError):
            async with asyncio.timeout(HANG_SECONDS):
                while True:
                    self.changed.clear()
                    if self.points:
                        return min(self.points, key=lambda point: point.name)
                    state = await self.read_queue()
                    if not self.points and state["run"] is None:
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
                await self.send_now()
            elif not self.prompts or not self.prompts[-1].endswith(" last"):
                await self.say("last")
            else:
                break
        await self.check_rest()
        texts = contents(await self.read_thread(), "user")
        if texts != self.prompts and not self.mistakes:
            self.mistake(f"the thread has {texts}, and the model has read {self.prompts}")

    async def check_rest(self) -> None:
        """Compare what the server has with what a client may expect, while nothing changes."""
        before, thread, after = await self.read_queue(), await self.read_thread(), await self.read_queue()
        if before != after or after["run"] or self.points:
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
