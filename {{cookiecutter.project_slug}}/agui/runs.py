"""One run: start, follow, cancel, and record how it ended.

A run belongs to the server, not to the connection that asked for it: it is a task that appends
frames to a log, and responses only follow the log.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections
from pydantic_ai import DeferredToolRequests, capture_run_messages
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.usage import RunUsage
from pydantic_core import to_jsonable_python

from agui import conf
from agui.agent import AgentDeps, usage_limits
from agui.audit import resolve_audit_logger
from agui.auth import Actor
from agui.errors import RunFailed
from agui.history import Turn
from agui.models import Run
from agui.protocol import RunAgentInput, annotate
from agui.runlog.memory import RunLog, RunLogs
from agui.stream import (
    TERMINAL,
    Adapter,
    BaseEvent,
    RunEvents,
    dump_state,
    encode,
    record_tool_calls,
    run_error,
    shape_events,
)

if TYPE_CHECKING:
    from agui.views import DjangoAGUIView

logger = logging.getLogger("agui.runs")

# Where asgiref notes the thread of a request.
ASGIREF_CONTEXT = {"thread_sensitive_context", "async_single_thread_context", "deadlock_context", "asgiref.local"}

logs = RunLogs()
# The loop itself keeps only weak references to its tasks.
_tasks: set[asyncio.Task[None]] = set()


@dataclass
class ActiveRun:
    """One run on its way."""

    endpoint: "DjangoAGUIView"
    log: RunLog
    run_input: RunAgentInput
    turn: Turn
    events: RunEvents
    history: list[ModelMessage]
    """The conversation before the run: what comes after it is new."""
    usage_before: RunUsage
    state_before: Any
    usage: RunUsage = field(default_factory=RunUsage)
    size: int = 0
    """Bytes of all frames."""
    status: Run.Status = Run.Status.FAILED
    started: float = field(default_factory=time.monotonic)


async def start(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, turn: Turn
) -> asyncio.Task[None]:
    """Start a run in the background; its events come through the log."""
    deps = AgentDeps(
        user=actor.user,
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        state=turn.state,
        context=[{"description": item.description, "value": item.value} for item in run_input.context or ()],
        forwarded_props=run_input.forwarded_props,
    )
    await Run.objects.acreate(
        id=log.key,
        scope=actor.scope,
        owner_id=actor.user.pk,
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        model=getattr(endpoint.agent.model, "model_name", ""),
    )
    events = RunEvents(resolve_audit_logger(), deps, edited=turn.edited_arguments)
    conversation = turn.conversation
    run = ActiveRun(
        endpoint,
        log,
        run_input,
        turn,
        events,
        history=list(conversation.messages),
        usage_before=copy(conversation.usage),
        state_before=dump_state(turn.state),
    )
    # The stream may last for long: it is not to hold the request's connection all the time.
    await sync_to_async(release_connections)()
    task = asyncio.get_running_loop().create_task(_drive(run), context=_detached_context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


def release_connections() -> None:
    """Close this thread's database connections, but for one in the middle of a transaction."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def _detached_context() -> contextvars.Context:
    """Everything of the request's context but its thread, which ends with the request."""
    context = contextvars.Context()
    for variable, value in contextvars.copy_context().items():
        if variable.name not in ASGIREF_CONTEXT:
            context.run(variable.set, value)
    return context


async def _drive(run: ActiveRun) -> None:
    """Append the run's events to its log; whatever happens, the log ends with one terminal event."""
    last: BaseEvent | None = None
    try:
        async with ThreadSensitiveContext():
            try:
                async with aclosing(_events(run)) as events:
                    async for event in events:
                        if event.type in TERMINAL:
                            last = event
                        else:
                            _append(run, event)
            except Exception:
                logger.exception("Run %s of thread %s broke", run.log.key, run.log.thread_id)
            await _record(run)
            await sync_to_async(release_connections)()
    finally:
        # Only now, and without a pause in between: whoever reads the end may at once start the next run.
        _append(run, last or run_error(run.events.failure or "internal_error"))
        logs.close(run.log)


def _append(run: ActiveRun, event: BaseEvent) -> None:
    frame = encode(run.log.key, len(run.log.frames) + 1, event)
    run.log.append(frame)
    run.size += len(frame)
    if run.size > conf.get().max_output_bytes and not run.events.failure:
        run.events.failure = "output_limit"
        run.log.token.cancel()


