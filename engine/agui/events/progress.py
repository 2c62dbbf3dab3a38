"""Progress of an active run: the steps and activities of tools, and the shared state.

    @tool(registry)
    async def plan_trip(ctx: RunContext[AgentDeps], city: str) -> str:
        '''Plan a trip.'''
        async with step(ctx, "Search flights", of=["Search flights", "Book"]):
            await show_activity(ctx, "trip", {"city": city, "flights": []})

`ctx.emit` sends an event of your own (a subclass of pydantic_ai.CustomEvent). Changes of
`ctx.deps.state` are sent automatically. The state and each activity are sent whole at first, and
then as differences (RFC 6902) if these are small.
"""

import logging
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_ai import CustomEvent, RunContext
from pydantic_ai.messages import ModelMessage

from agui.deps import AgentDeps
from agui.events.differences import Operation, difference
from agui.events.shown import Activity, patched
from agui.protocol.files import without_files
from agui.protocol.types import (
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
from agui.stores.annotations import annotate, annotation
from agui.stores.codec import same_json, to_json

logger = logging.getLogger("agui.runs")

BEGINS_MESSAGE = (
    EventType.TEXT_MESSAGE_START,
    EventType.REASONING_MESSAGE_START,
    EventType.TOOL_CALL_RESULT,
)
# The state may have changed by the time of these events.
MAY_CHANGE_STATE = {*FROM_TOOLS, EventType.RUN_STARTED, EventType.TOOL_CALL_RESULT}


@dataclass(kw_only=True)
class ProtocolEvent(CustomEvent):
    """An event of AG-UI, sent as it is."""

    event: Any

    def to_payload(self) -> Any:
        return self.event


@asynccontextmanager
async def step(
    ctx: RunContext[AgentDeps], name: str, *, of: Sequence[str] = ()
) -> AsyncGenerator[None]:
    """Show a step of the work as running until the block ends.

    `of` lists all steps of the work in their order, `name` among them. The page then shows a
    checklist of them, and the thread keeps it.
    """
    if of and name not in of:
        raise ValueError(f"The step {name!r} is not among {list(of)!r}: name it there, too.")
    await _show_steps(ctx, name, of, "running")
    await ctx.emit(ProtocolEvent(event=StepStartedEvent(step_name=name)))
    status = "failed"
    try:
        yield
        status = "done"
    finally:
        await _show_steps(ctx, name, of, status)
        await ctx.emit(ProtocolEvent(event=StepFinishedEvent(step_name=name)))


async def _show_steps(
    ctx: RunContext[AgentDeps], name: str, of: Sequence[str], status: str
) -> None:
    if not of:
        return
    steps = [{"title": title, "status": "pending"} for title in of]
    index = list(of).index(name)
    steps[index]["status"] = status
    for earlier in steps[:index]:
        earlier["status"] = "done"
    await show_activity(ctx, "plan", {"steps": steps}, message_id=f"steps-{ctx.tool_call_id}")


async def show_activity(
    ctx: RunContext[AgentDeps],
    activity_type: str,
    content: dict[str, Any],
    *,
    message_id: str | None = None,
) -> None:
    """Show something that the page draws: a plan, a table, a chart.

    If the same tool call shows the same type again, that replaces what it has shown before. To show
    several of one type, pass a `message_id` for each. `content` needs a JSON form; files in it
    become a few words. The thread keeps what was shown last.
    """
    message_id = message_id or f"{activity_type}-{ctx.tool_call_id}"
    event = ActivitySnapshotEvent(
        message_id=message_id, activity_type=activity_type, content=_to_content(content)
    )
    await ctx.emit(ProtocolEvent(event=event))


def dump_state(deps: AgentDeps, last: Any) -> Any:
    """Convert the shared state to JSON data; returns `last` if that is impossible."""
    try:
        return to_json({} if deps.state is None else deps.state)
    except Exception:
        logger.exception("Not sending the shared state: %s has no JSON form", type(deps.state))
        return last


def _to_content(content: Any) -> Any:
    """Convert what a tool shows to JSON data, with words instead of files: the thread keeps it."""
    return to_json(without_files(content))


async def share_progress(
    events: AsyncGenerator[BaseEvent], view: "ClientView"
) -> AsyncGenerator[BaseEvent]:
    """Send the steps, activities and changes of the state, in a form that a client can follow."""
    async with aclosing(events):
        async for event in events:
            if event.type in TERMINAL:
                for closing in [*view.changed_state(), *view.open_steps()]:
                    yield closing
            for translated in view.translate(event):
                yield translated
            if event.type in MAY_CHANGE_STATE:
                for change in view.changed_state():
                    yield change


class ClientView:
    """The client's view of a run so far. `known` is the state that the client has."""

    def __init__(self, deps: AgentDeps, known: Any) -> None:
        self._deps = deps
        self._client_state = self._last_state = known
        self._is_patchable = False
        """Whether the run has sent a state to the client, and no tool has sent one since."""
        self._steps: Counter[str] = Counter()
        self._message_ids: dict[str, None] = {}
        """The ids of the run's messages, in the order in which a client has received them."""
        self.activities: dict[str, Activity] = {}

    def changed_state(self) -> list[BaseEvent]:
        """Make the events for what has changed in the state since the last call."""
        state = dump_state(self._deps, self._last_state)
        if same_json(state, self._last_state):
            return []
        patch = difference(self._client_state, state) if self._is_patchable else None
        self._client_state = self._last_state = state
        self._is_patchable = True
        if patch is None:
            return [StateSnapshotEvent(snapshot=state)]
        return [StateDeltaEvent(delta=patch)] if patch else []

    def open_steps(self) -> list[BaseEvent]:
        """End the steps that a tool could not end."""
        return [StepFinishedEvent(step_name=name) for name in self._steps]

    def annotate_activities(self, new: Sequence[ModelMessage]) -> None:
        """Keep the activities with the run's messages: each with the one that it follows."""
        messages = {}
        for message in new:
            for message_id in annotation(message, "ids") or ():
                messages[message_id] = message
        # `stored_ids[n]`: of the first n messages that a client has, the last one in `new`.
        stored_ids: list[str | None] = [None]
        for message_id in self._message_ids:
            stored_ids.append(message_id if message_id in messages else stored_ids[-1])
        rows: dict[int, list[dict[str, Any]]] = {}
        for activity_id, activity in self.activities.items():
            after = stored_ids[activity.messages_before]
            row = {
                "id": activity_id,
                "activityType": activity.type,
                "content": activity.content,
                "after": after,
                "replaces": activity.replaces,
            }
            # An activity that comes before all messages is kept with the first one.
            holders = new[:1] if after is None else [messages[after]]
            for holder in holders:
                rows.setdefault(id(holder), []).append(row)
        for message in new:
            if id(message) in rows or annotation(message, "activities"):
                annotate(message, activities=rows.get(id(message), []))

    def translate(self, event: BaseEvent) -> list[BaseEvent]:
        """Make the events that a client needs, and drop what it could not follow."""
        message_id = _begun_message(event)
        if message_id:
            self._message_ids.setdefault(message_id)
        try:
            return self._translate(event)
        except Exception as error:
            logger.warning(
                "Dropping a tool's %s: it does not follow from the events before: %r",
                event.type,
                error,
            )
            return []

    def _translate(self, event: BaseEvent) -> list[BaseEvent]:
        if isinstance(event, StepStartedEvent):
            self._steps[event.step_name] += 1
            # If a parallel call is at the same step, the page shows the step already.
            return [event] if self._steps[event.step_name] == 1 else []
        if isinstance(event, StepFinishedEvent):
            if event.step_name not in self._steps:
                raise LookupError(event.step_name)
            self._steps[event.step_name] -= 1
            if self._steps[event.step_name]:
                return []
            del self._steps[event.step_name]
            return [event]
        if isinstance(event, ActivitySnapshotEvent):
            return self._show(event.model_copy(update={"content": _to_content(event.content)}))
        if isinstance(event, ActivityDeltaEvent):
            return self._change(event)
        if isinstance(event, StateSnapshotEvent):
            self._client_state = to_json(event.snapshot)
            self._is_patchable = False
        elif isinstance(event, StateDeltaEvent):
            self._client_state = patched(self._client_state, _operations(event.delta))
            self._is_patchable = False
        return [event]

    def _change(self, event: ActivityDeltaEvent) -> list[BaseEvent]:
        shown = self.activities[event.message_id]
        if shown.type != event.activity_type:
            raise LookupError(event.activity_type)
        patch = _to_content(_operations(event.patch))
        about = {"message_id": event.message_id, "activity_type": shown.type}
        if shown.append(patch):
            return [ActivityDeltaEvent(**about, patch=patch)]
        return self._show(ActivitySnapshotEvent(**about, content=patched(shown.content, patch)))

    def _show(self, event: ActivitySnapshotEvent) -> list[BaseEvent]:
        message_id = event.message_id
        shown = self.activities.get(message_id)
        if shown is None:
            if message_id in self._message_ids:
                raise ValueError(f"a message has the id {message_id!r}")
            before, replaces = len(self._message_ids), event.replace is not False
            activity = Activity(event.activity_type, event.content, before, replaces)
            self.activities[message_id] = activity
            return [event]
        if event.replace is False:
            return []
        old_content = shown.replace(event.content)
        if shown.type != event.activity_type:
            shown.type = event.activity_type
            return [event]
        patch = difference(old_content, event.content)
        if patch is None:
            return [event]
        delta = ActivityDeltaEvent(message_id=message_id, activity_type=shown.type, patch=patch)
        return [delta] if patch else []


def _begun_message(event: Any) -> str | None:
    """The id of the message with which a client begins at this event, or None."""
    if event.type in BEGINS_MESSAGE:
        return event.message_id
    if event.type is EventType.TOOL_CALL_START:
        return event.parent_message_id or event.tool_call_id
    return None


def _operations(patch: list[Any]) -> list[Operation]:
    return [item.model_dump(by_alias=True) for item in patch]
