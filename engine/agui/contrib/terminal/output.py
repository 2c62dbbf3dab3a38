"""The output for scripts: the answer's text, or each event as JSON. The rest is standard error."""

from typing import Any, Protocol, TextIO

from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.printable import printable
from agui.contrib.terminal.screen import describe, failure_of
from agui.protocol.types import BaseEvent, EventType


class Output(Protocol):
    """Shows a run."""

    def begin(self) -> None: ...
    def end(self) -> None: ...
    def show(self, event: BaseEvent, conversation: Conversation) -> None: ...
    def show_local(self, content: str, is_result: bool) -> None: ...
    def fail(self, sentence: str) -> None: ...


class PlainText:
    """The answer in the model's own Markdown. Tool calls and errors go to standard error."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._last = "\n"
        self._message_id = ""

    def begin(self) -> None:
        """Write nothing."""

    def end(self) -> None:
        self._end_line()

    def show(self, event: BaseEvent, conversation: Conversation) -> None:
        data: Any = event
        match event.type:
            case EventType.TEXT_MESSAGE_CONTENT if data.delta:
                if data.message_id != self._message_id:
                    self._end_line()
                    self._message_id = data.message_id
                self._last = printable(data.delta)
                self._out.write(self._last)
                self._out.flush()
            case EventType.TOOL_CALL_END:
                call = conversation.call(data.tool_call_id)
                if call:
                    self._end_line()
                    self._err.write(f"{describe(call).plain}\n")
            case EventType.RUN_ERROR:
                self.fail(failure_of(event))

    def show_local(self, content: str, is_result: bool) -> None:
        """Write nothing: the call was shown."""

    def fail(self, sentence: str) -> None:
        self._end_line()
        self._err.write(f"{printable(sentence)}\n")

    def _end_line(self) -> None:
        if not self._last.endswith("\n"):
            self._last = "\n"
            self._out.write("\n")
            self._out.flush()


class JsonLines:
    """The events, each in a line."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err

    def begin(self) -> None:
        """Write nothing."""

    def end(self) -> None:
        """Write nothing."""

    def show(self, event: BaseEvent, conversation: Conversation) -> None:
        self._out.write(event.model_dump_json(by_alias=True) + "\n")
        self._out.flush()

    def show_local(self, content: str, is_result: bool) -> None:
        """Write nothing: it was no event."""

    def fail(self, sentence: str) -> None:
        self._err.write(f"{printable(sentence)}\n")
