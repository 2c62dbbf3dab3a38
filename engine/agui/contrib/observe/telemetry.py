"""Spans of runs, models and tools, and their metrics.

They go to a collector, as OTLP over HTTP. OpenTelemetry's own environment variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT, say where it is. What people and models say is exported only if
AGUI["OBSERVE"]["CONTENT"] is on.

This module is imported only if AGUI["OBSERVE"]["TELEMETRY"] is on.
"""

import atexit
import os
import threading
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

from agui import clock, conf
from agui.contrib.observe.conf import ObserveSettings

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun

FLUSH_SECONDS = 3
"""The time that the end of the process waits for a collector that is slow or away."""
# These bounds are seconds, because OpenTelemetry's own are for milliseconds.
DURATIONS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640]


@dataclass
class Telemetry:
    """The providers that send the spans and metrics of this process."""

    spans: TracerProvider
    metrics: MeterProvider
    durations: Histogram

    def flush(self) -> None:
        """Send what is not sent yet, for FLUSH_SECONDS at most."""
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
    """Instrument every agent of this process, once.

    By default the environment says where spans and metrics go.
    """
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
    """Send what is not sent yet, and stop instrumenting agents."""
    global _running
    if _running is not None:
        Agent.instrument_all(False)
        atexit.unregister(_running.flush)
        _running.flush()
        _running.shutdown()
        _running = None


def flush() -> None:
    """Send what is not sent yet, because the process is about to end."""
    if _running is not None:
        _running.flush()


def _open(
    processor: SpanProcessor | None, reader: MetricReader | None
) -> tuple[TracerProvider, MeterProvider]:
    # At exit, the providers would wait for half a minute.
    spans = TracerProvider(shutdown_on_exit=False)
    readers = [reader] if reader else []
    if processor or _is_wanted("TRACES"):
        spans.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
    if not reader and _is_wanted("METRICS"):
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    if isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        # The project's own code may make spans, too.
        trace.set_tracer_provider(spans)
    return spans, MeterProvider(readers, shutdown_on_exit=False)


def _is_wanted(signal: str) -> bool:
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip() != "none"


@contextmanager
def run_span(run: "ActiveRun") -> Iterator[str]:
    """Open a span for a run, as a child of its request's span. The value is the trace's id."""
    telemetry = start()
    attributes = {"agui.run.id": run.log.key, "gen_ai.conversation.id": run.log.thread_id}
    user_id = getattr(run.setup.deps.user, "pk", None)
    if user_id is not None:
        attributes["user.id"] = str(user_id)
    tracer = telemetry.spans.get_tracer("agui")
    span = tracer.start_span("agui.run", attributes=attributes)
    try:
        # The text of an exception may quote a user.
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield trace.format_trace_id(span.get_span_context().trace_id)
    finally:
        _end(span, run, telemetry)


def _end(span: Span, run: "ActiveRun", telemetry: Telemetry) -> None:
    ending = {"agui.run.status": str(run.status)}
    if run.outcome.failure:
        ending["error.type"] = run.outcome.failure
    if run.status is run.status.FAILED:
        span.set_status(StatusCode.ERROR)
    span.set_attributes(ending)
    span.end()
    telemetry.durations.record(clock.monotonic() - run.started, ending)


@contextmanager
def continued(carrier: Mapping[str, str]) -> Iterator[None]:
    """Continue the trace that a request's headers name, unless a span is open already."""
    if trace.get_current_span().get_span_context().is_valid:
        yield
        return
    token = context.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


def carrier() -> dict[str, str]:
    """Return the current trace as headers, for another process to continue."""
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers
