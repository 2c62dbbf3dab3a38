"""A user's way through an agent: a question, an approval, the thread read back, and its deletion."""

import itertools
import json
from typing import Any
from uuid import uuid4

from django.test import AsyncClient

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, tool
from agui.testing import ScriptedModel, call, collect, say

registry = ToolRegistry()
kept: list[str] = []


@tool(registry, destructive=True, confirm="Keep it?")
def keep(text: str) -> str:
    """Keep a text."""
    kept.append(text)
    return "kept"


def keeper(**options: Any) -> DjangoAGUIView:
    """The endpoint of an agent that asks whether it may keep something, each time."""
    model = ScriptedModel(itertools.cycle([call("keep", text="milk"), say("It is kept.")]))
    return DjangoAGUIView(registry, AgentConfig(model=model), **options)


async def begin(http: AsyncClient, prefix: str, **headers: str) -> str:
    """Ask, approve, and read the thread back; returns its id."""
    thread = str(uuid4())
    message = {"id": str(uuid4()), "role": "user", "content": "Keep milk"}
    asked = await _post(http, prefix, thread, headers, messages=[message])
    [interrupt] = asked["outcome"]["interrupts"]
    before = len(kept)
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    await _post(http, prefix, thread, headers, resume=[answer])
    assert len(kept) == before + 1
    read: Any = await http.get(f"{prefix}threads/{thread}/", headers=headers)
    assert [message["role"] for message in read.json()["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert thread in await threads(http, prefix, **headers)
    return thread


async def end(http: AsyncClient, prefix: str, thread: str, **headers: str) -> None:
    """Delete the thread."""
    address = f"{prefix}threads/{thread}/"
    assert (await http.delete(address, headers=headers)).status_code == 204
    assert (await http.get(address, headers=headers)).status_code == 404
    assert thread not in await threads(http, prefix, **headers)


async def threads(http: AsyncClient, prefix: str, **headers: str) -> list[str]:
    response: Any = await http.get(f"{prefix}threads/", headers=headers)
    return [row["thread_id"] for row in response.json()["threads"]]


async def _post(http: AsyncClient, prefix: str, thread: str, headers: Any, **body: Any) -> dict[str, Any]:
    body = {"threadId": thread, "runId": str(uuid4()), "messages": [], **body}
    response: Any = await http.post(prefix, json.dumps(body), "application/json", headers=headers)
    assert response.status_code == 200, response.content
    events = await collect(response)
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    return events[-1]
