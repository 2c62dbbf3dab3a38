"""Who looks on from outside: the log, and with AGUI["TELEMETRY"] OpenTelemetry (otel.py)."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any

from agui import conf
from agui.models import Run
from agui.runs.log_fields import current, log_fields

if TYPE_CHECKING:
    from agui.runlog.memory import RunLog
    from agui.runs.record import ActiveRun

logger = logging.getLogger("agui.runs")

# otel.py is imported where it is needed only: its library is an extra.


def observed(drive: Callable[["ActiveRun"], Awaitable[None]]) -> Callable[["ActiveRun"], Awaitable[None]]:
    """Let the log tell, all along, whose run it is; with TELEMETRY, have a span for it."""

    @wraps(drive)
    async def driven(run: "ActiveRun") -> None:
        with _ids(run.log, run.events.deps.user), _span(run) as trace_id, log_fields(trace_id=trace_id):
            try:
                await drive(run)
            finally:
                log_end(run)

    return driven


def log_end(run: "ActiveRun") -> None:
    """Leave one line in the log: how the run ended, what it took, and which agent and model it was."""
    well = run.status in (Run.Status.FINISHED, Run.Status.PAUSED, Run.Status.CANCELLED)
    usage, code = run.usage, "" if well else run.events.failure or ""
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


@contextmanager
def begun(log: "RunLog", user: Any, headers: Mapping[str, str]) -> Iterator[None]:
    """Let what is begun here be known as a run's, and as a part of the trace that its request names."""
    with _ids(log, user), continued(headers):
        yield


def _ids(log: "RunLog", user: Any) -> AbstractContextManager[None]:
    user_id = "" if user.pk is None else str(user.pk)
    return log_fields(run_id=log.key, thread_id=log.thread_id, user_id=user_id)


def _span(run: "ActiveRun") -> AbstractContextManager[str]:
    if not conf.get().telemetry:
        return nullcontext("")
    from agui.contrib.observe import otel

    return otel.run_span(run)


def continued(headers: Mapping[str, str]) -> AbstractContextManager[None]:
    """With TELEMETRY, continue the trace that these headers name."""
    if not conf.get().telemetry:
        return nullcontext()
    from agui.contrib.observe import otel

    return otel.continued(headers)


def carrier() -> dict[str, str]:
    """The present trace as headers, for another process to continue."""
    if not conf.get().telemetry:
        return {}
    from agui.contrib.observe import otel

    return otel.carrier()


def flush() -> None:
    """With TELEMETRY, send what waits: the process is about to end. It may take seconds."""
    if conf.get().telemetry:
        from agui.contrib.observe import otel

        otel.flush()


def trace_metadata() -> dict[str, str] | None:
    """What an error tells of the trace that it is in, for somebody to quote."""
    trace_id = current().get("trace_id")
    return {"traceId": trace_id} if trace_id else None
