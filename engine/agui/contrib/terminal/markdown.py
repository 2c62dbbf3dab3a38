"""Markdown while it arrives: finished blocks are printed, the last one is drawn again and again."""

import asyncio
from itertools import pairwise

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from agui.contrib.terminal.footer import Footer
from agui.contrib.terminal.printable import printable

REDRAW_SECONDS = 0.08
# This is rich's own parser, except that it shows HTML as text: rich leaves it out.
PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


class MarkdownStream:
    """One text of the agent. Open it with the first delta, close it after the last."""

    def __init__(self, console: Console, style: str = "", footer: Footer | None = None) -> None:
        self._console = console
        self._style = style
        self._footer = footer or Footer()
        self._rest = ""
        self._is_first = True
        self._live = Live(
            console=console,
            get_renderable=self._unfinished,
            auto_refresh=False,  # Rich would print from another thread, between our lines.
            transient=True,
        )
        self._live.start()
        self._redraw: asyncio.TimerHandle | None = None

    def add(self, delta: str) -> None:
        """Add the next words, and print the blocks that can't change: another one has begun."""
        self._rest += printable(delta)
        if "\n" in delta:
            *finished, self._rest = split_blocks(self._rest)
            for block in finished:
                self._print(block)
        if self._redraw is None:
            self._redraw = asyncio.get_running_loop().call_later(REDRAW_SECONDS, self._draw)

    def close(self) -> None:
        if self._redraw:
            self._redraw.cancel()
        self._live.stop()
        self._print(self._rest)
        self._rest = ""

    def _draw(self) -> None:
        self._redraw = None
        self.refresh()

    def refresh(self) -> None:
        self._live.refresh()

    def _unfinished(self) -> Group:
        block = Block(self._rest, self._style, tail=True, below=self._footer.height)
        return Group(block, self._footer)

    def _print(self, block: str) -> None:
        if block.strip():
            if not self._is_first:
                self._console.print()
            self._is_first = False
            self._console.print(Block(block, self._style))


def split_blocks(text: str) -> list[str]:
    """Cut a text before each top-level block. An unfinished line may still belong to the last."""
    complete = text[: text.rfind("\n") + 1]
    starts = []
    for token in PARSER.parse(complete):
        if token.level == 0 and token.map and token.nesting >= 0:
            starts.append(token.map[0])
    lines = text.splitlines(keepends=True)
    bounds = [0, *starts[1:], len(lines)]
    return ["".join(lines[begin:end]) for begin, end in pairwise(bounds)]


class Block:
    """A text as Markdown, without empty lines around it.

    `tail` shows only the last lines: those beyond the top of the screen can't be drawn again. So
    many lines are `below` it.
    """

    def __init__(self, text: str, style: str = "", *, tail: bool = False, below: int = 0) -> None:
        # The text of a hyperlink could hide its address, so there are none.
        self._markdown = Markdown("", hyperlinks=False, style=style)
        self._markdown.parsed = PARSER.parse(text)
        self._tail = tail
        self._below = below

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._markdown, options, pad=False)
        while lines and is_empty(lines[0]):
            del lines[0]
        while lines and is_empty(lines[-1]):
            del lines[-1]
        if self._tail:
            height = max(1, console.height - 2 - self._below)
            lines = lines[-height:]
        for line in lines:
            yield from without_padding(line)
            yield Segment.line()


def without_padding(line: list[Segment]) -> list[Segment]:
    """Remove the spaces at a line's end, which people don't want to copy.

    Spaces with a background stay.
    """
    *others, last = line or [Segment("")]
    if last.style and last.style.bgcolor:
        return line
    text = last.text.rstrip(" ")
    if text:
        return [*others, last._replace(text=text)]
    return without_padding(others) if others else []


def is_empty(line: list[Segment]) -> bool:
    return not any(segment.text.strip() for segment in line)
