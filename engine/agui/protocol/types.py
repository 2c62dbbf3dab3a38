"""AG-UI's types (https://docs.ag-ui.com, 1.0), as the engine uses them.

Only the rooms protocol/ and events/ import the library `ag_ui`; every other module takes the types
from here.
"""

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    EventType,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningStartEvent,
    ResumeEntry,
    RunAgentInput,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolMessage,
)

__all__ = [
    "FROM_TOOLS",
    "OF_SUBAGENTS",
    "TERMINAL",
    "ActivityDeltaEvent",
    "ActivitySnapshotEvent",
    "AssistantMessage",
    "BaseEvent",
    "CustomEvent",
    "EventType",
    "Interrupt",
    "Message",
    "MessagesSnapshotEvent",
    "ReasoningEndEvent",
    "ReasoningMessageEndEvent",
    "ReasoningStartEvent",
    "ResumeEntry",
    "RunAgentInput",
    "RunFinishedCancelledOutcome",
    "RunFinishedEvent",
    "RunFinishedInterruptOutcome",
    "RunFinishedSuccessOutcome",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "TextMessageContentEvent",
    "TextMessageEndEvent",
    "TextMessageStartEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolMessage",
]

TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)
OF_SUBAGENTS = (EventType.SUBAGENT_STARTED, EventType.SUBAGENT_FINISHED, EventType.SUBAGENT_ERROR)
# The events that a tool may send. Only the run itself sends the others.
FROM_TOOLS = (
    *OF_SUBAGENTS,
    EventType.CUSTOM,
    EventType.RAW,
    EventType.STATE_SNAPSHOT,
    EventType.STATE_DELTA,
    EventType.ACTIVITY_SNAPSHOT,
    EventType.ACTIVITY_DELTA,
    EventType.STEP_STARTED,
    EventType.STEP_FINISHED,
)
