"""What the stages of one run go by, and what they tell one another."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import (
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
from agui.events.progress import Page
from agui.protocol.message_ids import MessageIds
from agui.stores.annotations import answered
from agui.tools.audit import AuditLogger
from agui.tools.timer import ToolCallTimer


@dataclass
class Unfinished:
    """What of a run is not in its messages yet: the text under way, and results whose fellows are still awaited."""

    captured: list[ModelMessage] = field(default_factory=list)
    """The run's messages, as pydantic-ai keeps them."""
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _results: dict[str, ToolReturnPart] = field(default_factory=dict)
    _place: int = 0
    """The number of the response that the texts are of."""

    def note(self, event: Any) -> None:
        if isinstance(event, PartDeltaEvent):
            if isinstance(event.delta, TextPartDelta):
                self._texts.setdefault(event.index, []).append(event.delta.content_delta)
        elif isinstance(event, PartStartEvent):
            if event.index == 0:
                self._texts.clear()
                self._place = self._responses()
            if isinstance(event.part, TextPart):
                self._texts[event.index] = [event.part.content]
        elif isinstance(event, FunctionToolResultEvent) and isinstance(event.part, ToolReturnPart):
            self._results[event.part.tool_call_id] = event.part

    @property
    def results(self) -> int:
        """How many tools have ended."""
        return len(self._results)

    def messages(self) -> list[ModelMessage]:
        """Put it into messages, to come after the captured ones."""
        last = self.captured[-1] if self.captured else None
        if isinstance(last, ModelResponse):
            calls = {call.tool_call_id for call in last.tool_calls} - answered(self.captured)
            results = [part for call_id, part in self._results.items() if call_id in calls]
            return [ModelRequest(parts=results, state="interrupted")] if results else []
        texts = [
            TextPart(text) for _, pieces in sorted(self._texts.items()) if (text := "".join(pieces))
        ]
        return (
            [ModelResponse(parts=texts, state="interrupted")]
            if texts and self._place == self._responses()
            else []
        )

    def _responses(self) -> int:
        return sum(isinstance(message, ModelResponse) for message in self.captured)


@dataclass(frozen=True)
class RunSetup:
    """What the stages of a run go by. None of it changes."""

    key: str
    """The run's own id: of its log and of its row."""
    audit: AuditLogger
    deps: AgentDeps
    page: Page
    edited: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that the user put in the place of the model's, by tool call id."""
    approved: Collection[str] = ()
    """The ids of the tool calls that the user has approved."""
    tool_ended: Callable[[], object] = lambda: None
    """Called after each tool call: what the tool did can't be undone, so it is written down at once."""


@dataclass
class Outcome:
    """Why a run ends as it does."""

    requests: DeferredToolRequests | None = None
    """What the run paused for."""
    failure: str | None = None
    """A key of RUN_ERRORS, set by whoever stopped the run for a reason."""
    cause: str = ""
    """What the provider or an exception said of it: for the log and the admin."""


@dataclass
class ToolCalls:
    """How a run's tool calls go. The stage `record_tool_calls` writes it."""

    timer: ToolCallTimer
    started: set[str] = field(default_factory=set)
    """The ids of the calls that were begun."""
    outcomes: dict[str, str] = field(default_factory=dict)
    """How each call ended, by its id, unless it was a success: 'failed' or 'denied'."""
    durations: dict[str, int] = field(default_factory=dict)
    """How long each call took, by its id, in milliseconds."""


@dataclass
class OpenText:
    """The texts of a run. The adapter says which was begun last, and `in_sequence` which a client is at."""

    last: str = ""
    """The id of the text message that was begun last."""
    current: str = ""
    """The id of the text message that a client is at; '' while it is at something else."""


@dataclass(kw_only=True)
class RunState:
    """What the stages of one run go by, and tell one another. Each stage is given what it needs of it."""

    setup: RunSetup
    calls: ToolCalls
    text: OpenText = field(default_factory=OpenText)
    ids: MessageIds = field(default_factory=MessageIds)
    """The ids under which the client knows the run's messages."""
    unfinished: Unfinished = field(default_factory=Unfinished)
    outcome: Outcome = field(default_factory=Outcome)
