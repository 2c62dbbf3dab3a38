"""Send messages to a thread from the project's own code, and follow the answers."""

import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from django.urls import get_script_prefix, resolve, reverse

from agui.actor import Actor
from agui.agents.discovery import discover
from agui.blocking.executor import in_database
from agui.contrib.queue.next_run import NextRun
from agui.contrib.queue.rows import Queue
from agui.contrib.queue.steering import MESSAGE
from agui.log_fields import run_fields
from agui.namespaces import FIRST_AGENT, mounted_agents, scope_of
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs import start
from agui.runs.live import Follower, live
from agui.runs.recovery import recover
from agui.stores.base import store_class


async def send(
    thread_id: str,
    text: str,
    *,
    user: Any,
    mode: str = "queue",
    agent: str = FIRST_AGENT,
    message_id: str | None = None,
) -> str:
    """Send a message of a user to a thread, which begins a run if none is active.

    `agent` is the name of the agent's routes. The same `message_id` sends a message once. Returns
    the state of the message: 'read' or 'waiting'. Raises HttpError and RunFailed if no run may
    begin; the message waits then.
    """
    discover()
    url = reverse(f"{agent}:run")
    # `resolve` wants the path without FORCE_SCRIPT_NAME.
    path = "/" + url.removeprefix(get_script_prefix())
    view: Any = resolve(path).func
    actor = _actor(user, agent)
    store = store_class()().for_scope(actor.scope)
    await recover(store, actor.scope, thread_id)

    def begin(log: RunLog, run_input: RunAgentInput) -> None:
        with run_fields(log, user):
            start.start(log, view.endpoint, actor, run_input, store, path)

    template = RunAgentInput(thread_id=thread_id, run_id=str(uuid4()), messages=[])
    message = MESSAGE.validate_python(
        {"id": message_id or str(uuid4()), "role": "user", "content": text}
    )
    next_run = NextRun(Queue(actor.scope, thread_id), template, begin)
    row, refusal = await next_run.add(actor, message, mode)
    if refusal is not None:
        raise refusal
    await in_database(row.refresh_from_db)
    return row.state


async def follow(
    thread_id: str, *, user: Any, agent: str = FIRST_AGENT
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the events of the active or last run of a thread, from its first to its last.

    Yields nothing if no run is known. Raises TooManyRequests.
    """
    actor = _actor(user, agent)
    log = await live.logs.find(actor.scope, thread_id)
    if log is None:
        return
    follower = Follower(actor.scope).read(log)
    received = b""
    try:
        async for chunk in follower:
            *frames, received = (received + chunk).split(b"\n\n")
            for frame in frames:
                data = frame.partition(b"\ndata: ")[2]
                if data:
                    yield json.loads(data)
        # The event loop of a job may end with it.
        await live.logs.flush(log)
    finally:
        follower.close()


def _actor(user: Any, agent: str) -> Actor:
    return Actor(user, scope_of(f"user:{user.pk}", mounted_agents().get(agent, agent)))
