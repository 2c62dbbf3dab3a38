"""Users who have conversations already."""

import json
from typing import NamedTuple

from servers import LiveProject

MAKE = """
import asyncio, json
from datetime import timedelta
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from assistant.models import Conversation as Thread
from agui.stores.model import ModelConversationStore

async def make(threads, user):
    for name, turns in threads:
        messages = [message for prompt, answer in turns for message in (
            ModelRequest(parts=[UserPromptPart(prompt)]), ModelResponse(parts=[TextPart(answer)]))]
        one = Conversation(conversation_id=name, messages=messages)
        await ModelConversationStore().save(one, scope=f"user:{user.pk}")

sessions = {}
for name, (threads, password) in json.loads(GIVEN).items():
    user = get_user_model().objects.create_user(name, password=password)
    asyncio.run(make(threads, user))
    for number, (thread, _) in enumerate(threads):
        age = timedelta(minutes=number)
        Thread.objects.filter(owner=user, thread_id=thread).update(updated_at=timezone.now() - age, unread=False)
    client = Client()
    client.force_login(user)
    sessions[name] = client.cookies["sessionid"].value
print(json.dumps(sessions))
"""


class Thread(NamedTuple):
    name: str
    turns: list[tuple[str, str]]


class Person(NamedTuple):
    threads: list[Thread]
    """The newest first."""
    password: str | None = None


def make_people(site: LiveProject, people: dict[str, Person]) -> dict[str, str]:
    """Their sessions."""
    script = MAKE.replace("GIVEN", repr(json.dumps(people)))
    return json.loads(site.manage("shell", "-v", "0", "-c", script).splitlines()[-1])
