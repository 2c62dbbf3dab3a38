"""The names of processes, and what the operating system knows about them."""

import os
import socket
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import getnode, uuid4

# The word is made here, because several threads at once may be the first to use it.
WORD = uuid4().hex[:8]


def process_name() -> str:
    """Name this process: its id space, its id, a random word, and if Linux knows it, its start."""
    return _name(os.getpid())


@cache
def _name(pid: int) -> str:
    name = f"{_id_space()}/{pid}/{WORD}"
    stat = _stat(pid)
    return f"{name}.{stat.begun}" if stat else name


@cache
def _id_space() -> str:
    """Name the space in which a process id belongs to one process: a host, or a container.

    The name of the host is not enough, because containers may share one.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        if sys.platform == "linux":
            # This may be one of several containers, so nobody can ask about its processes.
            return WORD
        return f"{socket.gethostname()[:150]}:{getnode():x}"


class _Stat(NamedTuple):
    state: str
    begun: str
    """In ticks since the host started. It distinguishes processes that had the same id."""


def _stat(pid: int) -> _Stat | None:
    """Ask Linux about a process; None if Linux does not answer."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return None  # What is mounted at /proc shows ids of another id space.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return None
    return _Stat(fields[0], fields[19])


def process_exists(process: str) -> bool | None:
    """Whether the operating system knows the process with this name; None if that is uncertain."""
    if process == process_name():
        return True
    head, _, word = process.rpartition("/")
    id_space, _, pid = head.rpartition("/")
    # On Windows, `os.kill` would end the process.
    if id_space != _id_space() or os.name != "posix":
        return None
    if int(pid) == os.getpid():
        return False  # An earlier process had the id of this one.
    begun = word.partition(".")[2]
    stat = _stat(int(pid))
    if stat is not None:
        if stat.state in "ZX" or (begun and begun != stat.begun):
            return False
        return bool(begun) or None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return None
