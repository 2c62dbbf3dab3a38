"""OpenTelemetry from real processes: what they send when they end, of a run in a server and of one in a worker."""

import signal
from contextlib import ExitStack
from http.server import ThreadingHTTPServer

import pytest
from postgresql import PostgreSQL
from redis_server import RedisServer
from servers import Quiet, answering, end, serve

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}


class Collector(Quiet):
    """An OTLP receiver: its server's `spans` are the bodies that it was sent."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            self.server.spans.append(body)
        self.send_response(200)
        self.end_headers()


def telemetry(collector: ThreadingHTTPServer, name: str) -> dict[str, str]:
    # So late that only the end of a process sends anything.
    late = {"OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
    return {"TELEMETRY": "1", "OTEL_SERVICE_NAME": name, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **late}


@pytest.mark.parametrize("executor", ["web", "worker"])
def test_the_process_of_a_run_sends_it_with_its_trace_when_it_ends(
    furnished, postgresql_server: PostgreSQL, redis: RedisServer, executor: str
):
    settings = {"DATABASE_URL": postgresql_server.create(f"traces_of_{executor}"), "REDIS_URL": redis.url}
    settings["RUN_EXECUTOR"] = "dbos" if executor == "worker" else "local"
    with answering(Collector, spans=[]) as collector:
        with serve(furnished(), **settings, **telemetry(collector, "web")) as live, ExitStack() as stack:
            if executor == "worker":
                worker = live.start_worker(**telemetry(collector, "worker"))
                stack.callback(end, worker.process, signal.SIGTERM)
            stream = live.client(live.token).run("list_tasks sesame", headers=HEADERS)
            assert stream[-1]["type"] == "RUN_FINISHED"
            assert collector.spans == []
        (body,) = [body for body in collector.spans if b"agui.run" in body]
    assert all(word in body for word in (executor.encode(), b"execute_tool list_tasks", bytes.fromhex(TRACE_ID)))
    assert b"sesame" not in body
