"""The messages of a thread that wait until the agent reads them, as the client knows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

STEER = "steer"


@dataclass
class WaitingMessage:
    number: int
    """What the person calls it. It stays the same if another message is read or taken back."""
    message: dict[str, Any]
    mode: str

    @property
    def id(self) -> str:
        return str(self.message["id"])


class Waiting:
    """A list that follows the events and the answers of the server."""

    def __init__(self) -> None:
        self._messages: list[WaitingMessage] = []

    def __iter__(self) -> Iterator[WaitingMessage]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def find(self, number: int) -> WaitingMessage | None:
        for row in self._messages:
            if row.number == number:
                return row
        return None

    def replace(self, rows: Sequence[dict[str, Any]]) -> None:
        """Take over the server's list."""
        before = {row.id: row.number for row in self._messages}
        free = max(before.values(), default=0)
        self._messages = []
        for row in rows:
            number = before.get(row["message_id"])
            if number is None:
                free += 1
                number = free
            self._messages.append(WaitingMessage(number, row["message"], row["mode"]))

    def put(self, message: dict[str, Any], mode: str, position: int) -> None:
        """Add a message at a position, or change and move the one with its id."""
        number = max((row.number for row in self._messages), default=0) + 1
        for row in self._messages:
            if row.id == message["id"]:
                number = row.number
        self.remove(message["id"])
        self._messages.insert(position, WaitingMessage(number, message, mode))

    def remove(self, message_id: str) -> None:
        self._messages = [row for row in self._messages if row.id != message_id]


def with_text(message: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a message with another text, and with the files that it has."""
    content = message.get("content")
    if isinstance(content, list):
        files = [part for part in content if part.get("type") != "text"]
        if files:
            return {**message, "content": [{"type": "text", "text": text}, *files]}
    return {**message, "content": text}
