"""How processes are called, and what the operating system knows of them."""

import os
import socket
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import getnode, uuid4

# Made here, not on first use: that may be in several threads at once.
WORD = uuid4().hex[:8]


def process_name() -> str:
    """Name this process: where process ids are its own, its id, a random word, and when it began if that is known."""
    return _name(os.getpid())


@cache
def _name(pid: int) -> str:
    stat = _stat(pid)
    return f"{_place()}/{pid}/{WORD}{f'.{stat.begun}' if stat else ''}"


@cache
def _place() -> str:
    """Where a process id means one process. A host's name says little: containers may share one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        # A Linux that hides this may be one of several containers: nobody can look at its
        # processes.
        return WORD if sys.platform == "linux" else f"{socket.gethostname()[:150]}:{getnode():x}"


class _Stat(NamedTuple):
    state: str
    begun: str
    """In ticks since the host was started: tells a process from an earlier one with its id."""


def _stat(pid: int) -> _Stat | None:
    """Ask Linux about a process; None if that can't be known."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):
            return None  # What is mounted there shows other processes' ids
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return None
    return _Stat(fields[0], fields[19])


def is_there(process: str) -> bool | None:
    """Whether the operating system knows a process, by its name; None if it can't be asked, or can't be sure."""
    if process == process_name():
        return True
    head, _, word = process.rpartition("/")
    place, _, pid = head.rpartition("/")
    if place != _place() or os.name != "posix":  # Elsewhere the question would end the process
        return None
    if int(pid) == os.getpid():
        return False  # An earlier process had the id of this one
    begun = word.partition(".")[2]
    if stat := _stat(int(pid)):
        if stat.state in "ZX" or (begun and begun != stat.begun):
            return False
        return True if begun else None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return None
