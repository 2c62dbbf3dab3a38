"""One run: start, follow, cancel, and record how it ended.

A run belongs to the server, not to the connection that asked for it: it is a task that appends
frames to a log, and responses only follow the log.
"""

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from asgiref.sync import ThreadSensitiveContext
from django.db.models.functions import Now
from pydantic_ai import Agent, DeferredToolRequests, capture_run_messages
from pydantic_ai.run import AgentRunResult

from agui import conf
from agui.agents.build import AgentDeps, usage_limits
from agui.blocking.executor import in_database, release_connections, release_thread_later
from agui.blocking.patience import Patience, patience
from agui.contrib.attachments.references import named_in
from agui.contrib.observe.telemetry import observed
from agui.contrib.spending.budgets import check_budget
from agui.errors import Conflict, TooManyRequests
from agui.events.failures import cause_of
from agui.events.progress import Page, dump_state, share_progress
from agui.events.sequence import in_sequence
from agui.events.shortcut import ShortCut
from agui.events.stream import Adapter, RunEvents, frame, record_tool_calls, run_error, shape_events, to_data
from agui.http.auth import Actor
from agui.models import Run
from agui.protocol.inbound import run_instructions
from agui.protocol.interrupts import ask
from agui.protocol.messages import TERMINAL, BaseEvent, RunAgentInput, check_tool_names
from agui.runlog import RunLog, open_logs
from agui.runs.drafts import checkpoints
from agui.runs.processes import process_name
from agui.runs.record import ActiveRun
from agui.stores.base import ThreadStore
from agui.tools.audit import resolve_audit_logger
from agui.turns.take import Turn, take_turn

if TYPE_CHECKING:
    from agui.http.views import DjangoAGUIView

logger = logging.getLogger("agui.runs")

# Where asgiref notes the thread of a request.
ASGIREF_CONTEXT = {"thread_sensitive_context", "async_single_thread_context", "deadlock_context", "asgiref.local"}

logs = open_logs()
# The loop itself keeps only weak references to its tasks.
tasks: dict[asyncio.Task[None], RunLog] = {}
followers: WeakValueDictionary[int, "Follower"] = WeakValueDictionary()  # Who reads, or is about to
BRACKETS = ("_START", "_STARTED", "_END", "_FINISHED", "_ERROR")  # Without these events a stream has no form


