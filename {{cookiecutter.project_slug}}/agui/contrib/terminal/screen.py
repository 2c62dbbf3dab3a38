"""What a person sees of a run."""

import json
from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status
from rich.text import Text

from agui.contrib.terminal.activities import draw
from agui.contrib.terminal.conversation import Conversation, as_json, patched
from agui.contrib.terminal.markdown import Block, MarkdownStream
from agui.contrib.terminal.printable import one_line, printable
from agui.protocol.types import BaseEvent, EventType

THOUGHT = "dim italic"


class Screen:
    """Shows one event after the other. Whatever is printed stays; only what is about to change is drawn anew."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._text: MarkdownStream | None = None
        self._text_id = ""
        self._status: Status | None = None
        self._activities: dict[str, tuple[str, Any]] = {}
        self._changed: set[str] = set()

    def begin(self) -> None:
        """A run was asked for: until it says something, there is that it is at work."""
        self._wait("…")

    def end(self) -> None:
        """The run is over, however that came."""
        self._close()
        self._stop_waiting()
        self._print_activities()

    def show(self, event: BaseEvent, conversation: Conversation) -> None:
        told: Any = event
        match event.type:
            case EventType.TEXT_MESSAGE_CONTENT:
                self._write(told.message_id, told.delta)
            case EventType.REASONING_MESSAGE_CONTENT:
                self._write(told.message_id, told.delta, THOUGHT)
            case EventType.TEXT_MESSAGE_END | EventType.REASONING_MESSAGE_END if (
                told.message_id == self._text_id
            ):
                self._close()
                self._wait("…")
            case EventType.TOOL_CALL_END if call := conversation.call(told.tool_call_id):
                self.print(describe(call), cut=True)
                self._wait(one_line(call["function"]["name"]))
            case EventType.TOOL_CALL_RESULT:
                self._show_result(told, conversation)
                self._wait("…")
            case EventType.STEP_STARTED:
                self._wait(one_line(told.step_name))
            case EventType.CUSTOM:
                match told.value:
                    case {"percent": int() | float() as percent} if 0 <= percent <= 100:
                        self._wait(f"{percent:g} %")
            case EventType.ACTIVITY_SNAPSHOT | EventType.ACTIVITY_DELTA:
                self._note_activity(told)
            case EventType.RUN_FINISHED if told.outcome and told.outcome.type == "cancelled":
                self.print(Text("Stopped.", style="yellow"))
            case EventType.RUN_ERROR:
                self.fail(f"{told.message} ({told.code})" if told.code else told.message)

    def print(self, what: RenderableType = "", *, cut: bool = False) -> None:
        """Print something that stays, between what streams. Texts have to be printable; `cut` is to one line."""
        self._close()
        self._stop_waiting()
        self.console.print(what, markup=False, no_wrap=cut, overflow="ellipsis" if cut else None)

    def fail(self, sentence: str) -> None:
        self.print(Text(printable(sentence), style="red"))

    def show_thread(self, conversation: Conversation) -> None:
        """Print what was said so far."""
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

    def _wait(self, what: str) -> None:
        if self._text:
            return
        if self._status is None:
            self._status = self.console.status("")
            self._status.start()
        self._status.update(Text(what, style="dim"))

    def _stop_waiting(self) -> None:
        if self._status:
            self._status.stop()
            self._status = None

    def _show_result(self, event: Any, conversation: Conversation) -> None:
        call = conversation.call(event.tool_call_id)
        details = event.metadata if isinstance(event.metadata, dict) else {}
        name = f"{call['function']['name']}: " if call else ""
        self._print_result(
            f"{name}{one_line(as_json(event.content))}",
            details.get("outcome", "success") == "success",
        )

    def show_local(self, content: str, is_result: bool) -> None:
        """Print what a tool of this client answered: how much, if that went well."""
        self._print_result(f"{len(content)} characters" if is_result else content, is_result)

    def _print_result(self, words: str, is_result: bool) -> None:
        line = Text("  ✓ " if is_result else "  ✗ ", style="green" if is_result else "red")
        line.append(one_line(words)[:2000], style="dim")
        self.print(line, cut=True)

    def _note_activity(self, event: Any) -> None:
        kind, content = self._activities.get(event.message_id, (event.activity_type, {}))
        if event.type == EventType.ACTIVITY_SNAPSHOT:
            kind, content = event.activity_type, as_json(event.content)
        else:
            content = patched(content, event.patch)
        self._activities[event.message_id] = (kind, content)
        self._changed.add(event.message_id)

    def _print_activities(self) -> None:
        for message_id in [one for one in self._activities if one in self._changed]:
            self._changed.discard(message_id)
            self.print(draw(*self._activities[message_id]))


def describe(call: dict[str, Any]) -> Text:
    """A tool call in a line: its name, and its arguments as far as they can be read."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    line = Text("→ ", style="cyan")
    line.append(one_line(name), style="bold cyan")
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        values = arguments
    if isinstance(values, dict):
        words = [
            f"{one_line(key)}={one_line(json.dumps(value, ensure_ascii=False))}"
            for key, value in values.items()
        ]
    else:
        words = [one_line(values)]
    line.append("".join(f" {word}" for word in words)[:2000])
    return line


def text_of(message: dict[str, Any]) -> str:
    """A message's text; of other parts, what they are."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or f"[{part.get('type')}]" for part in content)
