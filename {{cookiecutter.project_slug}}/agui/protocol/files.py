"""The files in messages: those that a client may send, and words instead of those that tools make.

The latter are neither stored nor streamed.
"""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any

from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel
from pydantic_ai import BinaryContent
from pydantic_ai.messages import BaseToolReturnPart, ModelMessage, UserPromptPart

from agui import conf, parts
from agui.errors import Unprocessable
from agui.protocol.types import Message


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


def without_bytes(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Replace each file that tools have added with a few words.

    Stored as base64, files would fill the database, and each turn would send them again, to models
    that may not take them.
    """
    plain = []
    for message in messages:
        parts: Any = list(map(part_without_bytes, message.parts))
        if not all(map(is_, parts, message.parts)):
            message = replace(message, parts=parts)
        plain.append(message)
    return plain


def part_without_bytes(part: Any) -> Any:
    """Replace the files in a part with words. A part without files is returned as it is."""
    if isinstance(part, UserPromptPart):
        content = without_files(part.content)
        if content is not part.content:
            return replace(part, content=content)
    if isinstance(part, BaseToolReturnPart):
        content = without_files(part.content, part.tool_name)
        # The model doesn't read metadata, so they name no way to read a file again.
        metadata = without_files(part.metadata)
        if content is not part.content or metadata is not part.metadata:
            return replace(part, content=content, metadata=metadata)
    return part


def without_files(value: Any, tool_name: str = "") -> Any:
    """Replace bytes with words, at any depth. A value without bytes is returned as it is."""
    try:
        return _plain(value, tool_name)
    except RecursionError:
        # The value contains itself. The code that stores it reports that.
        return value


def _plain(value: Any, tool_name: str) -> Any:
    if isinstance(value, BinaryContent):
        return _words(value, tool_name)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value)} bytes, not kept]"
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain(item, tool_name) for item in value]
        if all(map(is_, items, value)):
            return value
        return items
    if isinstance(value, Mapping | BaseModel):
        named = dict(value)
    elif is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        return value
    plain = {name: _plain(item, tool_name) for name, item in named.items()}
    if all(map(is_, plain.values(), named.values())):
        return value
    return plain


def _words(file: BinaryContent, tool_name: str = "") -> str:
    """Describe a file, and how the model can read it again, if a part knows a way."""
    way = "not kept"
    if tool_name:
        for part in parts.installed():
            read_again = part.read_again(tool_name, file.identifier)
            if read_again:
                way = read_again
                break
    return f"[{file.media_type}, {len(file.data)} bytes, {way}]"
