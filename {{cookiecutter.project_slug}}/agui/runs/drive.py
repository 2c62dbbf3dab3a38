"""One run on its way: its events go into its log, until the log ends with one terminal event.

A run belongs to the server, not to the connection that asked for it: it is a task that appends
frames to a log, and responses only follow the log.
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
from agui.blocking.executor import release_connections
from agui.blocking.patience import Patience, patience
from agui.events.adapter import Adapter
from agui.events.failures import cause_of
from agui.events.frames import frame, run_error, to_data
from agui.events.stages import pass_stages
from agui.log_fields import run_fields
from agui.models import Run
from agui.protocol.inbound import run_instructions
from agui.protocol.interrupts import ask
from agui.protocol.types import TERMINAL, BaseEvent
from agui.runs.drafts import checkpoints
from agui.runs.live import live
from agui.runs.record import ActiveRun

logger = logging.getLogger("agui.runs")

# Without these events a stream has no form
BRACKETS = ("_START", "_STARTED", "_END", "_FINISHED", "_ERROR")


async def drive(run: ActiveRun) -> None:
    """Append the run's events to its log; whatever happens, the log ends with one terminal event."""
    with (
        run_fields(run.log, run.setup.deps.user),
        parts.entered(part.run_context(run) for part in parts.installed()),
    ):
        try:
            await _drive(run)
        finally:
            log_end(run)


async def _drive(run: ActiveRun) -> None:
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
            # Only now, and without a pause in between: whoever reads the end may at once start the
            # next run.
            _end(
                run,
                last
                or run_error(
                    run.outcome.failure or "internal_error", run.log.key, run.outcome.cause
                ),
            )


def log_end(run: ActiveRun) -> None:
    """Leave one line in the log: how the run ended, what it took, and which agent and model it was."""
    well = run.status in (Run.Status.FINISHED, Run.Status.PAUSED, Run.Status.CANCELLED)
    usage, code = run.usage, "" if well else run.outcome.failure or ""
    fields = {
        "agent": run.endpoint.config.name,
        "model": run.endpoint.model_name(run.run_input.forwarded_props),
        "outcome": str(run.status),
        "code": code if code != run.status else "",
        "duration_ms": run.milliseconds(),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": None if usage.cost is None else float(usage.cost),
    }
    told = {name: value for name, value in fields.items() if value not in ("", None)}
    logger.log(logging.INFO if well else logging.WARNING, "Run ended: %s", run.status, extra=told)


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
        # A tool's own event, with something in it that has no JSON form: the run goes on without
        # it.
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
        run.unfinished.captured = captured
        stages = _begin(run)
        try:
            async with aclosing(stages) as events:
                async for event in events:
                    if event.type in TERMINAL and run.status is Run.Status.FAILED:
                        # Failed or stopped: what there is by now is kept before the client hears of
                        # the end.
                        await run.save_partial()
                    yield event
        except BaseException as error:
            if run.status is Run.Status.FAILED:
                # Shut down
                run.outcome.failure = (
                    "internal_error" if isinstance(error, Exception) else "interrupted"
                )
                run.outcome.cause = cause_of(error)
                await run.save_partial()
            raise


def _begin(run: ActiveRun) -> AsyncGenerator[BaseEvent]:
    """Let the agent begin, and pass its events through the stages."""
    endpoint, settings = run.endpoint, conf.get()
    adapter = Adapter(
        agent=endpoint.agent,
        # What the client said of the past was read by us: the adapter gets the outcome.
        run_input=run.run_input.model_copy(
            update={"messages": [], "resume": None, "state": run.state_before}
        ),
        manage_message_history="server",
        # Ours are instructions, which need no help. (It takes half a millisecond.)
        manage_system_prompt="server" if settings.agent_factory else "client",
        include_usage=settings.include_usage,
        shared=run,
    )

    async def finished(result: AgentRunResult[Any]) -> AsyncGenerator[BaseEvent]:
        paused = isinstance(result.output, DeferredToolRequests)
        run.outcome.requests = result.output if paused else None
        if run.outcome.requests:
            ask(
                run.outcome.requests,
                run.run_input,
                run.log.key,
                run.approvals.asked,
                run.setup.edited,
            )
        told = await run.additions(result.output)
        await run.save(result.new_messages(), Run.Status.PAUSED if paused else Run.Status.FINISHED)
        for event in told:
            yield event

    # Typed as an iterator, made as a generator.
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
    # A worker that goes on with a run has a stage of its own, which texts have to pass.
    events = pass_stages(
        native, adapter, run, finished, None if run.go_on else partial(_write, run)
    )
    return run.go_on(events) if run.go_on else events
