"""The data that the stages of one run read, and that they pass on to each other."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import (
    BinaryContent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolReturnPart,
)

from agui.deps import AgentDeps
from agui.events.progress import ClientView
from agui.protocol.message_ids import MessageIds
from agui.protocol.types import BaseEvent
from agui.stores.annotations import answered
from agui.tools.audit import AuditLogger
from agui.tools.timer import ToolCallTimer


@dataclass
class Unfinished:
    """The output of a run that is not in its messages yet.

    That is the text under way, and results of tools that ran beside others which have not ended.
    """

    captured: list[ModelMessage] = field(default_factory=list)
    """The run's messages, as pydantic-ai keeps them."""
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _results: dict[str, ToolReturnPart] = field(default_factory=dict)
    _response_number: int = 0
    """The number of the run's responses before the one that the texts belong to."""

    def record(self, event: Any) -> None:
        if isinstance(event, PartDeltaEvent):
            if isinstance(event.delta, TextPartDelta):
                self._texts.setdefault(event.index, []).append(event.delta.content_delta)
        elif isinstance(event, PartStartEvent):
            if event.index == 0:
                self._texts.clear()
                self._response_number = self._responses()
            if isinstance(event.part, TextPart):
                self._texts[event.index] = [event.part.content]
        elif isinstance(event, FunctionToolResultEvent) and isinstance(event.part, ToolReturnPart):
            self._results[event.part.tool_call_id] = event.part

    @property
    def results(self) -> int:
        """The number of tools that have ended."""
        return len(self._results)

    def messages(self) -> list[ModelMessage]:
        """Put it into messages that follow the captured ones."""
        last = self.captured[-1] if self.captured else None
        if isinstance(last, ModelResponse):
            open_calls = {call.tool_call_id for call in last.tool_calls} - answered(self.captured)
            results = [part for call_id, part in self._results.items() if call_id in open_calls]
            return [ModelRequest(parts=results, state="interrupted")] if results else []
        if self._response_number != self._responses():
            return []
        texts = []
        for _, pieces in sorted(self._texts.items()):
            text = "".join(pieces)
            if text:
                texts.append(TextPart(text))
        return [ModelResponse(parts=texts, state="interrupted")] if texts else []

    def _responses(self) -> int:
        return sum(isinstance(message, ModelResponse) for message in self.captured)


class Delivered:
    """The messages of the user that a run's model has read since the run began.

    The model reads them in another form than the thread keeps. The parts of a message that it has
    read identify the one to keep, as pydantic-ai may join messages.
    """

    def __init__(self) -> None:
        self._kept: list[ModelMessage] = []
        self._by_part: dict[int, ModelMessage] = {}
        self._parts: list[Any] = []  # An id is of one object only as long as that exists.
        self._describe: dict[int, Callable[[str], BaseEvent]] = {}

    def __contains__(self, message: object) -> bool:
        return any(message is kept for kept in self._kept)

    def __iter__(self) -> Iterator[ModelMessage]:
        return iter(self._kept)

    def add(
        self, kept: ModelMessage, read: ModelMessage, describe: Callable[[str], BaseEvent]
    ) -> None:
        """Add a message. `describe` makes its event, of the id of the message before it."""
        self._kept.append(kept)
        self._describe[id(kept)] = describe
        for part in (*kept.parts, *read.parts):
            self._by_part[id(part)] = kept
            self._parts.append(part)

    def remove(self, message: ModelMessage) -> None:
        """Remove a message that the model will not read."""
        self._kept = [kept for kept in self._kept if kept is not message]
        self._by_part = {key: kept for key, kept in self._by_part.items() if kept is not message}

    def restore(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Put the messages to keep in place of those that the model has read."""
        if not self._kept:
            return list(messages)
        restored: list[ModelMessage] = []
        for message in messages:
            rest = []
            kept: dict[int, ModelMessage] = {}
            for part in message.parts:
                delivered = self._by_part.get(id(part))
                if delivered is None:
                    rest.append(part)
                else:
                    kept[id(delivered)] = delivered
            if kept and rest:
                restored.append(replace(message, parts=cast(Any, rest)))
            restored += kept.values() if kept else [message]
        return restored

    def complete(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Restore messages, and add those that are in no request yet."""
        restored = self.restore(messages)
        return [*restored, *self.missing(restored)]

    def others(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """List the messages that are not the user's."""
        return [message for message in messages if message not in self]

    def among(
        self, others: Iterable[ModelMessage], messages: Sequence[ModelMessage]
    ) -> list[ModelMessage]:
        """Put `others` in the places that those of these messages have."""
        following = iter(others)
        return [message if message in self else next(following) for message in messages]

    def missing(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """List those that these restored messages lack, as they are in no request yet."""
        reached = set(map(id, messages))
        return [kept for kept in self._kept if id(kept) not in reached]

    def event(self, message: ModelMessage, after: str) -> BaseEvent:
        return self._describe[id(message)](after)


@dataclass(frozen=True)
class RunSetup:
    """The constant data that the stages of a run read."""

    key: str
    """The run's own id, which its log and its row have."""
    audit: AuditLogger
    deps: AgentDeps
    view: ClientView
    edited: Mapping[str, Any] = field(default_factory=dict)
    """The arguments with which the user replaced the model's, by tool call id."""
    approved: Collection[str] = ()
    """The ids of the tool calls that the user has approved."""
    tool_ended: Callable[[], object] = lambda: None
    """Called after each tool call. Its result is stored at once, as its effects can't be undone."""


@dataclass
class Outcome:
    """The reasons for the end of a run."""

    requests: DeferredToolRequests | None = None
    """The calls for which the run has paused."""
    failure: str | None = None
    """A key of RUN_ERRORS, if the run failed or the server stopped it."""
    cause: str = ""
    """The words of the provider or the exception, for the log and the admin."""


@dataclass
class ToolCalls:
    """The tool calls of a run. The stage `record_tool_calls` writes it."""

    timer: ToolCallTimer
    started: set[str] = field(default_factory=set)
    """The ids of the calls that have begun."""
    outcomes: dict[str, str] = field(default_factory=dict)
    """'failed' or 'denied', by the ids of the calls that did not succeed."""
    durations: dict[str, int] = field(default_factory=dict)
    """The milliseconds that each call took, by its id."""


@dataclass(kw_only=True)
class RunState:
    """The state that the stages of one run share. Each stage gets only the fields that it needs."""

    setup: RunSetup
    calls: ToolCalls
    text_id: str = ""
    """The id of the text message that began last."""
    ids: MessageIds = field(default_factory=MessageIds)
    """The ids under which the client knows the run's messages."""
    file_id: Callable[[BinaryContent], str] = lambda file: ""
    """Returns the id under which a part has kept a file of the run; '' if none has."""
    unfinished: Unfinished = field(default_factory=Unfinished)
    outcome: Outcome = field(default_factory=Outcome)
    delivered: Delivered = field(default_factory=Delivered)
