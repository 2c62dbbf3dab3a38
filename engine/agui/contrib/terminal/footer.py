"""What stands below an answer while it is written: the messages that wait, and the line typed."""

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from agui.contrib.terminal.printable import one_line
from agui.contrib.terminal.waiting import STEER, Waiting, WaitingMessage

MAX_ROWS = 5


class Footer:
    """Drawn again with each change, below the part of the answer that is drawn again."""

    def __init__(self) -> None:
        self.is_open = False
        self.waiting = Waiting()
        self.line = ""
        """What the person has typed of a line."""
        self.choices = ""
        """What they can do with it."""

    @property
    def height(self) -> int:
        if not self.is_open:
            return 0
        rows = min(len(self.waiting), MAX_ROWS + 1)
        return rows + (2 if self.line else 0)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.is_open:
            return
        for row in [*self.waiting][:MAX_ROWS]:
            yield waiting_line(row)
        more = len(self.waiting) - MAX_ROWS
        if more > 0:
            yield Text(f"     and {more} more: /queue", style="dim", no_wrap=True)
        if self.line:
            yield Text(f"> {end_of(self.line, options.max_width - 4)}▏", no_wrap=True)
            yield Text(f"  {self.choices}", style="dim", no_wrap=True, overflow="ellipsis")


def waiting_line(row: WaitingMessage) -> Text:
    """Write a message that waits in a line: its number, its text, and when it is read."""
    line = Text(f"{row.number:>3}  ", style="dim", no_wrap=True, overflow="ellipsis")
    if row.mode == STEER:
        line.append("at the next step: ", style="cyan")
    line.append(one_line(text_of(row.message)))
    return line


def text_of(message: dict[str, object]) -> str:
    """Return a message's text, with the types of its other parts."""
    content = message.get("content") or ""
    if not isinstance(content, list):
        return str(content)
    parts = [part for part in content if isinstance(part, dict)]
    return " ".join(part.get("text") or f"[{part.get('type')}]" for part in parts)


def end_of(line: str, width: int) -> str:
    """Cut a line at its beginning, so that its end can be seen."""
    text = one_line(line) + (" " if line.endswith(" ") else "")
    while cell_len(text) > max(width, 1):
        text = text[1:]
    return text
