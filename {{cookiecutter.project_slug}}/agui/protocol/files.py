"""Words in the place of files: what tools and models make of bytes is neither stored nor streamed."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any
from uuid import uuid4

from pydantic import BaseModel
from pydantic_ai import BinaryContent
from pydantic_ai.messages import (
    BaseToolReturnPart,
    FilePart,
    ModelMessage,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from agui import parts
from agui.stores.annotations import annotate, annotation


def without_bytes(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Put a few words in the place of each file that tools have added.

    Stored as base64, files would fill the database, and be sent again with each turn, to models
    that may not take them.
    """
    plain = []
    for message in messages:
        stored: Any = [part_without_bytes(part) for part in message.parts]
        plain.append(
            message if all(map(is_, stored, message.parts)) else replace(message, parts=stored)
        )
    return plain


def part_without_bytes(part: Any) -> Any:
    """The part with words in the place of files; itself if it holds none."""
    if isinstance(part, UserPromptPart):
        content = without_files(part.content)
        return part if content is part.content else replace(part, content=content)
    if isinstance(part, BaseToolReturnPart):
        content, metadata = (
            without_files(part.content, part.tool_name),
            without_files(part.metadata),
        )
        if content is not part.content or metadata is not part.metadata:
            return replace(part, content=content, metadata=metadata)
    return part


def without_drawings(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Put words in the place of each file that the model has made, once the messages have the ids
    that were streamed.

    A client was not sent the file, and reads its words later: they come last, under an id of their
    own.
    """
    plain: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse) and message.files:
            words = [TextPart(f"\n{_words(file)}\n") for file in message.files]
            others = [part for part in message.parts if not isinstance(part, FilePart)]
            message = replace(message, parts=[*others, *words])
            annotate(message, ids=[*(annotation(message, "ids") or ()), str(uuid4())])
        plain.append(message)
    return plain


def without_files(value: Any, tool_name: str = "") -> Any:
    """The value with words in the place of bytes, at any depth; itself if it holds none."""
    try:
        return _plain(value, tool_name)
    except RecursionError:
        return value  # A circle: whoever writes it down will say so


def _plain(value: Any, tool_name: str) -> Any:
    if isinstance(value, BinaryContent):
        return _words(value, tool_name)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value)} bytes, not kept]"
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain(item, tool_name) for item in value]
        return value if all(map(is_, items, value)) else items
    if isinstance(value, Mapping | BaseModel):
        named = dict(value)
    elif is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        return value
    plain = {name: _plain(item, tool_name) for name, item in named.items()}
    return value if all(map(is_, plain.values(), named.values())) else plain


def _words(file: BinaryContent, tool_name: str = "") -> str:
    ways = (part.read_again(tool_name, file.identifier) for part in parts.installed() if tool_name)
    return f"[{file.media_type}, {len(file.data)} bytes, {next(filter(None, ways), 'not kept')}]"
