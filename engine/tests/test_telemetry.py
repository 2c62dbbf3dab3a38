"""What OpenTelemetry hears of a run, and what it does not."""

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.exceptions import ImproperlyConfigured

from agui import conf
from agui.contrib.observe.checks import check_telemetry
from agui.log_fields import RunFields
from agui.models import Run
from agui.runs.shutdown import end_runs
from agui.testing import Chat, call, collect, fail, say
from tests.conftest import Client, run_input, script

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", exc_type=ImportError)

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agui.contrib.observe import telemetry

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"


class Exported:
    """What would have left the process."""

    def __init__(self):
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()

    @property
    def spans(self):
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def metrics(self):
        data = json.loads(self.reader.get_metrics_data().to_json())
        scopes = [scope for resource in data["resource_metrics"] for scope in resource["scope_metrics"]]
        return {metric["name"]: metric["data"]["data_points"] for scope in scopes for metric in scope["metrics"]}

    def text(self):
        return "".join(span.to_json() for span in self.exporter.get_finished_spans()) + json.dumps(self.metrics())


@pytest.fixture(autouse=True)
def not_for_the_whole_process(monkeypatch):
    """It would stay when it is stopped, and warn of each span of other tests' libraries."""
    monkeypatch.setattr(telemetry.trace, "set_tracer_provider", lambda _: None)


@contextmanager
def exporting(settings, **options):
    settings.AGUI = {"OBSERVE": {"TELEMETRY": True, **options}}
    seen = Exported()
    telemetry.start(processor=SimpleSpanProcessor(seen.exporter), reader=seen.reader)
    try:
        yield seen
    finally:
        telemetry.stop()


@pytest.fixture
def exported(settings):
    with exporting(settings) as seen:
        yield seen


@contextmanager
def collector(settings, monkeypatch, is_open=None):
    """An OTLP receiver on a real socket: what it was sent, by path. It waits for `is_open` before it answers."""
    settings.AGUI = {"OBSERVE": {"TELEMETRY": True}}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    received, answered = {}, []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.setdefault(self.path, []).append((self.headers, body))
            if is_open:
                is_open.wait(60)
            answered.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        server.received, server.answered = received, answered
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            if is_open:
                is_open.set()
            telemetry.stop()
            server.shutdown()
            thread.join()


async def test_a_run_is_one_tree_of_spans_below_the_request_that_asked(client: Client, exported):
    with script(call("echo", text="Hello"), say("Done.")):
        response = await client.post(run_input("Hi", thread="t7"), traceparent=TRACEPARENT)
        assert response.status_code == 200
        await collect(response)
    spans, run = exported.spans, await Run.objects.aget()
    root = spans["agui.run"]
    assert (root.parent.span_id, root.parent.is_remote) == (int(SPAN_ID, 16), True)
    assert {f"{span.context.trace_id:032x}" for span in spans.values()} == {TRACE_ID}
    agent = next(span for name, span in spans.items() if name.startswith("invoke_agent"))
    assert agent.parent.span_id == root.context.span_id
    inner = {name for name, span in spans.items() if span.parent.span_id == agent.context.span_id}
    assert inner >= {"chat scripted", "execute_tool echo"}
    about = {"agui.run.id": str(run.pk), "agui.run.status": "finished", "user.id": str(client.user.pk)}
    assert dict(root.attributes) == {"gen_ai.conversation.id": "t7", **about}


async def test_without_a_traceparent_each_run_is_a_trace_of_its_own_and_measured(client: Client, exported, caplog):
    with script([say("Half"), fail(RuntimeError("The cable is cut."))], call("wipe"), say("Hello")):
        for number in range(3):
            await client.run("Hi", thread=f"t{number}")
    roots = [span for span in exported.exporter.get_finished_spans() if span.name == "agui.run"]
    assert [span.parent for span in roots] == [None] * 3
    assert len({span.context.trace_id for span in roots}) == 3
    measured = exported.metrics()
    ends = {point["attributes"]["agui.run.status"]: point for point in measured["agui.run.duration"]}
    assert {how: point["count"] for how, point in ends.items()} == {"failed": 1, "paused": 1, "finished": 1}
    assert "gen_ai.client.token.usage" in measured
    assert "user.id" not in json.dumps(measured)
    # Generators must be closed where they were opened, also when a run is stopped in the middle.
    assert [record for record in caplog.records if record.name.startswith("opentelemetry")] == []


@pytest.mark.parametrize("is_wanted", [False, True])
async def test_what_is_said_is_exported_only_if_the_project_wants_it(client: Client, settings, is_wanted):
    with exporting(settings, CONTENT=is_wanted) as seen:
        with script(call("echo", text="sesame-argument"), call("broken"), say("sesame-answer")):
            await client.run("sesame-prompt", context=[{"description": "page", "value": "sesame-page"}])
        with script(fail(RuntimeError("sesame-error"))):
            await client.run("sesame-prompt")
        told = seen.text()
    assert "execute_tool broken" in told
    if is_wanted:
        assert all(word in told for word in ("sesame-prompt", "sesame-argument", "sesame-answer"))
    else:
        assert "sesame" not in told
        assert "hunter2" not in told  # What the tool's exception says


async def test_an_error_tells_its_trace_to_the_client_and_to_the_log(client: Client, exported, caplog):
    tagger = RunFields()
    caplog.handler.addFilter(tagger)
    with script(fail(RuntimeError("The cable is cut."))):
        events = await client.run("Hi")
    caplog.handler.removeFilter(tagger)
    root = exported.spans["agui.run"]
    trace_id = f"{root.context.trace_id:032x}"
    assert events[-1]["type"] == "RUN_ERROR"
    assert events[-1]["metadata"]["traceId"] == trace_id
    assert root.status.status_code.name == "ERROR"
    assert (root.attributes["agui.run.status"], root.attributes["error.type"]) == ("failed", "internal_error")
    record = next(record for record in caplog.records if "failed: internal_error" in record.getMessage())
    assert record.trace_id == trace_id


