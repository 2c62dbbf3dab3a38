"""The agent over its real endpoint, with a script instead of a model."""

import pytest
from django.contrib.auth import get_user_model

from agui.testing import Chat, call, say
from assistant.models import Task


@pytest.mark.django_db(transaction=True)
async def test_a_request_becomes_a_task_of_the_user():
    ada = await get_user_model().objects.acreate_user("ada")
    chat = Chat(ada, call("add_task", title="Buy milk"), say("Noted."))

    answer = await chat.send("I need milk")

    assert answer.text == "Noted."
    assert chat.model.requests[0].prompt == "I need milk"
    assert "keep a list of tasks" in chat.model.requests[0].instructions
    assert (await Task.objects.aget()).owner_id == ada.pk
