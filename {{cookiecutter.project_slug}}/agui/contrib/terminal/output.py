"""What a script reads: the answer's text, or every event as a line of JSON. All else goes to standard error."""

from typing import Any, Protocol, TextIO

from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.printable import printable
from agui.contrib.terminal.screen import describe
from agui.protocol.types import BaseEvent, EventType


class Output(Protocol):
    """Where a run is shown."""

    def begin(self) -> None: ...
    def end(self) -> None: ...
    def show(self, event: BaseEvent, conversation: Conversation) -> None: ...
    def show_local(self, content: str, is_result: bool) -> None: ...
    def fail(self, sentence: str) -> None: ...


class PlainText:
    """The answer as the model wrote it, in Markdown; tool calls and errors are told on standard error."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._last = "\n"
        self._message_id = ""

    def begin(self) -> None:
        """Nothing to tell."""

    def end(self) -> None:
        self._end_line()

    def show(self, event: BaseEvent, conversation: Conversation) -> None:
        told: Any = event
        match event.type:
            case EventType.TEXT_MESSAGE_CONTENT if told.delta:
                if told.message_id != self._message_id:
                    self._end_line()
                    self._message_id = told.message_id
                self._last = printable(told.delta)
                self._out.write(self._last)
                self._out.flush()
            case EventType.TOOL_CALL_END if call := conversation.call(told.tool_call_id):
                self._end_line()
                self._err.write(f"{describe(call).plain}\n")
            case EventType.RUN_ERROR:
                self.fail(f"{told.message} ({told.code})" if told.code else told.message)

    def show_local(self, content: str, is_result: bool) -> None:
        """Nothing to tell: the call was."""

    def fail(self, sentence: str) -> None:
        self._end_line()
        self._err.write(f"{printable(sentence)}\n")

    def _end_line(self) -> None:
        if not self._last.endswith("\n"):
            self._last = "\n"
            self._out.write("\n")
            self._out.flush()


class JsonLines:
    """The events as they came, each in a line."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err

    def begin(self) -> None:
        """Nothing to tell."""

    def end(self) -> None:
        """Nothing to tell."""

    def show(self, event: BaseEvent, conversation: Conversation) -> None:
        self._out.write(event.model_dump_json(by_alias=True) + "\n")
        self._out.flush()

    def show_local(self, content: str, is_result: bool) -> None:
        """Nothing to tell: it was no event."""

    def fail(self, sentence: str) -> None:
        self._err.write(f"{printable(sentence)}\n")
