"""A server that is told to end: what is short finishes, what is long keeps its part, and all who read are told."""

import asyncio
import signal
from typing import Any

import pytest

from agui.models import Run
from agui.runlog.memory import RunLog
from agui.runs.live import live
from agui.runs.shutdown import Shutdown
from agui.testing import call, collect, say, wait
from tests import urls
from tests.conftest import Client, half_said, run_input, script, texts_of

pytestmark = pytest.mark.database


@pytest.fixture
def ended(monkeypatch) -> Any:
    """The server's own handler, as a future that is done when it is called."""
    future: asyncio.Future[int] = asyncio.Future()

    def end(number: int, frame: Any) -> None:
        if not future.done():
            future.set_result(number)

    before = signal.signal(signal.SIGTERM, end)
    monkeypatch.setattr("agui.http.views.shutdown", Shutdown())
    yield future
    signal.signal(signal.SIGTERM, before)


async def test_short_runs_finish_and_new_ones_are_refused_meanwhile(client: Client, ended):
    async with half_said(client) as (response, go_on):
        signal.raise_signal(signal.SIGTERM)
        reading = asyncio.create_task(collect(response))
        refused = await client.post(run_input("Me too", thread="t2"))
        assert (refused.status_code, refused.json()["error"], refused["Retry-After"]) == (503, "at_capacity", "1")
        assert (await client.thread())["running"] is True
        assert not ended.done()
        go_on.set()
        assert (await reading)[-1]["type"] == "RUN_FINISHED"
        response.close()
        assert await asyncio.wait_for(ended, 60) == signal.SIGTERM
    assert (await client.thread())["messages"][-1]["content"] == "Half, whole."
    assert (await Run.objects.aget()).status == Run.Status.FINISHED


async def test_long_runs_are_interrupted_and_keep_their_part(client: Client, ended, settings):
    settings.AGUI = {"SHUTDOWN_SECONDS": 0.1}
    reached = asyncio.Event()
    with script(call("echo", text="done"), [say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Go"))
        follower = await client.get("threads/t1/events/")
        await reached.wait()
        signal.raise_signal(signal.SIGTERM)
        for stream in (response, follower):
            assert (await collect(stream))[-1]["code"] == "interrupted"
            stream.close()
        await asyncio.wait_for(ended, 60)
    assert texts_of(await client.thread()) == ["Go", None, "done", "Half"]
    assert (await Run.objects.aget()).status == Run.Status.INTERRUPTED


async def test_a_tool_that_hangs_holds_nothing_up(client: Client, ended, settings):
    settings.AGUI = {"SHUTDOWN_SECONDS": 0.1}
    with script(call("hang")):
        response = await client.post(run_input("Go"))
        assert await asyncio.to_thread(urls.hanging.wait, 60)
        signal.raise_signal(signal.SIGTERM)
        try:
            assert (await collect(response))[-1]["code"] == "interrupted"
            response.close()
            await asyncio.wait_for(ended, 60)
        finally:
            urls.let_go.set()
    assert (await Run.objects.aget()).status == Run.Status.INTERRUPTED


async def test_a_reader_that_does_not_read_is_not_waited_for(client: Client, ended):
    with script(say("Hi")):
        response = await client.post(run_input("Hi"))
        await asyncio.gather(*live.tasks)
        signal.raise_signal(signal.SIGTERM)
        assert await asyncio.wait_for(ended, 60) == signal.SIGTERM
        await collect(response)


async def test_a_reader_of_another_process_is_let_go(client: Client, ended):
    log = live.logs._active[f"user:{client.user.pk}", "t1"] = RunLog(f"user:{client.user.pk}", "t1", "f")
    log.append(b"id: 1\ndata: {}\n\n")
    response = await client.get("threads/t1/events/")
    signal.raise_signal(signal.SIGTERM)
    # The reader has seen no end, and continues elsewhere after its last event.
    assert [chunk async for chunk in response] == [b"id: 1\ndata: {}\n\n"]
    response.close()
    await asyncio.wait_for(ended, 60)


async def test_a_second_signal_ends_the_server_at_once(client: Client, ended):
    async with half_said(client) as (response, _):
        signal.raise_signal(signal.SIGTERM)
        assert not ended.done()
        signal.raise_signal(signal.SIGTERM)
        assert ended.done()
        response.close()


async def test_where_nobody_handles_the_signal_nobody_takes_it(client: Client):
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    await client.get("threads/")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
