"""Show a run to a person in a terminal."""

import json
from copy import deepcopy
from typing import Any, Literal

from rich.console import Console, RenderableType
from rich.status import Status
from rich.text import Text

from agui.contrib.terminal.activities import draw
from agui.contrib.terminal.conversation import Conversation, as_json, patched
from agui.contrib.terminal.markdown import Block, MarkdownStream
from agui.contrib.terminal.printable import one_line, printable
from agui.events.shown import append
from agui.protocol.types import BaseEvent, EventType

THOUGHT = "dim italic"
MAX_CHARS = 2000


class Screen:
    """Shows one event after the other. What is printed stays; only the last lines are redrawn."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._text: MarkdownStream | None = None
        self._text_id = ""
        self._status: Status | None = None
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
                match data.value:
                    case {"percent": int() | float() as percent} if 0 <= percent <= 100:
                        self._wait(f"{percent:g} %")
            case EventType.ACTIVITY_SNAPSHOT | EventType.ACTIVITY_DELTA:
                self._update_activity(data)
            case EventType.RUN_FINISHED:
                if data.outcome and data.outcome.type == "cancelled":
                    self.print(Text("Stopped.", style="yellow"))
            case EventType.RUN_ERROR:
                self.fail(failure_of(event))

    def print(self, content: RenderableType = "", *, cut: bool = False) -> None:
        """Print something that stays. `cut` limits it to one line. A text has to be printable."""
        self._close()
        self._stop_waiting()
        overflow: Literal["ellipsis"] | None = "ellipsis" if cut else None
        self.console.print(content, markup=False, no_wrap=cut, overflow=overflow)

    def fail(self, sentence: str) -> None:
        self.print(Text(printable(sentence), style="red"))

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
            self._text, self._text_id = MarkdownStream(self.console, style), message_id
        self._text.add(delta)

    def _close(self) -> None:
        if self._text:
            self._text.close()
            self._text = None

    def _wait(self, words: str) -> None:
        if self._text:
            return
        if self._status is None:
            self._status = self.console.status("")
            self._status.start()
        self._status.update(Text(words, style="dim"))

    def _stop_waiting(self) -> None:
        if self._status:
            self._status.stop()
            self._status = None

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


def text_of(message: dict[str, Any]) -> str:
    """Return a message's text, with the types of its other parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or f"[{part.get('type')}]" for part in content)
