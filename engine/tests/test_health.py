"""What a server says of itself to those who look whether it works."""

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from agui.runs import recovery
from agui.runs.live import live
from agui.runs.shutdown import shutdown


@pytest.fixture
def probe(settings: Any) -> Client:
    settings.ROOT_URLCONF = "config.urls"
    settings.AGUI = {}
    return Client()


def healthz(probe: Client) -> tuple[int, Any]:
    response = probe.get("/healthz")
    assert response["Cache-Control"] == "no-store"
    return response.status_code, response.json()


@pytest.mark.django_db
def test_healthz_says_what_works(probe: Client, monkeypatch: pytest.MonkeyPatch):
    def told() -> tuple[int, str, bool]:
        status, body = healthz(probe)
        return status, body["status"], body["database"]

    assert told() == (200, "ok", True)

    def refuse(*args: Any) -> None:
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        assert told() == (503, "unavailable", False)
    monkeypatch.setattr(shutdown, "has_begun", True)
    assert told() == (503, "ending", True)
    assert probe.get("/livez").status_code == 200


@pytest.mark.django_db
def test_healthz_without_redis_the_process_still_serves(probe: Client, settings: Any, monkeypatch: pytest.MonkeyPatch):
    redis_logs = pytest.importorskip("agui.contrib.redis.logs", exc_type=ImportError)
    url = "redis://127.0.0.1:1/0"  # Nobody listens there
    settings.AGUI = {"REDIS": {"URL": url}}
    monkeypatch.setattr(live, "logs", redis_logs.RedisLogs(url, recovery))
    assert healthz(probe) == (200, {"status": "degraded", "database": True, "redis": False})


def test_livez_needs_no_database(probe: Client):
    response = probe.get("/livez")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert response["Cache-Control"] == "no-store"
    for path in ("/healthz", "/livez"):
        assert probe.post(path).status_code == 405
