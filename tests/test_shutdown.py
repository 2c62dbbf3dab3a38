"""The server is told to end in mid-run, as with every deploy: nothing is lost, and everybody is told."""

import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from reading import Reading
from servers import HANG_SECONDS, PRODUCTION, LiveProject, is_listening, run_input, serve, wait_until

pytestmark = pytest.mark.servers

FINISH_SECONDS = 100

# Speaks until it may end. The time that runs have to finish is over as soon as the file `late` is there.
MODEL = f"""
import asyncio
from pathlib import Path
from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.function import FunctionModel


def turn(loop):
    now, late = loop.time, Path(__file__).with_name("late")
    loop.time = lambda: now() + {FINISH_SECONDS} * late.exists()
    loop.is_turned = True


async def answer(messages, info):
    loop = asyncio.get_running_loop()
    if not hasattr(loop, "is_turned"):
        turn(loop)
    prompt = [part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)][-1]
    yield "Well, "
    while not Path(__file__).with_name(prompt).exists():
        yield "and "
        await asyncio.sleep(0.02)
    yield "so on."


model = FunctionModel(stream_function=answer)
"""
# Answers when it may, however long that takes here.
URLS = """
import asyncio
from pathlib import Path
from django.http import HttpResponse
from django.urls import path
from agui.runs import shutdown
from agui.contrib.pacing import daphne_patches
from config.urls import urlpatterns

daphne_patches.ANSWER_SECONDS = shutdown.SAVE_SECONDS = shutdown.SEND_SECONDS = 3600  # A wait for it is a hang
BASE = Path(__file__).parent


async def slow(request):
    (BASE / "asked").touch()
    while not (BASE / "answer").exists():
        await asyncio.sleep(0.02)
    return HttpResponse("Here.")


urlpatterns = [path("slow", slow), *urlpatterns]
"""
PROJECT_SETTINGS = f"""
from config.settings import *

ROOT_URLCONF = "ending_urls"
AGUI = {{"SHUTDOWN_SECONDS": {FINISH_SECONDS}}}
"""
SETTINGS = PRODUCTION | {"AGENT_MODEL": "python:speaking.model", "DJANGO_SETTINGS_MODULE": "ending_settings"}


class Served(LiveProject):
    """Under one server, and then under the other."""

    server = "daphne"

    @property
    def command(self) -> list[str]:
        if self.server == "daphne":
            return ["-m", "daphne", "-p", str(self.port), "config.asgi:application"]
        # By itself it would wait for ever for a body that does not come.
        patience = ["--timeout-graceful-shutdown", "2"]
        return ["-m", "uvicorn", "--port", str(self.port), *patience, "config.asgi:application"]


def test_a_deploy_loses_nothing(furnished):
    project = furnished(speaking=MODEL, ending_settings=PROJECT_SETTINGS, ending_urls=URLS)
    (project / "nothing").touch()
    with serve(project, Served, **SETTINGS) as live:
        for live.server, following in (("daphne", "uvicorn"), ("uvicorn", "daphne")):
            long = end_in_mid_run(live)
            live.server = following
            live.start()
            # And what was about to be sent.
            assert live.client(live.token).thread("long")["messages"][-1]["content"].startswith(long.text)
            assert live.client(live.token).run("nothing", threadId="long")[-1]["type"] == "RUN_FINISHED"


def end_in_mid_run(live: LiveProject) -> Reading:
    """Tell the server to end while two runs are on, and a request; what was read of the run that is too long."""
    client = live.client(live.token)
    short, long, follower = Reading("short"), Reading("long"), Reading("long")
    with ThreadPoolExecutor(4) as pool, socket.socket() as half:
        for reading in (short, long):
            reading.start(pool, client, run_input(reading.thread_id, threadId=reading.thread_id))
            assert reading.begun.wait(HANG_SECONDS)
        follower.start(pool, client)
        assert follower.begun.wait(HANG_SECONDS)
        # A client that never comes to the end of its body.
        half.connect(("127.0.0.1", live.port))
        half.sendall(b"POST /agent/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")

        asked = pool.submit(live.client().fetch, "GET", "/slow")
        wait_until((live.path / "asked").exists)

        live.process.terminate()
        while (refused := client.open("POST", "/agent/", run_input("nothing"))).status == 200:
            refused.read()  # The server has not noticed the signal yet.
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")

        (live.path / "short").touch()
        assert short.reader.result(HANG_SECONDS) == 200
        assert short.last["type"] == "RUN_FINISHED"
        (live.path / "late").touch()
        for reading in (long, follower):
            assert reading.reader.result(HANG_SECONDS) == 200
            assert (reading.last["type"], reading.last["code"]) == ("RUN_ERROR", "interrupted")
        assert long.text == follower.text
        # Nobody else is let in, and what was asked is answered.
        wait_until(lambda: not is_listening(live.port))
        (live.path / "answer").touch()
        assert asked.result(HANG_SECONDS) == (200, "Here.")
        # The server waits neither for the end of that body nor for the run, which would never end.
        live.process.wait(timeout=HANG_SECONDS)
    with closing(sqlite3.connect(live.path / "db.sqlite3")) as database:
        statuses = dict(database.execute("SELECT thread_id, status FROM agui_run ORDER BY started_at").fetchall())
    assert (statuses["short"], statuses["long"]) == ("finished", "interrupted")
    assert "Traceback" not in live.log.read_text()
    for name in ("short", "late", "asked", "answer"):
        (live.path / name).unlink()
    return long
