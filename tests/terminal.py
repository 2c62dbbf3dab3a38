"""A program in a terminal: what it prints is read as it comes, and drawn on a screen as a terminal would."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WAIT_SECONDS = 90
# An escape sequence, its numbers and its letter; a control character; or text.
PIECES = re.compile(r"\x1b\[\??([\d;]*)([A-Za-z])|([\r\n\x08\x07])|([^\x1b\r\n\x08\x07]+)")
SEQUENCES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


@dataclass
class Screen:
    """The lines of a terminal, those that have left it at its top included."""

    columns: int
    rows: int
    lines: list[list[str]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0

    @property
    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip()

    def draw(self, output: str) -> None:
        """Obey what programs print that draw line by line; what is unknown is an error."""
        position = 0
        while position < len(output):
            piece = PIECES.match(output, position)
            assert piece, f"The screen doesn't know {output[position : position + 20]!r}"
            numbers, letter, control, text = piece.groups()
            position = piece.end()
            if letter:
                self._obey(letter, int(numbers.split(";")[0] or "0") if numbers else 0)
            elif text:
                for character in text:
                    self._put(character)
            elif control == "\n":
                self._move(self.row + 1)
            elif control == "\r":
                self.column = 0
            elif control == "\x08":
                self.column = max(0, self.column - 1)

    def _obey(self, letter: str, number: int) -> None:
        line = self.lines[self.row]
        match letter:
            case "A":
                top = max(0, len(self.lines) - self.rows)
                self.row = max(top, self.row - (number or 1))
            case "C":
                self.column += number or 1
            case "D":
                self.column = max(0, self.column - (number or 1))
            case "K":
                del line[0 if number == 2 else self.column :]
            case "m" | "h" | "l":
                pass  # Colours, and whether the cursor is seen
            case _:
                raise AssertionError(f"The screen doesn't know the sequence {letter!r}")

    def _put(self, character: str) -> None:
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self.column + width > self.columns:
            self.column = 0
            self._move(self.row + 1)
        line = self.lines[self.row]
        line.extend(" " * (self.column - len(line)))
        line[self.column : self.column + width] = [character] + [""] * (width - 1)
        self.column += width

    def _move(self, row: int) -> None:
        self.row = row
        while len(self.lines) <= row:
            self.lines.append([])


class Terminal:
    """A running program, its keyboard and its screen."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int, columns: int, rows: int) -> None:
        self.process, self._descriptor = process, descriptor
        self.screen = Screen(columns, rows)
        self.output = ""
        """What was printed, without colours and movements."""
        self._unread = b""
        self._seen = 0

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C at a prompt until the program reacts: a signal that comes before it reads waits for a key."""
        for _ in range(30):
            self.type("\x03")
            if select.select([self._descriptor], [], [], 3)[0]:
                return
        raise AssertionError(f"Ctrl-C did nothing:\n{self.screen.text}")

    def wait_for(self, text: str) -> None:
        """Read until the program has printed this, after what was waited for last."""
        deadline = time.monotonic() + WAIT_SECONDS
        while (at := self.output.find(text, self._seen)) < 0:
            assert time.monotonic() < deadline, f"No {text!r} in:\n{self.screen.text}"
            assert self._read(), f"The program ended without {text!r}:\n{self.screen.text}"
        self._seen = at + len(text)

    def wait_for_end(self) -> int:
        """Read until the program ends; what it exits with."""
        while self._read():
            pass
        return self.process.wait(timeout=WAIT_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], WAIT_SECONDS)
        assert ready, f"Nothing was printed for {WAIT_SECONDS} s:\n{self.screen.text}"
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # What Linux says at the end
            return False
        self._unread += data
        try:
            text = self._unread.decode()
        except UnicodeDecodeError:
            return True  # The rest of a character is on its way
        if data and (cut := re.search(r"\x1b(\[[\d;?]*)?$", text)):
            text, self._unread = text[: cut.start()], text[cut.start() :].encode()
        else:
            self._unread = b""
        self.output += SEQUENCES.sub("", text)
        self.screen.draw(text)
        return bool(data)


@contextmanager
def terminal(
    command: Sequence[str | Path], directory: Path, environment: dict[str, str], columns: int = 80, rows: int = 24
) -> Iterator[Terminal]:
    """Start a program in a terminal of its own, and end it with the block."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        ["setsid", "--ctty", *command],
        cwd=directory,
        env=environment | {"TERM": "xterm", "COLUMNS": str(columns), "LINES": str(rows)},
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    try:
        yield Terminal(process, ours, columns, rows)
    finally:
        os.close(ours)  # The program is told, as by a window that is closed
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
