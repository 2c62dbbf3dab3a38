"""The files in messages: those that a client may send, and those that models and tools make.

The bytes of the latter are neither stored nor streamed. Words stand for them, or the id under which
a part keeps them.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any

from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel
from pydantic_ai import BinaryContent
from pydantic_ai.messages import (
    BaseToolReturnPart,
    FilePart,
    ModelMessage,
    TextPart,
    UserPromptPart,
)

from agui import conf, parts
from agui.agents.answer_pieces import words_for
from agui.errors import Unprocessable
from agui.protocol.types import Message

FileId = Callable[[BinaryContent], str]
"""Returns the id under which a part keeps a file; '' if none does."""


def check_files(messages: Iterable[Message]) -> None:
    """Refuse files that can't be read, and those that the server would read with its own rights.

    Such files are on its disk, in its buckets or at its provider. Raises Unprocessable.
    """
    for message in messages:
        content = getattr(message, "content", None)
        if not isinstance(content, list):
            continue
        for part in content:
            source = getattr(part, "source", None)
            if source is None:
                continue  # A text
            if not parts.take_files():
                raise Unprocessable(_("This agent takes no files."))
            if not _is_readable(source):
                schemes = ", ".join(conf.get().allowed_file_url_schemes)
                urls = f", or as a URL ({schemes})" if schemes else ""
                raise Unprocessable(f"A file can't be used: send it as base64 data{urls}.")


def _is_readable(source: Any) -> bool:
    if source.type == "data":
        try:
            return bool(base64.b64decode(source.value, validate=True))
        except ValueError:
            return False
    scheme = re.match(r"(.*?)://[^/]", source.value)
    if source.type != "url" or scheme is None:
        return False
    return scheme[1].lower() in conf.get().allowed_file_url_schemes


def without_bytes(
    messages: Sequence[ModelMessage], file_id: FileId | None = None
) -> list[ModelMessage]:
    """Replace each file that models and tools have made with a few words.

    Stored as base64, files would fill the database, and each turn would send them again, to models
    that may not take them. With `file_id` a model's file keeps its place, without its bytes.
    """
    plain = []
    for message in messages:
        parts: Any = [part_without_bytes(part, file_id) for part in message.parts]
        if not all(map(is_, parts, message.parts)):
            message = replace(message, parts=parts)
        plain.append(message)
    return plain


def part_without_bytes(part: Any, file_id: FileId | None = None) -> Any:
    """Replace the files in a part with words. A part without files is returned as it is."""
    if isinstance(part, FilePart):
        return _file_without_bytes(part, file_id)
    if isinstance(part, UserPromptPart):
        content = without_files(part.content, file_id=file_id)
        if content is not part.content:
            return replace(part, content=content)
    if isinstance(part, BaseToolReturnPart):
        content = without_files(part.content, part.tool_name, file_id)
        # The model doesn't read metadata, so they name no way to read a file again.
        metadata = without_files(part.metadata)
        if content is not part.content or metadata is not part.metadata:
            return replace(part, content=content, metadata=metadata)
    return part


def _file_without_bytes(part: FilePart, file_id: FileId | None) -> Any:
    file = part.content
    if file_id is None:
        return TextPart(words_for(file))
    if not file.data:
        return part
    # Without an id it has one that no file has: the hash of no bytes.
    kept_as = file_id(file) or None
    return replace(part, content=type(file)(b"", media_type=file.media_type, identifier=kept_as))


def files_in(value: Any) -> Iterator[BinaryContent]:
    """Yield the files in a tool's result, at any depth."""
    if isinstance(value, BinaryContent):
        yield value
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from files_in(item)
    elif named := _fields(value):
        yield from files_in(list(named.values()))


def without_files(value: Any, tool_name: str = "", file_id: FileId | None = None) -> Any:
    """Replace bytes with words, at any depth. A value without bytes is returned as it is."""
    try:
        return _plain(value, lambda file: _words(file, tool_name, file_id))
    except RecursionError:
        # The value contains itself. The code that stores it reports that.
        return value


def _plain(value: Any, words: FileId) -> Any:
    if isinstance(value, BinaryContent):
        return words(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value)} bytes, not kept]"
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain(item, words) for item in value]
        if all(map(is_, items, value)):
            return value
        return items
    named = _fields(value)
    if named is None:
        return value
    plain = {name: _plain(item, words) for name, item in named.items()}
    if all(map(is_, plain.values(), named.values())):
        return value
    return plain


def _fields(value: Any) -> dict[Any, Any] | None:
    """Return the values of a mapping or a record by name; None if it is neither."""
    if isinstance(value, Mapping | BaseModel):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return None


def _words(file: BinaryContent, tool_name: str, file_id: FileId | None) -> str:
    """Describe a file, and how the model can read it again, if a part knows a way."""
    kept_as = file_id(file) if file_id else ""
    way = f"kept as {kept_as}" if kept_as else "not kept"
    if tool_name:
        for part in parts.installed():
            read_again = part.read_again(tool_name, file.identifier)
            if read_again:
                way = read_again
                break
    return f"[{file.media_type}, {len(file.data)} bytes, {way}]"
