"""The order of events that AG-UI demands: a run, and in it messages, calls, thoughts and steps."""

from ag_ui.core import (
    BaseEvent,
    EventType,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

TERMINAL = (RunFinishedEvent, RunErrorEvent)
# By kind: the events that open it, go on with it and end it, and the field that has its id.
SPANS = {
    "TEXT_MESSAGE": ("START", "CONTENT", "END", "message_id"),
    "TOOL_CALL": ("START", "ARGS", "END", "tool_call_id"),
    "REASONING_MESSAGE": ("START", "CONTENT", "END", "message_id"),
    "REASONING": ("START", "", "END", "message_id"),
    "STEP": ("STARTED", "", "FINISHED", "step_name"),
    "SUBAGENT": ("STARTED", "", "FINISHED", "subagent_run_id"),
}


def _steps() -> dict[str, tuple[str, str]]:
    """Return the kind and the verb of each type of event in SPANS."""
    steps = {"SUBAGENT_ERROR": ("SUBAGENT", "FINISHED")}
    for kind, (*verbs, _) in SPANS.items():
        for verb in verbs:
            if verb:
                steps[f"{kind}_{verb}"] = kind, verb
    return steps


STEPS = _steps()


class OutOfOrderError(ValueError):
    """An event came when it must not."""


class Lifecycle:
    """Checks the events of one run."""

    def __init__(self) -> None:
        self.started = False
        self.ended = False
        self._open: set[tuple[str, str]] = set()
        self._called: dict[str, str] = {}
        """The names of the calls, by id."""
        self._called_again: set[str] = set()

    def is_repeated(self, event: BaseEvent) -> bool:
        """Return whether an event repeats the start or the end of a call.

        Microsoft's server does so after another call.
        """
        if isinstance(event, ToolCallStartEvent):
            call_id = event.tool_call_id
            name_before = self._called.get(call_id)
            self._called[call_id] = event.tool_call_name
            if ("TOOL_CALL", call_id) in self._open and name_before == event.tool_call_name:
                self._called_again.add(call_id)
                return True
        elif isinstance(event, ToolCallEndEvent):
            is_open = ("TOOL_CALL", event.tool_call_id) in self._open
            return not is_open and event.tool_call_id in self._called_again
        return False

    def check(self, event: BaseEvent) -> None:
        """Raise OutOfOrderError if the event must not come now."""
        kind = event.type.value
        if self.ended:
            raise OutOfOrderError(f"{kind} came after the end of the run.")
        if isinstance(event, RunStartedEvent):
            if self.started:
                raise OutOfOrderError("RUN_STARTED came twice.")
            self.started = True
        elif not self.started and event.type is not EventType.RUN_ERROR:
            raise OutOfOrderError(f"{kind} came before RUN_STARTED.")
        if kind in STEPS:
            self._step(event, *STEPS[kind])
        if isinstance(event, RunFinishedEvent) and self._open:
            span, key = sorted(self._open)[0]
            raise OutOfOrderError(f"RUN_FINISHED came while {span} {key!r} was open.")
        self.ended = isinstance(event, TERMINAL)

    def _step(self, event: BaseEvent, span: str, verb: str) -> None:
        first, _, last, field = SPANS[span]
        key = (span, getattr(event, field))
        if verb == first:
            if key in self._open:
                raise OutOfOrderError(f"{event.type.value} came for {key[1]!r}, which is open.")
            self._open.add(key)
        elif key not in self._open:
            raise OutOfOrderError(f"{event.type.value} came for {key[1]!r}, which is not open.")
        elif verb == last:
            self._open.remove(key)