async def reserve(scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
    """Take the thread for a new run, as RunLogs.reserve does; a run that nobody reads any more makes way for it.

    A client's "stop" often is no more than that it stops reading: what its user says next is not to be refused.
    """
    try:
        return await logs.reserve(scope, thread_id, fingerprint)
    except Conflict as conflict:
        if await logs.make_way(scope, thread_id):
            return await reserve(scope, thread_id, fingerprint)
        active = Run.objects.filter(scope=scope, thread_id=thread_id, status=Run.Status.RUNNING)
        conflict.extra["run"] = await in_database(active.values("run_id", "started_at").last)
        raise


def start(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, store: ThreadStore, path: str
) -> None:
    """Start a run in the background: `log.started` tells what came of it, its events come through the log.

    `path` is where the endpoint is: workers find it there.
    """
    task = asyncio.get_running_loop().create_task(
        _run(log, endpoint, actor, run_input, store, path), context=detached_context()
    )
    tasks[task] = log
    task.add_done_callback(tasks.pop)


async def _run(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, store: ThreadStore, path: str
) -> None:
    async with ThreadSensitiveContext():
        try:
            turn = await _begin(log, endpoint, actor, run_input, store)
            if is_ordered := conf.get().run_executor == "dbos":
                from agui.contrib.durable.orders import place_order  # Its library is an extra

                await place_order(log, run_input, turn, path)
            else:
                run = activate(log, endpoint, actor, run_input, turn)
        except BaseException as error:
            logs.release(log, error)
            if not isinstance(error, Exception):
                raise
            return
        finally:
            await release_connections()
        log.start()
        if not is_ordered:
            await drive(run)


async def _begin(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, store: ThreadStore
) -> Turn:
    """Do all that can refuse a run, and store the new turn. Raises HttpError and RunFailed."""
    check_tool_names(run_input, endpoint.agent)
    await check_budget(actor.user, actor.scope)
    model = endpoint.model_name(run_input)

    def begin(revision: str, prompt_id: str) -> None:
        Run.objects.create(
            id=log.key,
            scope=actor.scope,
            owner_id=actor.user.pk,
            thread_id=run_input.thread_id,
            run_id=run_input.run_id,
            prompt_id=prompt_id,
            model=model,
            process=process_name(),
            seen_at=Now(),
            revision=revision,
        )

    return await take_turn(store, actor, run_input, endpoint.registry, endpoint.config, begin)


def activate(
    log: RunLog, endpoint: "DjangoAGUIView", actor: Actor, run_input: RunAgentInput, turn: Turn, **earlier: Any
) -> ActiveRun:
    """Put together all that a run works with. `earlier` is what other processes have done of it."""
    deps = AgentDeps(
        user=actor.user,
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        state=turn.state.value,
        context=[{"description": item.description, "value": item.value} for item in run_input.context or ()],
        forwarded_props=run_input.forwarded_props,
        parent_run_id=run_input.parent_run_id,
        scope=actor.scope,
        attachments=named_in(turn.history),
    )
    run = ActiveRun(
        endpoint,
        log,
        run_input,
        turn,
        RunEvents(
            log.key,
            resolve_audit_logger(endpoint.config.audit_logger),
            deps,
            Page(deps, turn.state.client),
            edited=turn.edited_arguments,
            approved=turn.approved,
        ),
        stored=list(turn.conversation.messages),
        usage_before=copy(turn.conversation.usage),
        state_before=dump_state(deps, {}),
        **earlier,
    )
    log.fail = run.stop
    checkpoints.add(log.key, run.draft, partial(run.stop, "interrupted"))
    return run


def detached_context() -> contextvars.Context:
    """Everything of the request's context but its thread, which ends with the request."""
    context = contextvars.Context()
    for variable, value in contextvars.copy_context().items():
        if variable.name not in ASGIREF_CONTEXT:
            context.run(variable.set, value)
    return context


@observed
async def drive(run: ActiveRun) -> None:
    """Append the run's events to its log; whatever happens, the log ends with one terminal event."""
    patience.set(Patience())
    last: BaseEvent | None = None
    timeout = conf.get().run_timeout_seconds
    timer = asyncio.get_running_loop().call_later(timeout, run.stop, "timeout") if timeout else None
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
        if timer:
            timer.cancel()
        try:
            await run.record()
            await release_connections()
        finally:
            checkpoints.remove(run.log.key)
            # Only now, and without a pause in between: whoever reads the end may at once start the next run.
            _end(run, last or run_error(run.events.failure or "internal_error", run.log.key, run.events.cause))


def _end(run: ActiveRun, last: BaseEvent) -> None:
    try:
        if not _append(run, last):
            _append(run, run_error("internal_error", run.log.key))
    finally:
        logs.close(run.log)


def _append(run: ActiveRun, event: BaseEvent) -> bool:
    try:
        data = to_data(event)
    except Exception:
        # A tool's own event, with something in it that has no JSON form: the run goes on without it.
        logger.exception("A %s of run %s can't be sent", event.type, run.log.key)
        return False
    run.note_event(event.type)
    _write(run, data, is_needed=event.type.endswith(BRACKETS))
    return True


def _write(run: ActiveRun, data: bytes, *, is_needed: bool = False) -> None:
    written = frame(run.log.key, len(run.log.frames) + 1, data)
    run.size += len(written)
    if run.size > conf.get().max_output_bytes:
        run.stop("output_limit")
        if not is_needed:
            return
    run.log.append(written)


async def _events(run: ActiveRun) -> AsyncGenerator[BaseEvent]:
    with capture_run_messages() as captured:
        run.events.unfinished.captured = captured
        stages = _stages(run)
        try:
            async with aclosing(stages) as events:
                async for event in events:
                    if event.type in TERMINAL and run.status is Run.Status.FAILED:
                        # Failed or stopped: what there is by now is kept before the client hears of the end.
                        await run.save_partial()
                    yield event
        except BaseException as error:
            if run.status is Run.Status.FAILED:
                run.events.failure = "internal_error" if isinstance(error, Exception) else "interrupted"  # Shut down
                run.events.cause = cause_of(error)
                await run.save_partial()
            raise


def _stages(run: ActiveRun) -> AsyncGenerator[BaseEvent]:
    """Put the stages of events/stream.py in line. Each closes the one before it."""
    endpoint, settings = run.endpoint, conf.get()
    # What a worker takes up has a stage of its own, which nothing may pass by.
    is_quick = isinstance(endpoint.agent, Agent) and not run.go_on
    adapter = Adapter(
        agent=ShortCut(endpoint.agent, run.events, partial(_write, run)) if is_quick else endpoint.agent,
        # What the client said of the past was read by us: the adapter gets the outcome.
        run_input=run.run_input.model_copy(update={"messages": [], "resume": None, "state": run.state_before}),
        manage_message_history="server",
        # Ours are instructions, which need no help. (It takes half a millisecond.)
        manage_system_prompt="server" if settings.agent_factory else "client",
        include_usage=settings.include_usage,
        shared=run.events,
    )

    async def finished(result: AgentRunResult[Any]) -> AsyncGenerator[BaseEvent]:
        paused = isinstance(result.output, DeferredToolRequests)
        run.events.requests = result.output if paused else None
        if run.events.requests:
            ask(run.events.requests, run.run_input, run.log.key, run.approvals.asked, run.events.edited)
        told = [*run.files_left_out(), *await run.follow_ups(result.output)]
        await run.save(result.new_messages(), Run.Status.PAUSED if paused else Run.Status.FINISHED)
        for event in told:
            yield event

    # Typed as iterators, made as generators.
    native: Any = adapter.run_stream_native(
        message_history=run.turn.history,
        model=endpoint.chosen_model(run.run_input),
        deferred_tool_results=run.turn.answers,
        deps=run.events.deps,
        usage=run.usage,
        usage_limits=usage_limits(endpoint.config),
        cancellation_token=run.log.token,
        instructions=run_instructions(run.run_input, endpoint.skills, run.turn.text),
        capabilities=run.capabilities(),
    )
    events: Any = adapter.transform_stream(record_tool_calls(native, run.events), on_complete=finished)
    shaped = in_sequence(shape_events(events, run.events), run.events)
    shared = share_progress(shaped, run.events.page)
    return run.go_on(shared) if run.go_on else shared


def present_followers() -> list["Follower"]:
    # Responses are closed in threads. This is one step, where `values()` would find the dictionary changed.
    return [follower for reference in followers.valuerefs() if (follower := reference())]


class Follower:
    """A reader of a run's log. With ON_DISCONNECT = "cancel", a run ends with the reader that started it.

    Raises TooManyRequests for one more than a user may have.
    """

    scope: str
    log: RunLog | None = None

    def __init__(self, scope: str) -> None:
        if sum(one.scope == scope for one in present_followers()) >= conf.get().max_readers_per_user:
            raise TooManyRequests("Too many streams at once.", headers={"Retry-After": "1"})
        self.scope = scope
        followers[id(self)] = self

    def read(self, log: RunLog, after: int = 0, *, started_run: bool = False) -> "Follower":
        self.log, self.started_run = log, started_run
        log.readers.add(self)
        self._frames = log.follow(after)
        return self

    def __aiter__(self) -> AsyncGenerator[bytes]:
        release_thread_later()
        return self._frames

    def close(self) -> None:
        """Called by Django at the end of the response, also when the client has gone, or when it never got one."""
        followers.pop(id(self), None)
        if self.log:
            self.log.readers.discard(self)
        if self.log and self.started_run and self.log.running and conf.get().on_disconnect == "cancel":
            self.log.stop()

    __del__ = close
