"""The requests by which a client sends messages while the agent works: queue.md of the manual."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agui.contrib.client import AGUIClient, AGUIConnectionError, AGUIError, AGUIStatusError
from agui.contrib.terminal.conversation import PROTOCOL_VERSION, Conversation
from agui.contrib.terminal.waiting import STEER, WaitingMessage

# The server begins the next run within a second, or says that it could not.
LOOKS, PAUSE_SECONDS = 20, 0.1


@dataclass(frozen=True)
class Stand:
    """What the server says about the thread of messages that wait."""

    run_id: str | None = None
    """The active run."""
    held: str = ""
    """How the last run has ended, if none is active."""
    refusal: str = ""
    """Why no run could begin."""

    @classmethod
    def from_answer(cls, answer: dict[str, Any]) -> "Stand":
        run, refusal = answer.get("run") or {}, answer.get("refusal") or {}
        return cls(run.get("run_id"), answer.get("held") or "", refusal.get("message", ""))


class MessageQueue:
    """The queue of an agent, if it has one. Its methods raise AGUIError."""

    def __init__(self, client: AGUIClient, tools: Sequence[dict[str, Any]] = ()) -> None:
        self._client = client
        self._tools = list(tools)
        self.modes: list[str] = []
        """What the agent allows; known after `find`."""
        self._is_known = False

    async def find(self) -> bool:
        """Return whether the agent has a queue. The first call asks it."""
        if not self._is_known:
            try:
                capabilities = await self._client.capabilities()
            except AGUIConnectionError:
                return False
            except AGUIError:
                capabilities = {}
            self._is_known = True
            match capabilities:
                case {"custom": {"queue": {"modes": [*modes]}}}:
                    self.modes = modes
        return bool(self.modes)

    async def load(self, conversation: Conversation) -> Stand:
        """Read which messages wait."""
        try:
            answer = await self._client.queue("GET", conversation.thread_id)
        except AGUIStatusError as error:
            if error.status != 404:
                raise
            answer = {"messages": []}  # The server does not know the thread yet.
        conversation.waiting.replace(answer["messages"])
        return Stand.from_answer(answer)

    async def add(self, conversation: Conversation, text: str, mode: str) -> Stand:
        """Send a message. The agent may allow one mode only."""
        if mode not in self.modes:
            mode = self.modes[0]
        message = {"id": str(uuid4()), "role": "user", "content": text}
        body = {
            "message": message,
            "mode": mode,
            "tools": self._tools,
            "protocolVersion": PROTOCOL_VERSION,
        }
        answer = await self._client.queue("POST", conversation.thread_id, body)
        if message["id"] not in conversation.read:
            # A run that this client has not followed yet may have read it.
            place = answer["position"]
            last = len(conversation.waiting)
            conversation.waiting.put(message, mode, last if place is None else place)
        return Stand.from_answer(answer)

    async def change(self, conversation: Conversation, row: WaitingMessage, **changes: Any) -> None:
        body = {"message_id": row.id, **changes}
        answer = await self._client.queue("PATCH", conversation.thread_id, body)
        conversation.waiting.put(answer["message"], answer["mode"], answer["position"] or 0)

    async def take_back(self, conversation: Conversation, row: WaitingMessage) -> None:
        await self._client.queue("DELETE", conversation.thread_id, {"message_id": row.id})
        conversation.waiting.remove(row.id)

    async def send(self, conversation: Conversation) -> Stand:
        """Begin a run with what waits, however the last one has ended."""
        body = {"tools": self._tools, "protocolVersion": PROTOCOL_VERSION}
        try:
            answer = await self._client.queue("POST", conversation.thread_id, body)
        except AGUIStatusError as error:
            # The run has begun by itself meanwhile.
            if error.code != "conflict":
                raise
            return await self.load(conversation)
        return Stand.from_answer(answer)

    async def settled(self, conversation: Conversation) -> Stand:
        """Read what waits, once it is certain whether the next run begins by itself."""
        for _ in range(LOOKS):
            stand = await self.load(conversation)
            # The server records the end of a run a moment after its last event.
            is_ending = stand.run_id is not None and stand.run_id == conversation.run_id
            is_beginning = stand.held == "finished" and len(conversation.waiting) > 0
            if not (is_ending or is_beginning):
                return stand
            await asyncio.sleep(PAUSE_SECONDS)
        return await self.send(conversation)


def choices(modes: Sequence[str]) -> str:
    """Say what the keys do with a line that is typed while an answer is written."""
    if not modes:
        return "Enter: after this answer"
    if list(modes) == [STEER]:
        return "Enter: at the next step"
    if STEER in modes:
        return "Enter: after this answer, Alt+Enter: at the next step"
    return "Enter: after this answer"
