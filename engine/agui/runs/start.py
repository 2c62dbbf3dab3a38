"""Begin a run: it takes the thread, stores the new turn, and goes on in a task of its own."""

import asyncio
import contextvars
from copy import copy
from functools import partial
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.db import IntegrityError
from django.db.models.functions import Now
from pydantic_ai.conversation import Conversation

from agui import parts, statements
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.agents.llm import name_of
from agui.blocking.executor import entering_request, in_database, release_connections
from agui.deps import AgentDeps
from agui.errors import Conflict
from agui.events.progress import ClientView, dump_state
from agui.events.run_state import RunSetup, ToolCalls
from agui.models import Run
from agui.protocol.run_input import check_tool_names
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs.drafts import checkpoints
from agui.runs.drive import drive, write
from agui.runs.life import life
from agui.runs.live import live
from agui.runs.processes import process_name
from agui.runs.record import ActiveRun
from agui.runs.recovery import recover
from agui.stores.base import ThreadStore
from agui.tools.audit import resolve_audit_logger
from agui.tools.timer import ToolCallTimer
from agui.turns.take import take_turn
from agui.turns.turn import Turn, load_window

# How often, and how soon again, the server looks whether the reader of a run has left.
LEAVING_LOOKS = 10
LOOK_SECONDS = 0.05
# The context variables in which asgiref keeps the operating system's thread of a request.
ASGIREF_CONTEXT = {
    "thread_sensitive_context",
    "async_single_thread_context",
    "deadlock_context",
    "asgiref.local",
}


async def reserve(scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
    """Take the thread for a new run, as RunLogs.reserve does.

    If nobody reads the thread's active run, stop that one first. Many clients "stop" a run by
    closing the connection, and the server must not refuse what the user says next. It may get the
    next request first, so it looks for a while whether the reader leaves.
    """
    for _look in range(LEAVING_LOOKS):
        try:
            return await live.logs.reserve(scope, thread_id, fingerprint)
        except Conflict as error:
            conflict = error
        if not await live.logs.stop_if_unread(scope, thread_id):
            await asyncio.sleep(LOOK_SECONDS)
    active = Run.objects.filter(scope=scope, thread_id=thread_id, status=Run.Status.RUNNING)
    conflict.extra["run"] = await in_database(active.values("run_id", "started_at").last)
    raise conflict


def start(
    log: RunLog,
    endpoint: Endpoint,
    actor: Actor,
    run_input: RunAgentInput,
    store: ThreadStore,
    path: str,
) -> None:
    """Start a run in the background.

    `log.started()` waits until it has begun or was refused, and its events come through the log.
    `path` is the URL path of the endpoint, by which workers find it.
    """
    work = _run(log, endpoint, actor, run_input, store, path)
    task = asyncio.get_running_loop().create_task(work, context=detached_context())
    live.tasks[task] = log
    task.add_done_callback(live.tasks.pop)


async def _run(
    log: RunLog,
    endpoint: Endpoint,
    actor: Actor,
    run_input: RunAgentInput,
    store: ThreadStore,
    path: str,
) -> None:
    async with ThreadSensitiveContext():
        try:
            turn = await _begin(log, endpoint, actor, run_input, store)
            executor = parts.executor()
            if executor:
                await executor.execute(log, run_input, turn, path)
            else:
                run = activate(log, endpoint, actor, run_input, turn, path=path)
        except BaseException as error:
            live.logs.release(log, error)
            if not isinstance(error, Exception):
                raise
            return
        finally:
            await release_connections()
        log.start()
        if not executor:
            await drive(run)


async def _begin(
    log: RunLog, endpoint: Endpoint, actor: Actor, run_input: RunAgentInput, store: ThreadStore
) -> Turn:
    """Store the new turn, after all checks that can refuse a run.

    Raises HttpError and RunFailed.
    """
    check_tool_names(run_input, endpoint.agent)
    await parts.check_run(actor)
    model = name_of(endpoint.model_for(run_input.forwarded_props))

    def begin(revision: str, prompt_id: str) -> None:
        run = Run(
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
        try:
            statements.insert(run)
        except IntegrityError as error:  # Another process has begun a run of this thread meanwhile.
            raise Conflict(headers={"Retry-After": "1"}) from error

    await life.begin()
    conversation = await _load(store, actor.scope, run_input.thread_id)
    return await take_turn(
        store, actor, conversation, run_input, endpoint.registry, endpoint.config, begin
    )


async def _load(store: ThreadStore, scope: str, thread_id: str) -> Conversation | None:
    """Load the end of a thread, and take up what a killed process left; None for a new thread.

    Raises Conflict while another run on the thread is active.
    """
    loaded = await load_window(store, scope, thread_id)
    if loaded.has_open_run:
        if await recover(store, scope, thread_id):
            raise Conflict(headers={"Retry-After": "1"})
        loaded = await load_window(store, scope, thread_id)
    return loaded.conversation


def activate(
    log: RunLog,
    endpoint: Endpoint,
    actor: Actor,
    run_input: RunAgentInput,
    turn: Turn,
    *,
    path: str,
    **earlier: Any,
) -> ActiveRun:
    """Put together what a run needs. `earlier` has fields for what other processes have done."""
    deps = _deps(actor, run_input, turn)
    setup = RunSetup(
        log.key,
        resolve_audit_logger(endpoint.config.audit_logger),
        deps,
        ClientView(deps, turn.state.client),
        edited=turn.edited_arguments,
        approved=turn.approved,
        tool_ended=partial(checkpoints.write_soon, log.key),
    )
    run = ActiveRun(
        setup=setup,
        calls=ToolCalls(ToolCallTimer(deps)),
        endpoint=endpoint,
        path=path,
        log=log,
        run_input=run_input,
        turn=turn,
        stored=list(turn.conversation.messages),
        usage_before=copy(turn.conversation.usage),
        state_before=dump_state(deps, {}),
        **earlier,
    )
    log.fail = run.stop
    log.add_event = partial(write, run)
    checkpoints.add(log.key, run.draft, partial(run.stop, "interrupted"))
    return run


def _deps(actor: Actor, run_input: RunAgentInput, turn: Turn) -> AgentDeps:
    context = []
    for item in run_input.context or ():
        context.append({"description": item.description, "value": item.value})
    deps = AgentDeps(
        user=actor.user,
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        state=turn.state.value,
        context=context,
        forwarded_props=run_input.forwarded_props,
        parent_run_id=run_input.parent_run_id,
        scope=actor.scope,
    )
    for part in parts.installed():
        part.fill_deps(deps, turn.history)
    return deps


def detached_context() -> contextvars.Context:
    """Copy the request's context without the operating system's thread, which ends with it."""
    context = contextvars.Context()
    for variable, value in contextvars.copy_context().items():
        if variable.name not in ASGIREF_CONTEXT:
            context.run(variable.set, value)
    context.run(entering_request())
    return context
