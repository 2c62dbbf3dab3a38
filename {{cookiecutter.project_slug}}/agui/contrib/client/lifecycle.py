"""Whether events come in the order that AG-UI demands: a run, and in it messages, calls, thoughts and steps."""

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
# What opens something, goes on with it and ends it, and the field that has its id.
SPANS = {
    "TEXT_MESSAGE": ("START", "CONTENT", "END", "message_id"),
    "TOOL_CALL": ("START", "ARGS", "END", "tool_call_id"),
    "REASONING_MESSAGE": ("START", "CONTENT", "END", "message_id"),
    "REASONING": ("START", "", "END", "message_id"),
    "STEP": ("STARTED", "", "FINISHED", "step_name"),
    "SUBAGENT": ("STARTED", "", "FINISHED", "subagent_run_id"),
}
STEPS = {
    f"{kind}_{verb}": (kind, verb) for kind, (*verbs, _) in SPANS.items() for verb in verbs if verb
}
STEPS["SUBAGENT_ERROR"] = ("SUBAGENT", "FINISHED")


class OutOfOrderError(ValueError):
    """An event at a place where it may not be."""


class Lifecycle:
    """What is open in one run. Raises OutOfOrderError at the first event that breaks the order."""

    def __init__(self) -> None:
        self.started = self.ended = False
        self._open: set[tuple[str, str]] = set()
        self._called: dict[str, str] = {}
        """The names of the calls, by id."""
        self._called_again: set[str] = set()

    def is_repeated(self, event: BaseEvent) -> bool:
        """Whether an event only says again that a call begins or ends, as Microsoft's server does after another one."""
        if isinstance(event, ToolCallStartEvent):
            call_id, known = event.tool_call_id, self._called.get(event.tool_call_id)
            self._called[call_id] = event.tool_call_name
            if ("TOOL_CALL", call_id) in self._open and known == event.tool_call_name:
                self._called_again.add(call_id)
                return True
        elif isinstance(event, ToolCallEndEvent):
            return (
                "TOOL_CALL",
                event.tool_call_id,
            ) not in self._open and event.tool_call_id in self._called_again
        return False

    def check(self, event: BaseEvent) -> None:
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
