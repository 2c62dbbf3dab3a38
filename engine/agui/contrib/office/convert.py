"""What the child process does: it sets its limits, and writes the text of one file as JSON."""

import json
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from typing import Any

from agui.contrib.office import kinds

MAX_ENTRIES = 5000
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_TEXT_CHARACTERS = 5_000_000
CUT = "\n\n[The file goes on. This is as much of it as can be read.]"
CHUNK_BYTES = 64 * 1024

# Each module is imported for its kind alone: the libraries are large.
READERS = {
    kinds.DOCX: "word",
    kinds.ODT: "opendocument",
    kinds.ODP: "opendocument",
    kinds.PPTX: "slides",
    kinds.XLSX: "sheets",
    kinds.ODS: "sheets",
    kinds.XLS: "sheets",
    kinds.MAIL: "mail",
}
# A file becomes a text without the network and without other programs.
FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.system", "os.posix_spawn", "os.fork")


class TooLarge(Exception):
    """The content of a file exceeds a limit."""


def main(media_type: str, limits: dict[str, Any]) -> None:
    data = sys.stdin.buffer.read()
    limit_process(**limits)
    json.dump(answer(media_type, data), sys.stdout)


def limit_process(memory_bytes: int, seconds: float) -> None:
    """Limit what this process may use, where the system can, and what it may do."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
    }
    for limit, most in limits.items():
        with suppress(ValueError, OSError):  # macOS refuses the limit on memory
            resource.setrlimit(limit, (most, most))


def answer(media_type: str, data: bytes) -> dict[str, Any]:
    """Return the text of a file, or why it has none."""
    try:
        reader = import_module(f"agui.contrib.office.{READERS[media_type]}")
        sys.addaudithook(forbid)
        if data.startswith(kinds.ZIP):
            check_archive(data)
        read: Callable[[bytes, str], str] = reader.read
        text = read(data, media_type).strip()
    except (MemoryError, RecursionError, TooLarge) as error:
        return {"too_large": True, "reason": repr(error)}
    except Exception as error:
        return {"too_large": False, "reason": repr(error)[:1000]}
    if len(text) > MAX_TEXT_CHARACTERS:
        text = text[:MAX_TEXT_CHARACTERS] + CUT
    return {"text": text}


def forbid(event: str, arguments: Any) -> None:
    if event.startswith(FORBIDDEN):
        raise PermissionError(event)


def check_archive(data: bytes) -> None:
    """Unpack every entry, and count: what an archive says of its entries may be wrong."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise TooLarge(f"{len(entries)} entries")
        unpacked = 0
        for entry in entries:
            with archive.open(entry) as file:
                while chunk := file.read(CHUNK_BYTES):
                    unpacked += len(chunk)
                    if unpacked > MAX_UNPACKED_BYTES:
                        raise TooLarge(f"more than {MAX_UNPACKED_BYTES} bytes unpacked")
