"""A run as a client reads it, while its server may be stopped, killed and started again."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Event
from typing import Any

from servers import Client, text_of, wait_until

ENDS = ("RUN_FINISHED", "RUN_ERROR")


@dataclass
class Reading:
    """What one client has got of a run, over all its connections: each frame as it came."""

    thread_id: str
    frames: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    begun: Event = field(default_factory=Event)
    """It has some text."""
    reader: Future[int] | None = None
    """Read in the background, one reader at a time."""

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for _, event in self.frames]

    @property
    def last(self) -> dict[str, Any]:
        return self.frames[-1][1]

    @property
    def has_ended(self) -> bool:
        return bool(self.frames) and self.last["type"] in ENDS

    @property
    def text(self) -> str:
        return text_of(self.events)

    def start(self, pool: ThreadPoolExecutor, client: Client, body: Any = None) -> None:
        """Read in the background."""
        self.reader = pool.submit(self.read, client, body)

    def read(self, client: Client, body: Any = None) -> int:
        """Send a body, or read on from the last frame, as far as the connection lasts: the status of the answer."""
        resumed = {"Last-Event-ID": self.frames[-1][0]} if self.frames else {}
        path = f"/agent/threads/{self.thread_id}/events/" if body is None else "/agent/"
        try:
            with client.open("GET" if body is None else "POST", path, body, resumed) as response:
                if response.status == 200:
                    self._take(response)
                return response.status
        except (OSError, HTTPException, json.JSONDecodeError):
            return 0

    def _take(self, response: Any) -> None:
        frame_id = ""
        while (line := response.readline()).endswith(b"\n"):
            if line.startswith(b"id:"):
                frame_id = line[3:].strip().decode()
            elif line.startswith(b"data:"):
                self.frames.append((frame_id, json.loads(line[5:])))
                if self.last["type"] == "TEXT_MESSAGE_CONTENT":
                    self.begun.set()

    def read_to_the_end(self, client: Client, body: Any = None, **limits: float) -> "Reading":
        """Ask, and follow again and again until the run has ended."""
        if self.reader:
            self.reader.result()

        def ends() -> bool:
            status = self.read(client, None if self.frames else body)
            assert status != 204 or not self.frames, self.thread_id
            return self.has_ended

        if not self.has_ended:
            wait_until(ends, failure_message=lambda: (self.thread_id, self.frames[-1:]), **limits)
        self.check()
        return self

    def check(self) -> None:
        """No event is missing, none is there twice, and nothing comes after the end."""
        numbers = [int(frame_id.rpartition(":")[2]) for frame_id, _ in self.frames]
        if self.last["type"] == "RUN_ERROR":
            # Its process may have sent what nobody else had heard of: the end's number is then another.
            numbers = numbers[:-1]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len({frame_id.rpartition(":")[0] for frame_id, _ in self.frames}) == 1
        assert sum(event["type"] in ENDS for event in self.events) == 1
