import pytest
from django.db import OperationalError, connection
from django.test import Client

from agui import runs
from agui.shutdown import shutdown


@pytest.mark.django_db
def test_healthz_database_answers(client: Client, settings):
    settings.AGUI = {}
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "database": True})
    assert response["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_healthz_without_redis_the_process_still_serves(client: Client, settings, monkeypatch):
    redis_logs = pytest.importorskip("agui.runlog.redis", exc_type=ImportError)
    url = "redis://127.0.0.1:1/0"  # Nobody listens there
    settings.AGUI = {"REDIS_URL": url}
    monkeypatch.setattr(runs, "logs", redis_logs.RedisLogs(url))
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "degraded", "database": True, "redis": False})


@pytest.mark.django_db
def test_healthz_database_fails(client: Client, settings):
    settings.AGUI = {}

    def refuse(execute, sql, params, many, context):
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        response = client.get("/healthz")
    assert (response.status_code, response.json()) == (503, {"status": "unavailable", "database": False})


@pytest.mark.django_db
def test_healthz_of_a_process_that_ends(client: Client, settings, monkeypatch):
    settings.AGUI = {}
    monkeypatch.setattr(shutdown, "has_begun", True)
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (503, {"status": "ending", "database": True})
    assert client.get("/livez").status_code == 200


def test_livez_needs_no_database(client: Client):
    response = client.get("/livez")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
def test_healthz_only_tells(client: Client, path: str):
    assert client.post(path).status_code == 405
