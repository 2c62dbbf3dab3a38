"""Lines that are typed, or that come through a pipe."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Windows has neither. With readline, people can edit lines and recall earlier ones with the arrow
# keys.
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
        """Read a message. Lines that were typed during the last answer come first.

        The arrow keys recall messages.
        """
        if self._typed:
            line = self._typed.popleft()
            print(f"{prompt}{line}")
        else:
            line = self._read(prompt)
        if line.strip() and self._is_terminal:
            readline.add_history(line)
        return line

    def answer(self, prompt: str, given: str = "") -> str:
        """Read the answer to a question: lines that were typed before it don't count.

        `given` is a text to edit.
        """
        if self._is_terminal:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        return self._read(prompt, given)

    def _read(self, prompt: str, given: str = "") -> str:
        if not self.is_person:
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            return line.rstrip("\n")
        if not self._is_terminal:
            return input(prompt)
        readline.set_startup_hook(lambda: readline.insert_text(given))
        try:
            return input(prompt)
        finally:
            readline.set_startup_hook(None)

    @contextmanager
    def watched(self, stop: Callable[[], Any]) -> Iterator[None]:
        """Call `stop` if the person types /stop while an answer is written.

        The terminal shows nothing of what they type: it would be in the midst of the answer.
        """
        if not self._is_terminal:
            yield
            return
        terminal, loop = sys.stdin.fileno(), asyncio.get_running_loop()
        before = termios.tcgetattr(terminal)
        silent = [*before]
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, silent)
        loop.add_reader(terminal, self._read_lines, terminal, stop)
        try:
            yield
        finally:
            loop.remove_reader(terminal)
            termios.tcsetattr(terminal, termios.TCSANOW, before)

    def _read_lines(self, terminal: int, stop: Callable[[], Any]) -> None:
        """Read finished lines. The terminal keeps a line until it is finished."""
        for line in os.read(terminal, 65536).decode(errors="replace").splitlines():
            if line.strip() == STOP:
                stop()
            else:
                self._typed.append(line)
