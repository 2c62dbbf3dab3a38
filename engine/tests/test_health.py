import pytest
from django.db import OperationalError, connection
from django.test import Client as DjangoClient

from agui.runs import recovery
from agui.runs.live import live
from agui.runs.shutdown import shutdown


@pytest.fixture
def django_client(settings) -> DjangoClient:
    settings.ROOT_URLCONF = "config.urls"
    return DjangoClient()


@pytest.mark.django_db
def test_healthz_database_answers(django_client: DjangoClient, settings):
    settings.AGUI = {}
    response = django_client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "database": True})
    assert response["Cache-Control"] == "no-store"
    for path in ("/healthz", "/livez"):
        assert django_client.post(path).status_code == 405


@pytest.mark.django_db
def test_healthz_without_redis_the_process_still_serves(django_client: DjangoClient, settings, monkeypatch):
    redis_logs = pytest.importorskip("agui.contrib.redis.logs", exc_type=ImportError)
    url = "redis://127.0.0.1:1/0"  # Nobody listens there
    settings.AGUI = {"REDIS": {"URL": url}}
    monkeypatch.setattr(live, "logs", redis_logs.RedisLogs(url, recovery))
    response = django_client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "degraded", "database": True, "redis": False})


@pytest.mark.django_db
def test_healthz_database_fails(django_client: DjangoClient, settings):
    settings.AGUI = {}

    def refuse(execute, sql, params, many, context):
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        response = django_client.get("/healthz")
    assert (response.status_code, response.json()) == (503, {"status": "unavailable", "database": False})


@pytest.mark.django_db
def test_healthz_of_a_process_that_ends(django_client: DjangoClient, settings, monkeypatch):
    settings.AGUI = {}
    monkeypatch.setattr(shutdown, "has_begun", True)
    response = django_client.get("/healthz")
    assert (response.status_code, response.json()) == (503, {"status": "ending", "database": True})
    assert django_client.get("/livez").status_code == 200


def test_livez_needs_no_database(django_client: DjangoClient):
    response = django_client.get("/livez")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert response["Cache-Control"] == "no-store"
