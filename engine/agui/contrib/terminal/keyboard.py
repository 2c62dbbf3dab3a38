"""Lines that are typed, or that come through a pipe."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from agui.contrib.terminal.typed_line import TypedLine

# Windows has neither. With readline, people can edit lines and recall earlier ones with the arrow
# keys.
try:
    import readline
    import termios
except ImportError:
    HAS_TERMINAL = False
else:
    HAS_TERMINAL = True


class Listener(Protocol):
    """Hears what is typed while an answer is written."""

    def hear(self, line: str, with_alt: bool) -> None: ...
    def show(self, unfinished: str) -> None: ...


class Keyboard:
    """Standard input. Its end, or Ctrl-D, is an EOFError, and Ctrl-C a KeyboardInterrupt."""

    def __init__(self) -> None:
        self.is_person = sys.stdin.isatty()
        self._is_terminal = self.is_person and HAS_TERMINAL
        self._typed: deque[str] = deque()
        self._line = TypedLine()
        if self._is_terminal:
            readline.set_auto_history(False)

    def message(self, prompt: str) -> str:
        """Read a message. Lines that were kept during the last answer come first.

        A line that was not finished then is there to edit. The arrow keys recall messages.
        """
        if self._typed:
            line = self._typed.popleft()
            print(f"{prompt}{line}")
        else:
            unfinished, self._line.text = self._line.text, ""
            line = self._read(prompt, unfinished)
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

    def keep(self, line: str) -> None:
        """Keep a line for the next prompt."""
        self._typed.append(line)

    @property
    def unfinished(self) -> str:
        """What was typed of the next line."""
        return self._line.text

    def begin_line(self, text: str) -> None:
        """Put a text into the line that is typed next, for the person to edit."""
        self._line.text = text

    @contextmanager
    def watched(self, listener: Listener) -> Iterator[None]:
        """Read the person's keys while an answer is written. The terminal itself shows nothing."""
        if not self._is_terminal:
            yield
            return
        terminal, loop = sys.stdin.fileno(), asyncio.get_running_loop()
        before = termios.tcgetattr(terminal)
        silent = [*before[:6], [*before[6]]]
        silent[3] &= ~(termios.ECHO | termios.ICANON)
        silent[6][termios.VMIN], silent[6][termios.VTIME] = 1, 0
        termios.tcsetattr(terminal, termios.TCSANOW, silent)
        loop.add_reader(terminal, self._read_keys, terminal, listener)
        try:
            yield
        finally:
            loop.remove_reader(terminal)
            termios.tcsetattr(terminal, termios.TCSANOW, before)

    def _read_keys(self, terminal: int, listener: Listener) -> None:
        for line, with_alt in self._line.read(os.read(terminal, 65536)):
            listener.hear(line, with_alt)
        listener.show(self._line.text)
