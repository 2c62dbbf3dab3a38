"""Spans of runs, models and tools, and their metrics.

Imported only while AGUI["OBSERVE"]["TELEMETRY"] is on.

Where they go is said by OpenTelemetry's own variables of the environment, as
OTEL_EXPORTER_OTLP_ENDPOINT: to a collector, as OTLP over HTTP. What people and models say goes
nowhere unless AGUI["OBSERVE"]["CONTENT"] is on, too.
"""

import atexit
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry import context, propagate, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import ProxyTracerProvider, Span, StatusCode
from pydantic_ai import Agent, InstrumentationSettings

from agui import conf
from agui.contrib.observe.conf import ObserveSettings

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun

# How long the end of the process waits for a collector that is slow or away.
FLUSH_SECONDS = 3
# In seconds: OpenTelemetry's own bounds are for milliseconds.
DURATIONS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640]


@dataclass
class Telemetry:
    """What this process sends its spans and metrics with."""

    spans: TracerProvider
    metrics: MeterProvider
    durations: Histogram

    def flush(self) -> None:
        """Send what waits, for FLUSH_SECONDS at most."""
        sender = threading.Thread(target=self._flush, daemon=True)
        sender.start()
        sender.join(FLUSH_SECONDS)

    def _flush(self) -> None:
        self.spans.force_flush()
        self.metrics.force_flush()

    def shutdown(self) -> None:
        self.spans.shutdown()
        self.metrics.shutdown()


_running: Telemetry | None = None


def start(
    *, processor: SpanProcessor | None = None, reader: MetricReader | None = None
) -> Telemetry:
    """Instrument every agent of this process, once; by default what comes of it goes where the environment says."""
    global _running
    if _running is None:
        spans, meters = _open(processor, reader)
        durations = meters.get_meter("agui").create_histogram(
            "agui.run.duration",
            unit="s",
            description="How long runs took, by how they ended.",
            explicit_bucket_boundaries_advisory=DURATIONS,
        )
        _running = Telemetry(spans, meters, durations)
        content = conf.part(ObserveSettings).content
        Agent.instrument_all(
            InstrumentationSettings(
                tracer_provider=spans,
                meter_provider=meters,
                include_content=content,
                include_binary_content=False,
                include_model_request_parameters=content,
            )
        )
        atexit.register(_running.flush)
    return _running


def stop() -> None:
    """Send what waits, and instrument nothing any more."""
    global _running
    if _running is not None:
        Agent.instrument_all(False)
        atexit.unregister(_running.flush)
        _running.flush()
        _running.shutdown()
        _running = None


def flush() -> None:
    """Send what waits: the process is about to end."""
    if _running is not None:
        _running.flush()


def _open(
    processor: SpanProcessor | None, reader: MetricReader | None
) -> tuple[TracerProvider, MeterProvider]:
    # At the end of the process they would wait for half a minute.
    spans, readers = TracerProvider(shutdown_on_exit=False), [reader] if reader else []
    if processor or _is_wanted("TRACES"):
        spans.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
    if not reader and _is_wanted("METRICS"):
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    if isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        trace.set_tracer_provider(spans)  # For the spans that the project's own code makes
    return spans, MeterProvider(readers, shutdown_on_exit=False)


def _is_wanted(signal: str) -> bool:
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip() != "none"


@contextmanager
def run_span(run: "ActiveRun") -> Iterator[str]:
    """Have a span for all of a run, below that of the request that asked for it; its trace's id is returned."""
    telemetry, user_id = start(), getattr(run.setup.deps.user, "pk", None)
    span = telemetry.spans.get_tracer("agui").start_span(
        "agui.run",
        attributes={
            "agui.run.id": run.log.key,
            "gen_ai.conversation.id": run.log.thread_id,
            **({} if user_id is None else {"user.id": str(user_id)}),
        },
    )
    try:
        # What an exception says may be what a user said.
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield trace.format_trace_id(span.get_span_context().trace_id)
    finally:
        _end(span, run, telemetry)


def _end(span: Span, run: "ActiveRun", telemetry: Telemetry) -> None:
    how = {"agui.run.status": str(run.status)}
    if run.outcome.failure:
        how["error.type"] = run.outcome.failure
    if run.status is run.status.FAILED:
        span.set_status(StatusCode.ERROR)
    span.set_attributes(how)
    span.end()
    telemetry.durations.record(time.monotonic() - run.started, how)


@contextmanager
def continued(carrier: Mapping[str, str]) -> Iterator[None]:
    """Continue the trace that a request's headers name, unless something here has begun to."""
    if trace.get_current_span().get_span_context().is_valid:
        yield
        return
    token = context.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


def carrier() -> dict[str, str]:
    """The present trace as headers, for another process to continue."""
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers
