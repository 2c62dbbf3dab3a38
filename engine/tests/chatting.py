"""`manage.py chat` in the process of a test, and the lines that come through its pipe."""

import sys

from django.core.management import CommandError, call_command


def chat(*arguments: str) -> int:
    """Run the command; what it exits with."""
    try:
        call_command("chat", *arguments)
    except SystemExit as done:
        return int(done.code or 0)
    except CommandError as error:
        print(error, file=sys.stderr)
        return error.returncode
    return 0


class Lines:
    """What comes through the pipe. A function is called where its line is read: it answers the line, or raises."""

    def __init__(self, lines):
        self.lines = list(lines)

    def readline(self) -> str:
        if not self.lines:
            return ""
        line = self.lines.pop(0)
        return f"{line() if callable(line) else line}\n"

    def read(self) -> str:
        return "".join(iter(self.readline, ""))

    def isatty(self) -> bool:
        return False
