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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext
from pydantic_ai import DeferredToolRequests, capture_run_messages
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore
from pydantic_ai.messages import ModelMessage
from pydantic_ai.run import AgentRunResult
from pydantic_ai.usage import RunUsage
from pydantic_core import to_jsonable_python

from agui import conf
from agui.agent import AgentDeps, page_context, usage_limits
from agui.audit import resolve_audit_logger
from agui.auth import Actor
from agui.errors import RunFailed
from agui.executor import release_connections
from agui.history import Turn, added, take_turn, without_open_calls
from agui.interrupts import ask
from agui.models import Run
from agui.parts import in_sequence
from agui.progress import dump_state, same_json, share_progress
from agui.protocol import TERMINAL, BaseEvent, RunAgentInput, annotate, check_tool_names
from agui.runlog.memory import RunLog, RunLogs
from agui.stream import (
    Adapter,
    RunEvents,
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


def start(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, store: ConversationStore
) -> None:
    """Start a run in the background: `log.started` tells what came of it, its events come through the log."""
    task = asyncio.get_running_loop().create_task(
        _run(log, endpoint, actor, run_input, store), context=_detached_context()
    )
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _run(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, store: ConversationStore
) -> None:
    async with ThreadSensitiveContext():
        try:
            run = await _prepare(log, endpoint, actor, run_input, store)
        except BaseException as error:
            logs.release(log, error)
            if not isinstance(error, Exception):
                raise
            return
        finally:
            await release_connections()
        log.start()
        await _drive(run)


async def _prepare(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, store: ConversationStore
) -> ActiveRun:
    """Do all that can refuse a run. Raises HttpError and RunFailed."""
    check_tool_names(run_input, endpoint.agent)
    model = getattr(endpoint.agent.model, "model_name", "")
    audit = resolve_audit_logger()
    turn = await take_turn(store, actor, run_input, endpoint.registry, endpoint.config)
    await Run.objects.acreate(
        id=log.key,
        scope=actor.scope,
        owner_id=actor.user.pk,
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        model=model,
    )
    deps = AgentDeps(
        user=actor.user,
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        state=turn.state.value,
        context=[{"description": item.description, "value": item.value} for item in run_input.context or ()],
        forwarded_props=run_input.forwarded_props,
        parent_run_id=run_input.parent_run_id,
    )
    return ActiveRun(
        endpoint,
        log,
        run_input,
        turn,
        RunEvents(audit, deps, edited=turn.edited_arguments),
        history=list(turn.conversation.messages),
        usage_before=copy(turn.conversation.usage),
        state_before=dump_state(deps, {}),
    )


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
        async with aclosing(_events(run)) as events:
            async for event in events:
                if event.type in TERMINAL:
                    last = event
                else:
                    _append(run, event)
    except Exception:
        logger.exception("Run %s of thread %s broke", run.log.key, run.log.thread_id)
    finally:
        try:
            await _record(run)
            await release_connections()
        finally:
            # Only now, and without a pause in between: whoever reads the end may at once start the next run.
            _end(run, last or run_error(run.events.failure or "internal_error"))


def _end(run: ActiveRun, last: BaseEvent) -> None:
    try:
        if not _append(run, last):
            _append(run, run_error("internal_error"))
    finally:
        logs.close(run.log)


def _append(run: ActiveRun, event: BaseEvent) -> bool:
    try:
        frame = encode(run.log.key, len(run.log.frames) + 1, event)
    except Exception:
        # A tool's own event, with something in it that has no JSON form: the run goes on without it.
        logger.exception("A %s of run %s can't be sent", event.type, run.log.key)
        return False
    run.log.append(frame)
    run.size += len(frame)
    if run.size > conf.get().max_output_bytes and not run.events.failure:
        run.events.failure = "output_limit"
        run.log.token.cancel()
    return True


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
            if run.events.requests:
                ask(run.events.requests, run.run_input, run.log.key)
            await _save(run, result.new_messages())
            run.status = Run.Status.PAUSED if paused else Run.Status.FINISHED

        # Typed as iterators, made as generators: each stage closes the one before it.
        native: Any = adapter.run_stream_native(
            message_history=run.history,
            deferred_tool_results=run.turn.answers,
            deps=run.events.deps,
            usage=run.usage,
            usage_limits=usage_limits(endpoint.config),
            cancellation_token=run.log.token,
            timeout=settings.run_timeout_seconds,
            instructions=_skill(run),
            capabilities=[page_context(run.events.deps.context)] if run.events.deps.context else None,
        )
        events: Any = adapter.transform_stream(record_tool_calls(native, run.events), on_complete=finished)
        try:
            shaped = in_sequence(shape_events(events, run.events))
            async with aclosing(share_progress(shaped, run.events.deps, run.turn.state.client)) as shared:
                async for event in shared:
                    if event.type in TERMINAL and run.status is Run.Status.FAILED:
                        # Failed or stopped: what there is by now is kept before the client hears of the end.
                        await _save_partial(run, captured)
                    yield event
        except Exception:
            if run.status is Run.Status.FAILED:
                run.events.failure = "internal_error"
                await _save_partial(run, captured)
            raise


def _skill(run: ActiveRun) -> str | None:
    """The words that the user's `/name` stands for: the model reads them, the conversation keeps what was typed."""
    words = run.endpoint.skills.resolve(run.turn.text)
    return words if words != run.turn.text else None


async def _save(run: ActiveRun, new: list[ModelMessage]) -> None:
    """Append what the run has added to the stored conversation."""
    conversation = run.turn.conversation
    run.events.ids.stamp(new)
    state = dump_state(run.events.deps, run.state_before)
    if new and not same_json(state, run.turn.state.stored):
        annotate(new[-1], state=state)
    conversation.messages = [*run.history, *new]
    conversation.usage = run.usage_before + run.usage
    conversation.deferred_tool_requests = run.events.requests
    try:
        await run.turn.store.save(conversation, scope=run.log.scope)
    except ConversationConflict:
        run.status = Run.Status.FAILED
        raise RunFailed("conversation_changed") from None


async def _save_partial(run: ActiveRun, captured: list[ModelMessage]) -> None:
    if run.events.failure == "timeout":
        run.status = Run.Status.TIMED_OUT
    elif run.events.failure is None:
        run.status = Run.Status.CANCELLED
    if run.events.failure == "conversation_changed":
        return
    run.events.requests = None
    try:
        await _save(run, without_open_calls(added(run.history, captured), run.events.started))
    except RunFailed:
        logger.info("Thread %s was changed or deleted during run %s", run.log.thread_id, run.log.key)
    except Exception:
        logger.exception("What run %s had reached could not be stored", run.log.key)


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
