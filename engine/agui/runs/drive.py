"""Execute a run: append its events to its log, which ends with one terminal event.

A run belongs to the server, not to the connection of the client that started it. It is a task that
appends frames to a log, and responses only follow the log.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

from pydantic_ai import DeferredToolRequests, capture_run_messages
from pydantic_ai.run import AgentRunResult

from agui import conf, parts
from agui.agents.config import usage_limits
from agui.agents.hooks import serving
from agui.agents.model_failures import is_refusal
from agui.blocking.executor import release_connections
from agui.blocking.patience import Patience, patience
from agui.errors import RunFailed
from agui.events.adapter import Adapter
from agui.events.failures import cause_of
from agui.events.frames import frame, run_error, to_data
from agui.events.stages import pass_stages
from agui.log_fields import run_fields
from agui.models import Run
from agui.protocol.inbound import run_instructions
from agui.protocol.interrupts import ask
from agui.protocol.types import TERMINAL, BaseEvent, EventType
from agui.runs.drafts import checkpoints
from agui.runs.live import live
from agui.runs.record import ActiveRun

logger = logging.getLogger("agui.runs")

# The endings of the types of events without which clients can't read a stream. They are sent even
# if a run has reached the limit of its output.
BRACKETS = ("_START", "_STARTED", "_END", "_FINISHED", "_ERROR")


async def drive(run: ActiveRun) -> None:
    """Append the run's events to its log. In any case the log ends with one terminal event."""
    contexts = (part.run_context(run) for part in parts.implementing("run_context"))
    with run_fields(run.log, run.setup.deps.user), parts.entered(contexts):
        try:
            await _drive(run)
        finally:
            log_end(run)


async def _drive(run: ActiveRun) -> None:
    patience.set(Patience())
    serving.set(run.served)
    last: BaseEvent | None = None
    timer = None
    timeout = conf.get().run_timeout_seconds
    if timeout:
        timer = asyncio.get_running_loop().call_later(timeout, run.stop, "timeout")
    try:
        async with aclosing(_events(run)) as events:
            async for event in events:
                if event.type in TERMINAL:
                    last = event
                    continue
                _append(run, event)
                if event.type == EventType.RUN_STARTED:
                    # Let the response send it, before the agent is set up.
                    await asyncio.sleep(0)
    except Exception:
        logger.exception("Run %s of thread %s crashed", run.log.key, run.log.thread_id)
    finally:
        if timer:
            timer.cancel()
        try:
            await run.record()
            await release_connections()
        finally:
            checkpoints.remove(run.log.key)
            # From here to the end of the log there must be no pause: a client that reads the end
            # may start the next run at once.
            if last is None:
                code = run.outcome.failure or "internal_error"
                last = run_error(code, run.log.key, run.outcome.cause)
            _end(run, last)
            # Timers that asyncio has cancelled keep the context of this task for minutes.
            run.served.run = None


def log_end(run: ActiveRun) -> None:
    """Log one line: how the run ended, its duration and usage, and its agent and model."""
    fields: dict[str, Any] = {
        "agent": run.endpoint.config.name,
        "model": run.model,
        "outcome": str(run.status),
        "duration_ms": run.milliseconds(),
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
    }
    level = logging.INFO
    if run.status not in (Run.Status.FINISHED, Run.Status.PAUSED, Run.Status.CANCELLED):
        level = logging.WARNING
        if run.outcome.failure != run.status:
            fields["code"] = run.outcome.failure
    if run.usage.cost is not None:
        fields["cost"] = float(run.usage.cost)
    extra = {name: value for name, value in fields.items() if value not in ("", None)}
    logger.log(level, "Run ended: %s", run.status, extra=extra)


def _end(run: ActiveRun, last: BaseEvent) -> None:
    try:
        if not _append(run, last):
            _append(run, run_error("internal_error", run.log.key))
    finally:
        live.logs.close(run.log)


def _append(run: ActiveRun, event: BaseEvent) -> bool:
    try:
        data = to_data(event)
    except Exception:
        # An event of a tool may hold a value that has no JSON form. The run goes on without it.
        logger.exception("Dropping a %s of run %s: it has no JSON form", event.type, run.log.key)
        return False
    run.record_event(event.type)
    write(run, data, is_needed=event.type.endswith(BRACKETS))
    return True


def write(run: ActiveRun, data: bytes, *, is_needed: bool = False) -> None:
    """Append the data of an event to the run's log.

    A run that has reached the limit of its output stops, and then writes only what is needed.
    """
    written = frame(run.log.key, len(run.log.frames) + 1, data)
    run.size += len(written)
    if run.size > conf.get().max_output_bytes:
        run.stop("output_limit")
        if not is_needed:
            return
    run.log.append(written)


async def _events(run: ActiveRun) -> AsyncGenerator[BaseEvent]:
    with capture_run_messages() as captured:
        run.unfinished.captured = captured
        stages = _begin(run)
        try:
            async with aclosing(stages) as events:
                async for event in events:
                    if event.type in TERMINAL and run.status is Run.Status.FAILED:
                        # The run failed or was stopped. Store what it has added before a client
                        # reads the end.
                        await run.save_partial()
                    yield event
        except BaseException as error:
            if run.status is Run.Status.FAILED:
                # The server shuts down, or a stage has a mistake.
                is_mistake = isinstance(error, Exception)
                run.outcome.failure = "internal_error" if is_mistake else "interrupted"
                run.outcome.cause = cause_of(error)
                await run.save_partial()
            raise


def _begin(run: ActiveRun) -> AsyncGenerator[BaseEvent]:
    """Start the agent, and pass its events through the stages."""
    endpoint, settings = run.endpoint, conf.get()
    # The server has read the client's messages, answers and state. The adapter gets the result.
    changes = {"messages": [], "resume": None, "state": run.state_before}
    adapter = Adapter(
        agent=endpoint.agent,
        run_input=run.run_input.model_copy(update=changes),
        manage_message_history="server",
        # Agents of the engine have instructions, which pydantic-ai adds itself. Only an agent of
        # the project may have a system prompt, and adding that takes half a millisecond.
        manage_system_prompt="server" if settings.agent_factory else "client",
        include_usage=settings.include_usage,
        shared=run,
    )
    # pydantic-ai's annotation says iterator, but it is a generator, which the first stage closes.
    native: Any = adapter.run_stream_native(
        message_history=run.turn.history,
        model=endpoint.chosen_model(run.run_input.forwarded_props),
        deferred_tool_results=run.turn.answers,
        deps=run.setup.deps,
        usage=run.usage,
        usage_limits=usage_limits(endpoint.config),
        cancellation_token=run.log.token,
        instructions=run_instructions(run.run_input, endpoint.skills, run.turn.text),
        capabilities=run.capabilities(),
    )
    for part in parts.installed():
        native = part.wrap_events(run, native)
    stages = pass_stages(native, adapter, run, partial(_finish, run))
    if run.join_to_log:
        return run.join_to_log(stages)
    return stages


async def _finish(run: ActiveRun, result: AgentRunResult[Any]) -> AsyncGenerator[BaseEvent]:
    """Store what a run has added, and yield the events that come before its last one."""
    status = Run.Status.FINISHED
    if isinstance(result.output, DeferredToolRequests):
        status = Run.Status.PAUSED
        run.outcome.requests = result.output
        ask(result.output, run.run_input, run.log.key, run.served.asked, run.setup.edited)
    elif is_refusal(result.response):
        raise RunFailed("model_refused")
    additions = await run.additions(result.output, result.response)
    await run.save(result.new_messages(), status)
    for event in additions:
        yield event
