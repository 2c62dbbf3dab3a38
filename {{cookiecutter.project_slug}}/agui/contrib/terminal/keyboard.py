"""Lines that are typed, or that come through a pipe."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Neither is there on Windows. With readline, lines can be edited, and earlier ones come back with
# the arrow keys.
try:
    import readline
    import termios
except ImportError:
    HAS_TERMINAL = False
else:
    HAS_TERMINAL = True

STOP = "/stop"


class Keyboard:
    """Standard input. Its end, or Ctrl-D, is an EOFError, and Ctrl-C a KeyboardInterrupt."""

    def __init__(self) -> None:
        self.is_person = sys.stdin.isatty()
        self._is_terminal = self.is_person and HAS_TERMINAL
        self._typed: deque[str] = deque()
        if self._is_terminal:
            readline.set_auto_history(False)

    def message(self, prompt: str) -> str:
        """A line that can be had again with the arrow keys; one that was typed too early comes first."""
        if self._typed:
            line = self._typed.popleft()
            print(f"{prompt}{line}")
        else:
            line = self._read(prompt)
        if line.strip() and self._is_terminal:
            readline.add_history(line)
        return line

    def answer(self, prompt: str, given: str = "") -> str:
        """The answer to a question: nothing that was typed before it was seen. `given` is there to be edited."""
        if self._is_terminal:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        return self._read(prompt, given)

    def _read(self, prompt: str, given: str = "") -> str:
        if not self.is_person:
            if line := sys.stdin.readline():
                return line.rstrip("\n")
            raise EOFError
        if not self._is_terminal:
            return input(prompt)
        readline.set_startup_hook(lambda: readline.insert_text(given))
        try:
            return input(prompt)
        finally:
            readline.set_startup_hook(None)

    @contextmanager
    def watched(self, stop: Callable[[], Any]) -> Iterator[None]:
        """Call `stop` for a /stop that is typed while an answer is written. Nothing that is typed is shown then.

        The terminal would show it where the answer is being drawn anew.
        """
        if not self._is_terminal:
            yield
            return
        terminal, loop = sys.stdin.fileno(), asyncio.get_running_loop()
        before = termios.tcgetattr(terminal)
        silent = [*before]
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, silent)
        loop.add_reader(terminal, self._take, terminal, stop)
        try:
            yield
        finally:
            loop.remove_reader(terminal)
            termios.tcsetattr(terminal, termios.TCSANOW, before)

    def _take(self, terminal: int, stop: Callable[[], Any]) -> None:
        """Take the lines that are there; one that is not finished stays the terminal's."""
        for line in os.read(terminal, 65536).decode(errors="replace").splitlines():
            if line.strip() == STOP:
                stop()
            else:
                self._typed.append(line)
