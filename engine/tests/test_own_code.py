"""agui/manual/own-code.md: what each recipe claims. Reading an upload is in test_read_attachment.py."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.error import HTTPError

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.core.handlers.asgi import ASGIHandler
from django.utils import timezone
from pydantic_ai import RunContext

from agui import AgentDeps, display_value
from agui.http.tokens import create_token
from agui.models import get_conversation_model
from agui.testing import Chat, ScriptedModel, call, fail, say
from tests.conftest import Client


async def test_let_a_background_job_ask_the_agent(paste, user):
    serving = pytest.importorskip("tests.serving")
    recipe = paste("own-code#let-a-background-job-ask-the-agent")
    token = (await sync_to_async(create_token)(user))[1]
    ask = partial(asyncio.to_thread, lambda *given: list(recipe.ask(f"{url}/agent/", *given)))
    model = ScriptedModel([say("It was a good week."), fail(OSError("away"))])
    # The script comes before the server: what answers a request inherits it.
    with recipe.view.agent.override(model=model):
        async with serving.serving(ASGIHandler(), grace_seconds=10) as url:
            assert "".join(await ask(token, "weekly", "How was it?")) == "It was a good week."
            with pytest.raises(RuntimeError):
                await ask(token, "weekly", "And now?")
            with pytest.raises(HTTPError):
                await ask("agt_wrong", "weekly", "Hi")
    threads = get_conversation_model().objects.filter(owner=user)
    assert [thread.thread_id async for thread in threads] == ["weekly"]


async def test_read_what_was_said(paste, user, other):
    recipe = paste("own-code#read-what-was-said")
    await Chat(user, say("Hello Ada."), thread="t1").send("Hi")
    await Chat(user, call("nothing"), say("Bye."), thread="t2").send("Go")
    await Chat(other, say("Hello Bob."), thread="t1").send("Hey")

    async def said(since: datetime) -> list[tuple[str, str]]:
        return [one async for one in recipe.said_since(user, since)]

    lines = [("user", "Hi"), ("agent", "Hello Ada."), ("user", "Go"), ("agent", "Bye.")]
    assert await said(timezone.now() - timedelta(days=1)) == lines
    assert await said(timezone.now() + timedelta(days=1)) == []


async def test_give_each_user_a_model(paste, user):
    paste("own-code#give-each-user-a-model")
    assert (await Chat(user).send("Is it?")).text == "Yes."
    user.is_staff = True
    await user.asave()
    assert (await Chat(user).send("Is it?")).text == "Yes, because of three reasons."


@pytest.mark.parametrize("by_token", [False, True])
async def test_use_each_users_time_zone(paste, user, monkeypatch, by_token: bool):
    monkeypatch.setattr(get_user_model(), "time_zone", "Asia/Kathmandu", raising=False)
    recipe = paste("own-code#use-each-users-time-zone")
    noon = datetime(2026, 11, 26, 12, tzinfo=UTC)

    def blocking(ctx: RunContext[AgentDeps], at: datetime) -> str:
        return f"{at.tzname()} {display_value(noon)}"

    async def waiting(at: datetime) -> str:
        return f"{at.tzname()} {display_value(noon)}"

    for function in (blocking, waiting):
        recipe.registry.add(function, name=function.__name__, description="Tell the time.")
    calls = [call(name, at="2026-11-26T09:00:00") for name in ("blocking", "waiting")]
    model = ScriptedModel([calls, say("Late.")])
    client = await sync_to_async(Client)(user if by_token else None)
    if not by_token:
        await client.http.aforce_login(user)
    with recipe.view.agent.override(model=model):
        events = await client.run("How late is it?")
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert results == ["+0545 Nov. 26, 2026, 5:45 p.m. +0545"] * 2
    assert "in Asia/Kathmandu." in model.requests[0].instructions
