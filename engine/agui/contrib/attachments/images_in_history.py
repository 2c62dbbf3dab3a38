"""The images of earlier turns, read from their files when a model is sent a request.

A stored image has no bytes, and the id of its attachment as `identifier`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any
from uuid import UUID

from pydantic_ai.messages import (
    BinaryContent,
    BinaryImage,
    FilePart,
    ModelMessage,
    ModelRequest,
    TextPart,
    ToolReturnPart,
)

from agui import conf
from agui.agents.answer_pieces import words_for
from agui.blocking.executor import in_database
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.models import Attachment
from agui.contrib.attachments.references import MADE
from agui.stores.annotations import annotation

# The newest images that a model sees again may have this many bytes together.
MAX_BYTES = 20 * 1024 * 1024


def with_places(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """Put images of tools, without their bytes, behind the words that stand for them."""
    return [_with_places(message, annotation(message, MADE)) for message in messages]


def _with_places(message: ModelMessage, made: dict[str, Any] | None) -> ModelMessage:
    if not made or not isinstance(message, ModelRequest):
        return message
    parts: list[Any] = []
    part: Any
    for part in message.parts:
        files = made.get(part.tool_call_id) if isinstance(part, ToolReturnPart) else None
        if files:
            content = part.content if isinstance(part.content, list) else [part.content]
            places = [_place(file) for file in files]
            part = replace(part, content=[*content, *places])
        parts.append(part)
    return replace(message, parts=parts)


def _place(file: dict[str, Any]) -> BinaryImage:
    return BinaryImage(b"", media_type=file["media_type"], identifier=file["id"])


@dataclass
class ImagesInHistory:
    """Reads the images that an owner's threads have."""

    scope: str
    _read: dict[str, bytes] = field(default_factory=dict)
    """What was read already, by id; b"" for what is gone or too much."""

    async def filled(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Give the images their bytes: the newest ones, if there are many. The others are words."""
        wanted = list(dict.fromkeys(_ids(messages)))
        chosen = wanted[: conf.part(AttachmentsSettings).max_images]
        missing = [pk for pk in chosen if pk not in self._read]
        if missing:
            self._read.update(await in_database(self._load, missing))
        return [self._filled(message) for message in messages]

    def _load(self, ids: list[str]) -> dict[str, bytes]:
        read = dict.fromkeys(ids, b"")
        rows = Attachment.objects.filter(scope=self.scope).in_bulk([UUID(pk) for pk in ids])
        room = MAX_BYTES - sum(map(len, self._read.values()))
        for pk in ids:
            attachment = rows.get(UUID(pk))
            if attachment is None or attachment.size > room:
                continue
            try:
                with attachment.file.open("rb") as file:
                    read[pk] = file.read(attachment.size)
            except OSError:
                continue
            room -= len(read[pk])
        return read

    def _filled(self, message: ModelMessage) -> ModelMessage:
        parts: Any = [self._filled_part(part) for part in message.parts]
        if all(map(is_, parts, message.parts)):
            return message
        return replace(message, parts=parts)

    def _filled_part(self, part: Any) -> Any:
        if isinstance(part, FilePart) and not part.content.data:
            image = self._image(part.content)
            return replace(part, content=image) if image else TextPart(words_for(part.content))
        if not isinstance(part, ToolReturnPart) or not isinstance(part.content, list):
            return part
        content: list[Any] = []
        for item in part.content:
            if not is_place(item):
                content.append(item)
            elif image := self._image(item):
                content.append(image)
        if len(content) == len(part.content) and all(map(is_, content, part.content)):
            return part
        return replace(part, content=content[0] if len(content) == 1 else content)

    def _image(self, place: BinaryContent) -> BinaryContent | None:
        data = self._read.get(place.identifier, b"")
        if not data:
            return None
        return BinaryImage(data, media_type=place.media_type, identifier=place.identifier)


def is_place(item: Any) -> bool:
    return isinstance(item, BinaryContent) and not item.data


def _ids(messages: Sequence[ModelMessage]) -> Iterable[str]:
    """List the ids of all images without bytes, the newest first."""
    for message in reversed(messages):
        for part in reversed(message.parts):
            content = getattr(part, "content", None)
            items = content if isinstance(content, list) else [content]
            for item in reversed(items):
                if is_place(item) and _is_id(item.identifier):
                    yield item.identifier


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
