"""Under a WSGI server no run begins: it would be lost with its request."""

import logging

import pytest
from django.test import Client

from agui.http.tokens import create_token
from agui.models import Run, get_conversation_model
from agui.testing import say
from tests.conftest import run_input, script

Thread = get_conversation_model()


@pytest.fixture
def wsgi(user) -> Client:
    """Django's synchronous client, whose requests take the way of WSGI."""
    return Client(headers={"Authorization": f"Bearer {create_token(user)[1]}"})


def test_run_is_refused_before_it_begins(wsgi, caplog):
    with script(say("Hello")) as model, caplog.at_level(logging.ERROR, "agui.views"):
        response = wsgi.post("/agent/", run_input("Hello"), content_type="application/json")
    assert (response.status_code, response.json()["error"]) == (500, "needs_asgi")
    assert "daphne" not in response.json()["message"]
    [record] = [record for record in caplog.records if record.name == "agui.views"]
    assert "daphne config.asgi:application" in record.getMessage()
    assert "first in INSTALLED_APPS" in record.getMessage()
    assert not model.requests
    assert not Run.objects.exists()
    assert not Thread.objects.exists()


def test_what_is_kept_can_still_be_read(wsgi):
    assert wsgi.get("/agent/threads/").json()["threads"] == []
    assert wsgi.get("/agent/tools/").status_code == 200


def test_callers_without_a_token_learn_nothing_of_the_server(transactional_db):
    response = Client().post("/agent/", run_input("Hello"), content_type="application/json")
    assert response.status_code == 401
