"""The agent over its real endpoint, with a script in the place of a model."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.test import AsyncClient

from agui.testing import ScriptedModel, call, collect, event_types, say
from assistant.agent import view
from assistant.models import Task


@pytest.mark.django_db(transaction=True)
async def test_a_request_becomes_a_task_of_the_user():
    ada = await get_user_model().objects.acreate_user("ada")
    client = AsyncClient()
    await client.aforce_login(ada)
    body = {"threadId": "t1", "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": "I need milk"}]}
    model = ScriptedModel([call("add_task", title="Buy milk"), say("Noted.")])

    with view.agent.override(model=model):
        events = await collect(await client.post("/agent/", json.dumps(body), content_type="application/json"))

    assert event_types(events)[-1] == "RUN_FINISHED"
    assert model.requests[0].prompt == "I need milk"
    assert "keep a list of tasks" in model.requests[0].instructions
    assert (await Task.objects.aget()).owner_id == ada.pk
