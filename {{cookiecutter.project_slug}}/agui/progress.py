"""What a page sees while a run is at work: the steps and activities of tools, and the shared state.

    @tool(registry)
    async def plan_trip(ctx: RunContext[AgentDeps], city: str) -> str:
        '''Plan a trip.'''
        async with step(ctx, "Search flights"):
            await show_activity(ctx, "plan", {"city": city, "flights": []})

`ctx.emit` sends an event of your own (a subclass of pydantic_ai.CustomEvent). What a tool changes in
`ctx.deps.state` is sent by itself. Each is sent whole at first, and then as differences (RFC 6902).
"""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import jsonpatch
from pydantic_ai import CustomEvent, RunContext
from pydantic_core import to_jsonable_python

from agui.agent import AgentDeps
from agui.protocol import (
    FROM_TOOLS,
    TERMINAL,
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    EventType,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
)

logger = logging.getLogger("agui.runs")


@dataclass(kw_only=True)
class ProtocolEvent(CustomEvent):
    """An event of AG-UI, sent as it is."""

    event: Any

    def to_payload(self) -> Any:
        return self.event


@asynccontextmanager
async def step(ctx: RunContext[AgentDeps], name: str) -> AsyncGenerator[None]:
    """Show that a step of the work is on, for as long as the block lasts."""
    await ctx.emit(ProtocolEvent(event=StepStartedEvent(step_name=name)))
    try:
        yield
    finally:
        await ctx.emit(ProtocolEvent(event=StepFinishedEvent(step_name=name)))


async def show_activity(
    ctx: RunContext[AgentDeps], activity_type: str, content: dict[str, Any], *, message_id: str | None = None
) -> None:
    """Show something that the page draws: a plan, a table, a chart. The same call of a tool changes it.

    `content` has to have a JSON form. `message_id` tells several activities of one tool call apart.
    """
    message_id = message_id or f"{activity_type}-{ctx.tool_call_id}"
    event = ActivitySnapshotEvent(message_id=message_id, activity_type=activity_type, content=to_json(content))
    await ctx.emit(ProtocolEvent(event=event))


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same. For Python, 1 and True are."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def dump_state(deps: AgentDeps, last: Any) -> Any:
    """Take down the shared state as JSON: tools change it in place. One without such a form is as it was last."""
    try:
        return to_json({} if deps.state is None else deps.state)
    except Exception:
        logger.exception("The shared state of run %s has no JSON form.", deps.run_id)
        return last


def to_json(value: Any) -> Any:
    """Take down a value as JSON. Raises whatever reading it raises, and ValueError for circles."""
    return to_jsonable_python(value, fallback=str, inf_nan_mode="null", bytes_mode="base64")


async def share_progress(events: AsyncGenerator[BaseEvent], deps: AgentDeps, known: Any) -> AsyncGenerator[BaseEvent]:
    """Turn what tools sent and changed into what a client can follow.

    `known` is the state that the client has.
    """
    page = Page(deps, known)
    async with aclosing(events):
        async for event in events:
            if event.type in TERMINAL:
                for closing in [*page.changed_state(), *page.open_steps()]:
                    yield closing
            for told in page.translate(event):
                yield told
            if event.type in FROM_TOOLS or event.type in (EventType.RUN_STARTED, EventType.TOOL_CALL_RESULT):
                for told in page.changed_state():
                    yield told


class Page:
    """What a client has been told of a run so far."""

    def __init__(self, deps: AgentDeps, known: Any) -> None:
        self._deps = deps
        self._known = self._last = known
        self._is_patchable = False
        """Whether the client was sent a state in this run, and none by a tool since."""
        self._steps: list[str] = []
        self._activities: dict[tuple[str, str], Any] = {}

    def changed_state(self) -> list[BaseEvent]:
        """Tell what has changed in the state since the last time."""
        state = dump_state(self._deps, self._last)
        if same_json(state, self._last):
            return []
        patch = jsonpatch.make_patch(self._known, state).patch if self._is_patchable else None
        self._known = self._last = state
        self._is_patchable = True
        if patch is None:
            return [StateSnapshotEvent(snapshot=state)]
        return [StateDeltaEvent(delta=patch)] if patch else []

    def open_steps(self) -> list[BaseEvent]:
        """End the steps that a tool could not end."""
        names = dict.fromkeys(self._steps)
        return [StepFinishedEvent(step_name=name) for name in names]

    def translate(self, event: BaseEvent) -> list[BaseEvent]:
        """Say what a client needs to hear, and nothing that it could not follow."""
        try:
            return self._translate(event)
        except Exception as error:
            logger.warning("A tool's %s was dropped: it does not fit what was sent before (%r).", event.type, error)
            return []

    def _translate(self, event: BaseEvent) -> list[BaseEvent]:
        if isinstance(event, StepStartedEvent):
            self._steps.append(event.step_name)
            # The same step of a call beside it: for a page it is on already.
            return [event] if self._steps.count(event.step_name) == 1 else []
        if isinstance(event, StepFinishedEvent):
            if event.step_name not in self._steps:
                raise LookupError(event.step_name)
            self._steps.remove(event.step_name)
            return [event] if event.step_name not in self._steps else []
        if isinstance(event, ActivitySnapshotEvent):
            key, content = (event.message_id, event.activity_type), to_json(event.content)
            known, self._activities[key] = self._activities.get(key), content
            return [event] if known is None else self._activity_delta(event, known, content)
        if isinstance(event, ActivityDeltaEvent):
            key = (event.message_id, event.activity_type)
            self._activities[key] = _patched(self._activities[key], event.patch)
        elif isinstance(event, StateSnapshotEvent):
            self._known, self._is_patchable = to_json(event.snapshot), False
        elif isinstance(event, StateDeltaEvent):
            self._known, self._is_patchable = _patched(self._known, event.delta), False
        return [event]

    def _activity_delta(self, event: ActivitySnapshotEvent, known: Any, content: Any) -> list[BaseEvent]:
        patch = jsonpatch.make_patch(known, content).patch
        delta = ActivityDeltaEvent(message_id=event.message_id, activity_type=event.activity_type, patch=patch)
        return [delta] if patch else []


def _patched(value: Any, operations: list[Any]) -> Any:
    return jsonpatch.apply_patch(value, [operation.model_dump(by_alias=True) for operation in operations])
