"""Put long conversations into a contestant's store: `python -m fill ours|theirs < threads.json`.

Standard input is {thread id: number of messages}; the last line of the output is the token of their owner.
"""

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

import django

WORDS = "Two lines of plain text or so, as people and models write them to each other in most of the chats. " * 2


def history(thread_id: str, length: int) -> list[dict[str, str]]:
    """The messages of a conversation as a client holds them."""
    roles = ("user", "assistant")
    return [{"id": f"{thread_id}-{i}", "role": roles[i % 2], "content": f"{i}. {WORDS}"} for i in range(length)]


async def ours(user: Any, thread_id: str, length: int) -> None:
    from ag_ui.core import Message
    from agui.protocol.message_ids import MessageIds
    from agui.stores.model import ModelConversationStore
    from pydantic import TypeAdapter
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.ui.ag_ui import AGUIAdapter

    messages = TypeAdapter(list[Message]).validate_python(history(thread_id, length))
    loaded = AGUIAdapter.load_messages(messages)
    MessageIds(messages).stamp(loaded)
    conversation = Conversation(conversation_id=thread_id, messages=loaded)
    await ModelConversationStore().save(conversation, scope=f"user:{user.pk}")


async def theirs(user: Any, thread_id: str, length: int) -> None:
    from django_spec_agents.contrib.store.default_conversation_store import DefaultConversationStore
    from django_spec_agents.persistence.types.conversation import Conversation

    conversation = Conversation(thread_id=thread_id, messages=history(thread_id, length))
    await DefaultConversationStore().save(conversation, request=SimpleNamespace(user=user))


async def fill(store: str, user: Any, threads: dict[str, int]) -> None:
    for thread_id, length in threads.items():
        await {"ours": ours, "theirs": theirs}[store](user, thread_id, length)


if __name__ == "__main__":
    django.setup()

    from agui.http.tokens import create_token
    from django.contrib.auth import get_user_model

    owner = get_user_model().objects.create_user("benchmark")
    asyncio.run(fill(sys.argv[1], owner, json.load(sys.stdin)))
    print(create_token(owner)[1])
