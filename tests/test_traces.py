"""OpenTelemetry from real processes: what a server sends when it ends, and a run that a worker executes."""

import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from postgresql import PostgreSQL
from redis_server import RedisServer, find_redis
from servers import project_environment, serve

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}


@pytest.fixture
def collector() -> Iterator[ThreadingHTTPServer]:
    """An OTLP receiver: `spans` are the bodies that it was sent."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                self.server.spans.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.spans = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def telemetry(collector: ThreadingHTTPServer, name: str) -> dict[str, str]:
    endpoint = f"http://127.0.0.1:{collector.server_port}"
    # So late that only the end of a process sends anything.
    late = {"OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
    return {"TELEMETRY": "1", "OTEL_SERVICE_NAME": name, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **late}


def test_a_server_that_ends_sends_what_waits(project: Path, collector: ThreadingHTTPServer):
    with serve(project, **telemetry(collector, "web")) as live:
        stream = live.client(live.token).run("list_tasks sesame", headers=HEADERS)
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert collector.spans == []
    (body,) = collector.spans
    assert all(word in body for word in (b"agui.run", b"execute_tool list_tasks", bytes.fromhex(TRACE_ID)))
    assert b"sesame" not in body


@pytest.mark.skipif(not find_redis(), reason="Redis is not installed")
def test_a_run_of_a_worker_is_in_the_trace_of_the_request(
    project: Path, collector: ThreadingHTTPServer, postgresql_server: PostgreSQL, tmp_path: Path
):
    redis = RedisServer(tmp_path)
    redis.start()
    settings = {
        "DATABASE_URL": postgresql_server.create("traces"),
        "REDIS_URL": redis.url,
        "RUN_EXECUTOR": "dbos",
    }
    try:
        with serve(project, **settings, **telemetry(collector, "web")) as live:
            environment = project_environment(**live.settings | telemetry(collector, "worker"))
            with (project / "worker.log").open("wb") as log:
                worker = subprocess.Popen(
                    [project / ".venv/bin/python", "manage.py", "agent_worker"],
                    cwd=project,
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            try:
                stream = live.client(live.token).run("list_tasks", headers=HEADERS)
            finally:
                worker.send_signal(signal.SIGTERM)
                worker.wait(timeout=60)
            assert stream[-1]["type"] == "RUN_FINISHED", (project / "worker.log").read_text()
    finally:
        redis.stop()
    (body,) = [body for body in collector.spans if b"agui.run" in body]
    assert b"worker" in body
    assert bytes.fromhex(TRACE_ID) in body
