"""A child process that converts one file. Whatever a file does to it, the server goes on."""

import json
import os
import subprocess
import sys

from agui.contrib.office.conf import OfficeSettings

DAMAGED = "The file can't be read: it is damaged, or not what it seems to be."
TOO_LARGE = "The file can't be read: its content is too large."
TOO_SLOW = "The file can't be read: that takes too long."

# With -I, the child has none of the variables and folders from which Python loads code.
START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from agui.contrib.office.convert import main
main(sys.argv[2], json.loads(sys.argv[3]))
"""


class Refused(Exception):
    """A file has no text. The sentence is for the model, the reason for the log."""

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason


def convert(media_type: str, data: bytes, settings: OfficeSettings) -> str:
    """Return the text of a file. Raises Refused."""
    path = [os.path.abspath(folder) for folder in sys.path]
    limits = {
        "memory_bytes": settings.max_memory_bytes,
        "seconds": settings.timeout_seconds,
    }
    command = [sys.executable, "-I", "-c", START, json.dumps(path), media_type, json.dumps(limits)]
    try:
        child = subprocess.run(  # noqa: S603 - Python itself
            command,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=settings.timeout_seconds,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        raise Refused(TOO_SLOW, f"it took {settings.timeout_seconds:g} s") from None
    try:
        answer = json.loads(child.stdout)
    except ValueError:
        # The system has killed it, or a library written in C has given up.
        raise Refused(TOO_LARGE, f"the child ended with {child.returncode}") from None
    if "text" in answer:
        text: str = answer["text"]
        return text
    sentence = TOO_LARGE if answer["too_large"] else DAMAGED
    raise Refused(sentence, answer["reason"])


def _environment() -> dict[str, str]:
    """Return what a process needs on Windows. The child gets no secrets of the server."""
    kept = ("SYSTEMROOT", "TEMP", "TMP")
    return {name: os.environ[name] for name in kept if name in os.environ}
