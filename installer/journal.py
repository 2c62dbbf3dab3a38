"""Write files all or none, even if the process is killed: a journal keeps what they were before."""

import hashlib
import json
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from installer.errors import Refusal, Unfinished

JOURNAL = ".agui.unfinished.json"
"""It is beside manage.py while a project is changed."""


@contextmanager
def all_or_none(code: Path, files: Mapping[Path, bytes | None]) -> Iterator[None]:
    """Write the files (None deletes one), and keep them unless the block raises an exception."""
    before = {path: _read(path) for path in files}
    changed = [path for path in files if files[path] != before[path]]
    for path in changed:
        if files[path] is not None and path.exists() and not os.access(path, os.W_OK):
            raise Refusal(f"{path} is read-only: make it writable first.")
    rows = {}
    for path in changed:
        rows[os.path.relpath(path, code)] = [_encode(before[path]), _digest(files[path])]
    try:
        # The journal holds the settings, which others may not be allowed to read.
        write_whole(code / JOURNAL, json.dumps(rows).encode(), mode=0o600)
        for path in changed:
            _put(path, files[path])
        yield
    except BaseException:
        roll_back(code)
        raise
    (code / JOURNAL).unlink()


def roll_back(code: Path) -> bool:
    """Take back the changes of a run that did not finish; whether there was one.

    Raises Unfinished if that would lose what the user has changed since then.
    """
    _beside(code / JOURNAL).unlink(missing_ok=True)
    if not (code / JOURNAL).exists():
        return False
    rows = json.loads((code / JOURNAL).read_text())
    before = {}
    for name, (encoded, digest) in rows.items():
        path = Path(os.path.normpath(code / name))
        before[path] = None if encoded is None else b64decode(encoded)
        present = _read(path)
        if present not in (None, before[path]) and _digest(present) != digest:
            raise Unfinished(
                f"The installer was interrupted, and {path} was changed since then: move it "
                "elsewhere, and run the installer again."
            )
    for path, contents in before.items():
        _beside(path).unlink(missing_ok=True)
        _put(path, contents)
    (code / JOURNAL).unlink()
    return True


def wait_for_others(code: Path) -> None:
    """Wait until no other installer changes the project. The lock ends with the process."""
    with suppress(ImportError, OSError):  # Windows and some file systems have no such locks.
        import fcntl

        fcntl.flock(os.open(code, os.O_RDONLY), fcntl.LOCK_EX)


def write_whole(path: Path, contents: bytes, mode: int = 0o666) -> None:
    """Write a file completely, or not at all. A link stays one, and a file keeps its mode."""
    beside = _beside(path)
    beside.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(beside, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if path.exists():
                shutil.copymode(path, beside)
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path.resolve())
        _sync(beside.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    """Where a file is written before it is renamed."""
    path = path.resolve()
    return path.with_name(f".{path.name}.agui-new")


def _sync(folder: Path) -> None:
    """Let the names in a folder outlive a loss of power."""
    with suppress(OSError):  # Windows opens no folders.
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put(path: Path, contents: bytes | None) -> None:
    if contents is None:
        path.unlink(missing_ok=True)
        _remove_empty(path.parent)
    elif contents != _read(path):
        write_whole(path, contents)


def _remove_empty(folder: Path) -> None:
    """Remove a folder that has no files but compiled ones, and then the one around it."""
    while not folder.exists() or set(os.listdir(folder)) <= {"__pycache__"}:
        if folder.is_symlink():
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder = folder.parent


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _encode(contents: bytes | None) -> str | None:
    return None if contents is None else b64encode(contents).decode()


def _digest(contents: bytes | None) -> str | None:
    return None if contents is None else hashlib.sha256(contents).hexdigest()
