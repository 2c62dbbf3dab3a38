import pytest
from django.db import OperationalError, connection
from django.test import Client


@pytest.mark.django_db
def test_healthz_database_answers(client: Client):
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "database": True})
    assert response["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_healthz_database_fails(client: Client):
    def refuse(execute, sql, params, many, context):
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        response = client.get("/healthz")
    assert (response.status_code, response.json()) == (503, {"status": "unavailable", "database": False})
