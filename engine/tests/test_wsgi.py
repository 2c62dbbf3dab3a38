"""Under a WSGI server no run begins: it would be lost with its request."""

import logging

from django.test import Client

from agui.http.tokens import create_token
from agui.models import Run, get_conversation_model
from agui.testing import say
from tests.conftest import run_input, script


def test_run_is_refused_before_it_begins_and_all_else_is_answered(user, caplog):
    """Django's synchronous client takes the way of WSGI."""
    wsgi = Client(headers={"Authorization": f"Bearer {create_token(user)[1]}"})
    with script(say("Hello")) as model, caplog.at_level(logging.ERROR, "agui.views"):
        response = wsgi.post("/agent/", run_input("Hello"), content_type="application/json")
    assert (response.status_code, response.json()["error"]) == (500, "needs_asgi")
    assert "daphne" not in response.json()["message"]
    [record] = [record for record in caplog.records if record.name == "agui.views"]
    assert "daphne config.asgi:application" in record.getMessage()
    assert "first in INSTALLED_APPS" in record.getMessage()
    assert not model.requests
    assert not Run.objects.exists()
    assert not get_conversation_model().objects.exists()
    assert wsgi.get("/agent/threads/").json()["threads"] == []
    assert wsgi.get("/agent/tools/").status_code == 200
    # Callers without a token learn nothing of the server.
    response = Client().post("/agent/", run_input("Hello"), content_type="application/json")
    assert response.status_code == 401
