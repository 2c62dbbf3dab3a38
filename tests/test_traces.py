"""OpenTelemetry from real processes: what a server sends when it ends, and a run that a worker executes."""

import signal
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from postgresql import PostgreSQL
from redis_server import RedisServer
from servers import Quiet, answering, serve

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}


@pytest.fixture
def collector() -> Iterator[ThreadingHTTPServer]:
    """An OTLP receiver: `spans` are the bodies that it was sent."""

    class Receiver(Quiet):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                self.server.spans.append(body)
            self.send_response(200)
            self.end_headers()

    with answering(Receiver, spans=[]) as server:
        yield server


def telemetry(collector: ThreadingHTTPServer, name: str) -> dict[str, str]:
    # So late that only the end of a process sends anything.
    late = {"OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
    return {"TELEMETRY": "1", "OTEL_SERVICE_NAME": name, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **late}


def test_a_server_that_ends_sends_what_waits(project: Path, collector: ThreadingHTTPServer):
    with serve(project, **telemetry(collector, "web")) as live:
        stream = live.client(live.token).run("list_tasks sesame", headers=HEADERS)
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert collector.spans == []
    (body,) = collector.spans
    assert all(word in body for word in (b"agui.run", b"execute_tool list_tasks", bytes.fromhex(TRACE_ID)))
    assert b"sesame" not in body


def test_a_run_of_a_worker_is_in_the_trace_of_the_request(
    project: Path, collector: ThreadingHTTPServer, postgresql_server: PostgreSQL, redis: RedisServer
):
    settings = {"DATABASE_URL": postgresql_server.create("traces"), "REDIS_URL": redis.url, "RUN_EXECUTOR": "dbos"}
    with serve(project, **settings, **telemetry(collector, "web")) as live:
        worker = live.begin_worker(**telemetry(collector, "worker"))
        try:
            stream = live.client(live.token).run("list_tasks", headers=HEADERS)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(timeout=60)
        assert stream[-1]["type"] == "RUN_FINISHED", (project / "worker.log").read_text()
    (body,) = [body for body in collector.spans if b"agui.run" in body]
    assert b"worker" in body
    assert bytes.fromhex(TRACE_ID) in body