async def test_an_error_without_telemetry_has_no_trace(client: Client):
    with script(fail(RuntimeError("The cable is cut."))):
        assert "traceId" not in (await client.run("Hi"))[-1]["metadata"]


async def test_a_stopped_run_ends_its_span(client: Client, exported, settings):
    settings.AGUI = {"OBSERVE": {"TELEMETRY": True}, "MAX_OUTPUT_BYTES": 500}
    with script(say("long " * 200, chunks=100)):
        events = await client.run("Hi")
    assert events[-1]["code"] == "output_limit"
    assert exported.spans["agui.run"].attributes["error.type"] == "output_limit"


async def test_a_collector_gets_all_when_the_server_ends(client: Client, settings, monkeypatch):
    with collector(settings, monkeypatch) as server:
        with script(call("echo", text="sesame"), say("Done.")):
            await client.run("Hi")
        await end_runs()
        ((headers, body),) = server.received["/v1/traces"]
        measured = server.received["/v1/metrics"][0][1]
    sent = ExportTraceServiceRequest.FromString(body).resource_spans[0]
    names = {span.name for scope in sent.scope_spans for span in scope.spans}
    assert names >= {"agui.run", "chat scripted", "execute_tool echo"}
    assert "shop" in {attribute.value.string_value for attribute in sent.resource.attributes}
    assert headers["Authorization"] == "Bearer key"
    assert b"sesame" not in body
    scopes = ExportMetricsServiceRequest.FromString(measured).resource_metrics[0].scope_metrics
    assert "agui.run.duration" in {metric.name for scope in scopes for metric in scope.metrics}


async def test_a_collector_that_hangs_holds_up_neither_a_run_nor_the_end(client: Client, settings, monkeypatch):
    monkeypatch.setattr(telemetry, "FLUSH_SECONDS", 0.1)
    with collector(settings, monkeypatch, is_open=threading.Event()) as server:
        with script(say("Hello")):
            events = await client.run("Hi")
        await end_runs()
        assert server.answered == []
    assert events[-1]["type"] == "RUN_FINISHED"


def test_a_signal_that_nobody_wants_goes_nowhere(settings, monkeypatch):
    settings.AGUI = {"OBSERVE": {"TELEMETRY": True}}
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    started = telemetry.start()
    try:
        assert started.spans._active_span_processor._span_processors == ()
    finally:
        telemetry.stop()


def test_a_trace_goes_on_in_another_process_unless_there_is_a_span(exported):
    with telemetry.continued({"traceparent": TRACEPARENT}):
        headers = telemetry.carrier()
    assert headers["traceparent"] == TRACEPARENT
    assert telemetry.carrier() == {}
    tracer = telemetry.start().spans.get_tracer("test")
    with tracer.start_as_current_span("request") as span, telemetry.continued({"traceparent": TRACEPARENT}):
        assert f"{span.get_span_context().trace_id:032x}" in telemetry.carrier()["traceparent"]


def test_without_its_library_the_setting_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['OBSERVE'\]\['TELEMETRY'\].*agui-django\[observe\]"):
        conf.load({"OBSERVE": {"TELEMETRY": True}})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", ["agui.E010"]),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf", []),
        ("OTEL_METRICS_EXPORTER", "prometheus", ["agui.E010"]),
        ("OTEL_TRACES_EXPORTER", "none", []),
    ],
)
def test_a_variable_that_asks_for_another_way_is_refused(settings, monkeypatch, name, value, expected):
    monkeypatch.setenv(name, value)
    settings.AGUI = {}
    assert check_telemetry() == []
    settings.AGUI = {"OBSERVE": {"TELEMETRY": True}}
    assert [message.id for message in check_telemetry()] == expected


def test_a_project_without_telemetry_does_not_load_it(settings):
    program = "import django, sys; django.setup(); import agui.http.views; print('opentelemetry.sdk' in sys.modules)"
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "1", "PATH": ""}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


# --- The recipes of agui/manual/recipes/observe.md


async def test_add_a_span(paste, user, settings, monkeypatch):
    recipe = paste("observe#add-a-span-of-your-own")
    with exporting(settings) as seen:
        # A process has one provider, which would outlive this test.
        tracer = telemetry.start().spans.get_tracer("recipe")
        monkeypatch.setattr(recipe.modules["assistant/tools.py"], "tracer", tracer)
        await Chat(user, call("look_up_price", product="lamp"), say("12 euros.")).send("What is a lamp?")
        assert "12 euros" not in seen.text()
    spans = {span.context.span_id: span for span in seen.spans.values()}
    span = seen.spans["ask the shop"]
    line = []
    while span:
        line.append(span.name)
        span = spans.get(span.parent.span_id) if span.parent else None
    assert line == ["ask the shop", "execute_tool look_up_price", "invoke_agent assistant", "agui.run"]


async def test_trace_one_agent_only(paste, user):
    recipe = paste("observe#trace-one-agent-only")
    exporter = InMemorySpanExporter()
    recipe.traces.add_span_processor(SimpleSpanProcessor(exporter))
    await Chat(user, say("Secret.")).send("Hi")
    spans = exporter.get_finished_spans()
    assert [span.name.partition(" ")[0] for span in spans] == ["chat", "invoke_agent"]
    assert "Secret" not in "".join(span.to_json() for span in spans)
