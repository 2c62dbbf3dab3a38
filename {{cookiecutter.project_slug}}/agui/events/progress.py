"""What a page sees while a run is at work: the steps and activities of tools, and the shared state.

    @tool(registry)
    async def plan_trip(ctx: RunContext[AgentDeps], city: str) -> str:
        '''Plan a trip.'''
        async with step(ctx, "Search flights", of=["Search flights", "Book"]):
            await show_activity(ctx, "trip", {"city": city, "flights": []})

`ctx.emit` sends an event of your own (a subclass of pydantic_ai.CustomEvent). What a tool changes
in `ctx.deps.state` is sent by itself. Each is sent whole at first, and then as differences (RFC
6902), if these are small.
"""

import logging
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import jsonpatch
from pydantic_ai import CustomEvent, RunContext
from pydantic_ai.messages import ModelMessage

from agui.deps import AgentDeps
from agui.events.differences import difference
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
    """Show that a step of the work is on, for as long as the block lasts.

    `of` lists all steps of the work in their order, `name` among them. The page then shows a
    checklist that says how many are done, and the thread keeps it.
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
    at = list(of).index(name)
    statuses = ["done"] * at + [status] + ["pending"] * (len(of) - at - 1)
    steps = [{"title": title, "status": status} for title, status in zip(of, statuses, strict=True)]
    await show_activity(ctx, "plan", {"steps": steps}, message_id=f"steps-{ctx.tool_call_id}")


async def show_activity(
    ctx: RunContext[AgentDeps],
    activity_type: str,
    content: dict[str, Any],
    *,
    message_id: str | None = None,
) -> None:
    """Show something that the page draws: a plan, a table, a chart.

    The same call of a tool changes it.

    `content` has to have a JSON form; files in it become a few words. `message_id` tells several
    activities of one tool call apart. The thread keeps what was shown last.
    """
    message_id = message_id or f"{activity_type}-{ctx.tool_call_id}"
    event = ActivitySnapshotEvent(
        message_id=message_id, activity_type=activity_type, content=_shown(content)
    )
    await ctx.emit(ProtocolEvent(event=event))


def dump_state(deps: AgentDeps, last: Any) -> Any:
    """Take down the shared state as JSON: tools change it in place. One without such a form is as it was last."""
    try:
        return to_json({} if deps.state is None else deps.state)
    except Exception:
        logger.exception("The shared state of the run has no JSON form.")
        return last


def _shown(content: Any) -> Any:
    """Take down what a page is shown as JSON. In the place of files are words: the thread keeps it."""
    return to_json(without_files(content))


async def share_progress(
    events: AsyncGenerator[BaseEvent], page: "Page"
) -> AsyncGenerator[BaseEvent]:
    """Turn what tools sent and changed into what a client can follow."""
    async with aclosing(events):
        async for event in events:
            if event.type in TERMINAL:
                for closing in [*page.changed_state(), *page.open_steps()]:
                    yield closing
            for told in page.translate(event):
                yield told
            if event.type in FROM_TOOLS or event.type in (
                EventType.RUN_STARTED,
                EventType.TOOL_CALL_RESULT,
            ):
                for told in page.changed_state():
                    yield told


@dataclass
class Activity:
    """Something that a tool shows, as a client has it now."""

    type: str
    content: Any
    place: int
    """How many messages of the run a client had before it."""
    replaces: bool
    """Whether it takes the place of one that an earlier run has shown under its id."""


class Page:
    """What a client has been told of a run so far. `known` is the state that it has."""

    def __init__(self, deps: AgentDeps, known: Any) -> None:
        self._deps = deps
        self._known = self._last = known
        self._is_patchable = False
        """Whether the client was sent a state in this run, and none by a tool since."""
        self._steps: Counter[str] = Counter()
        self._messages: dict[str, None] = {}
        """The ids of the messages of the run, in the order in which a client got to know them."""
        self.activities: dict[str, Activity] = {}

    def changed_state(self) -> list[BaseEvent]:
        """Tell what has changed in the state since the last time."""
        state = dump_state(self._deps, self._last)
        if same_json(state, self._last):
            return []
        patch = difference(self._known, state) if self._is_patchable else None
        self._known = self._last = state
        self._is_patchable = True
        if patch is None:
            return [StateSnapshotEvent(snapshot=state)]
        return [StateDeltaEvent(delta=patch)] if patch else []

    def open_steps(self) -> list[BaseEvent]:
        """End the steps that a tool could not end."""
        return [StepFinishedEvent(step_name=name) for name in self._steps]

    def note(self, new: Sequence[ModelMessage]) -> None:
        """Write into the messages of the run which activities a client has after them, to store it."""
        holders = {
            message_id: message
            for message in new
            for message_id in annotation(message, "ids") or ()
        }
        shown: dict[int, list[dict[str, Any]]] = {}
        last: list[str | None] = [None]
        """After so many messages, the last of them that is in `new`."""
        for one in self._messages:
            last.append(one if one in holders else last[-1])
        for message_id, activity in self.activities.items():
            before = last[activity.place]
            told = {"id": message_id, "activityType": activity.type, "content": activity.content}
            where = {"after": before, "replaces": activity.replaces}
            for holder in new[:1] if before is None else [holders[before]]:
                shown.setdefault(id(holder), []).append({**told, **where})
        for message in new:
            if id(message) in shown or annotation(message, "activities"):
                annotate(message, activities=shown.get(id(message), []))

    def translate(self, event: BaseEvent) -> list[BaseEvent]:
        """Say what a client needs to hear, and nothing that it could not follow."""
        if message_id := _begun(event):
            self._messages.setdefault(message_id)
        try:
            return self._translate(event)
        except Exception as error:
            logger.warning(
                "A tool's %s was dropped: it does not fit what was sent before (%r).",
                event.type,
                error,
            )
            return []

    def _translate(self, event: BaseEvent) -> list[BaseEvent]:
        if isinstance(event, StepStartedEvent):
            self._steps[event.step_name] += 1
            # The same step of a call beside it: for a page it is on already.
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
            return self._show(event.model_copy(update={"content": _shown(event.content)}))
        if isinstance(event, ActivityDeltaEvent):
            shown = self.activities[event.message_id]
            if shown.type != event.activity_type:
                raise LookupError(event.activity_type)
            content = _shown(_patched(shown.content, event.patch))
            return self._show(
                ActivitySnapshotEvent(
                    message_id=event.message_id, activity_type=shown.type, content=content
                )
            )
        if isinstance(event, StateSnapshotEvent):
            self._known, self._is_patchable = to_json(event.snapshot), False
        elif isinstance(event, StateDeltaEvent):
            self._known, self._is_patchable = _patched(self._known, event.delta), False
        return [event]

    def _show(self, event: ActivitySnapshotEvent) -> list[BaseEvent]:
        message_id, shown = event.message_id, self.activities.get(event.message_id)
        if shown is None:
            if message_id in self._messages:
                raise ValueError(f"a message has the id {message_id!r}")
            replaces = event.replace is not False
            self.activities[message_id] = Activity(
                event.activity_type, event.content, len(self._messages), replaces
            )
            return [event]
        if event.replace is False:
            return []
        before, shown.content = shown.content, event.content
        if shown.type != event.activity_type:
            shown.type = event.activity_type
            return [event]
        patch = difference(before, event.content)
        if patch is None:
            return [event]
        delta = ActivityDeltaEvent(message_id=message_id, activity_type=shown.type, patch=patch)
        return [delta] if patch else []


def _begun(event: Any) -> str | None:
    """The id of the message that begins with an event, for a client that does not have it yet."""
    if event.type is EventType.TOOL_CALL_START:
        return event.parent_message_id or event.tool_call_id
    starts = (
        EventType.TEXT_MESSAGE_START,
        EventType.REASONING_MESSAGE_START,
        EventType.TOOL_CALL_RESULT,
    )
    return event.message_id if event.type in starts else None


def _patched(value: Any, operations: list[Any]) -> Any:
    return jsonpatch.apply_patch(
        value, [operation.model_dump(by_alias=True) for operation in operations]
    )