async def _events(run: ActiveRun) -> AsyncGenerator[BaseEvent]:
    endpoint, settings = run.endpoint, conf.get()
    adapter = Adapter(
        agent=endpoint.agent,
        # What the client said of the past was read by us: the adapter gets the outcome.
        run_input=run.run_input.model_copy(update={"messages": [], "resume": None, "state": run.state_before}),
        manage_message_history="server",
        include_usage=settings.include_usage,
        shared=run.events,
    )
    with capture_run_messages() as captured:

        async def finished(result: AgentRunResult[Any]) -> None:
            paused = isinstance(result.output, DeferredToolRequests)
            run.events.requests = result.output if paused else None
            run.status = Run.Status.PAUSED if paused else Run.Status.FINISHED
            await _save(run, result.new_messages())

        native = adapter.run_stream_native(
            message_history=run.history,
            deferred_tool_results=run.turn.answers,
            deps=run.events.deps,
            usage=run.usage,
            usage_limits=usage_limits(endpoint.config),
            cancellation_token=run.log.token,
            timeout=settings.run_timeout_seconds,
            instructions=_skill(run),
        )
        events = adapter.transform_stream(record_tool_calls(native, run.events), on_complete=finished)
        async for event in shape_events(events, run.events):
            if event.type in TERMINAL and run.status is Run.Status.FAILED:
                # Failed or stopped: what there is by now is kept before the client hears of the end.
                await _save_partial(run, captured[len(run.history) :])
            yield event


def _skill(run: ActiveRun) -> str | None:
    """The words that the user's `/name` stands for: the model reads them, the conversation keeps what was typed."""
    words = run.endpoint.skills.resolve(run.turn.text)
    return words if words != run.turn.text else None


async def _save(run: ActiveRun, new: list[ModelMessage]) -> None:
    """Append what the run has added to the stored conversation."""
    conversation = run.turn.conversation
    run.events.ids.stamp(new)
    if new and run.events.deps.state:
        annotate(new[-1], state=dump_state(run.events.deps.state))
    conversation.messages = [*run.history, *new]
    conversation.usage = run.usage_before + run.usage
    conversation.deferred_tool_requests = run.events.requests
    try:
        await run.turn.store.save(conversation, scope=run.log.scope)
    except ConversationConflict:
        run.status = Run.Status.FAILED
        raise RunFailed("conversation_changed") from None


async def _save_partial(run: ActiveRun, new: list[ModelMessage]) -> None:
    if run.events.failure == "timeout":
        run.status = Run.Status.TIMED_OUT
    elif run.events.failure is None:
        run.status = Run.Status.CANCELLED
    if run.events.failure == "conversation_changed":
        return
    try:
        await _save(run, _without_open_calls(new))
    except RunFailed:
        logger.info("Thread %s was changed or deleted during run %s", run.log.thread_id, run.log.key)
    except Exception:
        logger.exception("What run %s had reached could not be stored", run.log.key)


def _without_open_calls(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Drop tool calls that nothing has answered, half-streamed ones too: nothing ever will."""
    answered = {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolReturnPart)}
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            parts = [p for p in message.parts if not isinstance(p, ToolCallPart) or p.tool_call_id in answered]
            message = replace(message, parts=parts)
        if message.parts:
            kept.append(message)
    return kept


async def _record(run: ActiveRun) -> None:
    """Note how the run ended."""
    ending = {
        "status": run.status,
        "code": run.events.failure or "",
        "usage": to_jsonable_python(run.usage),
        "duration_ms": round((time.monotonic() - run.started) * 1000),
    }
    try:
        # No row: the thread was deleted, and the run with it.
        await Run.objects.filter(pk=run.log.key).aupdate(**ending)
    except Exception:
        logger.exception("The end of run %s could not be recorded", run.log.key)


class Follower:
    """A reader of a run's log. With ON_DISCONNECT = "cancel", a run ends with the reader that started it."""

    def __init__(self, log: RunLog, after: int = 0, *, started_run: bool = False) -> None:
        self.log = log
        self.after = after
        self.started_run = started_run

    def __aiter__(self) -> AsyncGenerator[bytes]:
        return self.log.follow(self.after)

    def close(self) -> None:
        """Called by Django at the end of the response, also when the client has gone."""
        if self.started_run and self.log.running and conf.get().on_disconnect == "cancel":
            self.log.token.cancel()
