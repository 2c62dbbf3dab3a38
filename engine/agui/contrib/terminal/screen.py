"""Show a run to a person in a terminal."""

import json
from copy import deepcopy
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agui.contrib.terminal.activities import draw
from agui.contrib.terminal.conversation import Conversation, as_json, patched
from agui.contrib.terminal.footer import Footer, text_of, waiting_line
from agui.contrib.terminal.markdown import Block, MarkdownStream
from agui.contrib.terminal.printable import one_line, printable
from agui.contrib.terminal.waiting import Waiting
from agui.events.shown import append
from agui.protocol.types import BaseEvent, EventType

THOUGHT = "dim italic"
SPINS_PER_SECOND = 12.5
MAX_CHARS = 2000


class Screen:
    """Shows one event after the other. What is printed stays; only the last lines are redrawn."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._text: MarkdownStream | None = None
        self._text_id = ""
        self.footer = Footer()
        self._spinner = Spinner("dots", style="status.spinner")
        self._spinning: Live | None = None
        self._activities: dict[str, tuple[str, Any]] = {}
        self._changed: set[str] = set()

    def begin(self) -> None:
        """Show that a run is active, until its first event."""
        self._wait("…")

    def end(self) -> None:
        """Print what is left of a run that is over."""
        self._close()
        self._stop_waiting()
        self._print_activities()

    def show(self, event: BaseEvent, conversation: Conversation) -> None:
        data: Any = event
        match event.type:
            case EventType.TEXT_MESSAGE_CONTENT:
                self._write(data.message_id, data.delta)
            case EventType.REASONING_MESSAGE_CONTENT:
                self._write(data.message_id, data.delta, THOUGHT)
            case EventType.TEXT_MESSAGE_END | EventType.REASONING_MESSAGE_END:
                if data.message_id == self._text_id:
                    self._close()
                    self._wait("…")
            case EventType.TOOL_CALL_END:
                call = conversation.call(data.tool_call_id)
                if call:
                    self.print(describe(call), cut=True)
                    self._wait(one_line(call["function"]["name"]))
            case EventType.TOOL_CALL_RESULT:
                self._show_result(data, conversation)
                self._wait("…")
            case EventType.STEP_STARTED:
                self._wait(one_line(data.step_name))
            case EventType.CUSTOM:
                self._show_custom(data.name, data.value)
            case EventType.ACTIVITY_SNAPSHOT | EventType.ACTIVITY_DELTA:
                self._update_activity(data)
            case EventType.RUN_FINISHED:
                if data.outcome and data.outcome.type == "cancelled":
                    self.print(Text("Stopped.", style="yellow"))
            case EventType.RUN_ERROR:
                self._close()
                self._stop_waiting()
                self.fail(failure_of(event))

    def print(self, content: RenderableType = "", *, cut: bool = False) -> None:
        """Print something that stays. `cut` limits it to one line. A text has to be printable."""
        self._close()
        self._stop_waiting()
        self.note(content, cut=cut)

    def note(self, content: RenderableType, *, cut: bool = False) -> None:
        """Print something above the lines that are drawn again, if there are any."""
        overflow: Literal["ellipsis"] | None = "ellipsis" if cut else None
        self.console.print(content, markup=False, no_wrap=cut, overflow=overflow)

    def fail(self, sentence: str) -> None:
        self.note(Text(printable(sentence), style="red"))

    def show_thread(self, conversation: Conversation) -> None:
        """Print the messages and calls of a thread."""
        for message in conversation.messages:
            text = text_of(message)
            if message["role"] == "user":
                self.print(Text(f"\n> {printable(text)}", style="bold"))
            elif message["role"] == "assistant" and text:
                self.print(Block(printable(text)))
            for call in message.get("toolCalls") or ():
                self.print(describe(call), cut=True)

    def _write(self, message_id: str, delta: str, style: str = "") -> None:
        if message_id != self._text_id or self._text is None:
            self._close()
            self._stop_waiting()
            self._print_activities()
            self._text = MarkdownStream(self.console, style, self.footer)
            self._text_id = message_id
        self._text.add(delta)

    def _close(self) -> None:
        if self._text:
            self._text.close()
            self._text = None

    def refresh(self) -> None:
        """Draw what may have changed below the answer."""
        if self._text:
            self._text.refresh()
        elif self._spinning:
            self._spinning.refresh()

    def _wait(self, words: str) -> None:
        if self._text:
            return
        self._spinner.update(text=Text(words, style="dim"))
        if self._spinning is None:
            self._spinning = Live(
                Group(self._spinner, self.footer),
                console=self.console,
                refresh_per_second=SPINS_PER_SECOND,
                transient=True,
            )
            self._spinning.start()

    def _stop_waiting(self) -> None:
        if self._spinning:
            self._spinning.stop()
            self._spinning = None

    def _show_result(self, event: Any, conversation: Conversation) -> None:
        words = one_line(as_json(event.content))
        call = conversation.call(event.tool_call_id)
        if call:
            words = f"{call['function']['name']}: {words}"
        metadata = event.metadata if isinstance(event.metadata, dict) else {}
        self._print_result(words, metadata.get("outcome", "success") == "success")

    def show_local(self, content: str, is_result: bool) -> None:
        """Print the size of a local tool's result, or why it has none."""
        if is_result:
            content = f"{len(content)} characters"
        self._print_result(content, is_result)

    def _print_result(self, words: str, is_result: bool) -> None:
        mark, style = ("✓", "green") if is_result else ("✗", "red")
        line = Text(f"  {mark} ", style=style)
        line.append(one_line(words)[:MAX_CHARS], style="dim")
        self.print(line, cut=True)

    def _show_custom(self, name: str, value: Any) -> None:
        match name, value:
            case "message_delivered", {"message": {"role": "user"} as message}:
                line = Text(f"\n> {printable(text_of(message))}", style="bold")
                if value.get("after"):
                    line.append("  (read while it worked)", style="not bold dim")
                self.print(line)
                self._wait("…")
            case _, {"percent": int() | float() as percent} if 0 <= percent <= 100:
                self._wait(f"{percent:g} %")
            case _:
                self.refresh()

    def show_waiting(self, waiting: Waiting) -> None:
        for row in waiting:
            self.note(waiting_line(row), cut=True)
        if not len(waiting):
            self.note(Text("No message waits.", style="dim"))

    def _update_activity(self, event: Any) -> None:
        kind, content = self._activities.get(event.message_id, (event.activity_type, {}))
        if event.type == EventType.ACTIVITY_SNAPSHOT:
            # A copy, because patches may change it in place.
            kind, content = event.activity_type, deepcopy(as_json(event.content))
        elif not append(content, as_json(event.patch)):
            content = patched(content, event.patch)
        self._activities[event.message_id] = (kind, content)
        self._changed.add(event.message_id)

    def _print_activities(self) -> None:
        for message_id, (kind, content) in self._activities.items():
            if message_id in self._changed:
                self.print(draw(kind, content))
        self._changed.clear()


def failure_of(event: Any) -> str:
    """Write a RUN_ERROR in a sentence."""
    if not event.code:
        return str(event.message)
    return f"{event.message} ({event.code})"


def describe(call: dict[str, Any]) -> Text:
    """Write a tool call in a line: its name, and its arguments even if they are no JSON."""
    name = call["function"]["name"]
    arguments = call["function"]["arguments"]
    line = Text("→ ", style="cyan")
    line.append(one_line(name), style="bold cyan")
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        values = arguments
    words = ""
    if isinstance(values, dict):
        for key, value in values.items():
            text = json.dumps(value, ensure_ascii=False)
            words += f" {one_line(key)}={one_line(text)}"
    else:
        words = f" {one_line(values)}"
    line.append(words[:MAX_CHARS])
    return line
