"""What other parts can read: more kinds of files, which become texts."""

from collections.abc import Mapping
from typing import Any

from agui import parts
from agui.errors import UnsupportedMediaType


class Encrypted(UnsupportedMediaType):
    """Refuses a file that only a password opens."""

    code = "encrypted_file"
    message = "This file is protected with a password. Remove the password and send it again."


class FileReader:
    """What the AppConfig of such a part also is."""

    def kinds(self) -> Mapping[str, str]:
        """Return the media types that users may upload, with what users call them."""
        raise NotImplementedError

    def media_type_of(self, file: Any, head: bytes) -> str | None:
        """Find out the type of a file, of which `head` is the beginning; None if it is no such.

        Raises Encrypted.
        """
        raise NotImplementedError

    def text_of(self, key: str, media_type: str, data: bytes) -> str:
        """Return the text of a file. The key is always of the same content. Raises ToolFailed.

        It is called off the event loop.
        """
        raise NotImplementedError


def readers() -> list[FileReader]:
    return [part for part in parts.installed() if isinstance(part, FileReader)]


def kinds() -> dict[str, str]:
    """Return the media types that all readers accept, with what users call them."""
    named: dict[str, str] = {}
    for reader in readers():
        named.update(reader.kinds())
    return named


def media_type_of(file: Any, head: bytes) -> str | None:
    """Return the type of a file that one of the readers accepts. Raises Encrypted."""
    for reader in readers():
        media_type = reader.media_type_of(file, head)
        if media_type in reader.kinds():
            return media_type
    return None


def reader_of(media_type: str) -> FileReader | None:
    """Return the reader of a type, which may be accepted no longer."""
    return next((reader for reader in readers() if media_type in reader.kinds()), None)
