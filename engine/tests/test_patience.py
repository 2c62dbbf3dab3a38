"""A run waits for a database that is away, keeps what it has, and does nothing twice. A request does not wait."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from django.db import OperationalError

import agui.runs.drafts
from agui.blocking.patience import Patience, is_away, patience, wait_for_database
from agui.contrib.spending.models import Spending
from agui.models import AuditRecord, Run
from agui.runs.drafts import checkpoints
from agui.stores import rows
from agui.testing import call, collect, say
from agui.tools.audit import ModelAuditLogger
from tests.conftest import Client, half_said, run_input, script, texts_of

pytestmark = pytest.mark.database


class Away:
    """Stands for a function that the database does not answer for some times."""

    def __init__(self, real: Any, after: int = 0, times: int = 3, *, answer_is_lost: bool = False) -> None:
        self.real, self.after, self.times, self.answer_is_lost = real, after, times, answer_is_lost
        self.failed = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.after > 0:
            self.after -= 1
        elif self.failed < self.times:
            self.failed += 1
            if self.answer_is_lost:
                self.real(*args, **kwargs)
            raise OperationalError("server closed the connection unexpectedly")
        return self.real(*args, **kwargs)


async def test_a_run_that_can_not_be_saved_waits_and_keeps_all(client: Client, monkeypatch: pytest.MonkeyPatch):
    away = Away(rows.write, after=1)
    monkeypatch.setattr(rows, "write", away)
    with script(call("echo", text="done"), say("All of it")):
        events = await client.run("Go")
    assert (events[-1]["type"], away.failed) == ("RUN_FINISHED", 3)
    assert texts_of(await client.thread()) == ["Go", None, "done", "All of it"]
    assert (await Run.objects.aget()).status == Run.Status.FINISHED


async def test_what_was_stored_although_the_answer_was_lost_is_stored_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    away = Away(rows._write, after=1, times=1, answer_is_lost=True)
    monkeypatch.setattr(rows, "_write", away)
    with script(call("echo", text="done"), say("All of it")):
        events = await client.run("Go")
    assert (events[-1]["type"], away.failed) == ("RUN_FINISHED", 1)
    assert texts_of(await client.thread()) == ["Go", None, "done", "All of it"]
    [spending] = [one async for one in Spending.objects.all()]
    assert spending.requests == 2
    monkeypatch.undo()
    with script(say("Still")):
        assert (await client.run("Well?"))[-1]["type"] == "RUN_FINISHED"


async def test_a_run_waits_no_longer_than_the_setting_says_and_a_request_not_at_all(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
):
    away = Away(rows.write)
    monkeypatch.setattr(rows, "write", away)
    assert (await client.post(run_input("Go"))).status_code == 503
    assert away.failed == 1
    settings.AGUI = {**settings.AGUI, "DATABASE_WAIT_SECONDS": 0}
    monkeypatch.setattr(rows, "write", Away(away.real, after=1, times=99))
    with script(say("All of it")):
        events = await client.run("Go")
    assert events[-1]["code"] == "service_unavailable"


async def test_the_audit_trail_waits_too(client: Client, monkeypatch: pytest.MonkeyPatch):
    away = Away(ModelAuditLogger.record)
    monkeypatch.setattr(ModelAuditLogger, "record", lambda self, event: away(self, event))
    with script(call("echo", text="done"), say("Fine")):
        assert (await client.run("Go"))[-1]["type"] == "RUN_FINISHED"
    assert away.failed == 3
    assert [one.tool_name async for one in AuditRecord.objects.all()] == ["echo"]


async def test_a_draft_that_could_not_be_written_is_written_later(client: Client, monkeypatch: pytest.MonkeyPatch):
    away = Away(agui.runs.drafts._write)
    monkeypatch.setattr(agui.runs.drafts, "_write", away)
    # The run's own writes would meet the database, too, and use up its failures.
    monkeypatch.setattr(agui.runs.drafts, "DRAFT_SECONDS", 3600)
    async with half_said(client) as (response, go_on):
        for _ in range(3):
            with pytest.raises(OperationalError):
                await checkpoints.write()
        await checkpoints.write()
        assert "Half" in str((await Run.objects.aget()).draft)
        go_on.set()
        await collect(response)
    assert away.failed == 3


async def test_all_of_a_run_waits_no_longer_than_once(settings: Any):
    """Each step that fails begins no new wait: the time counts from when the database went away."""
    settings.AGUI = {**settings.AGUI, "DATABASE_WAIT_SECONDS": 0.3}
    waiting = Patience()
    patience.set(waiting)
    tries: list[int] = []

    async def fails() -> None:
        tries.append(1)
        raise OperationalError("gone")

    for _ in range(2):
        with pytest.raises(OperationalError):
            await wait_for_database(fails)
    first = len(tries)
    with pytest.raises(OperationalError):
        await wait_for_database(fails)
    assert len(tries) == first + 1

    async def answers() -> int:
        return 1

    assert await wait_for_database(answers) == 1
    assert waiting.away_since is None


@pytest.mark.parametrize(
    ("state", "away"),
    [
        *((state, True) for state in ("57P01", "08006", "53300", "40P01", None)),
        *((state, False) for state in ("42P01", "57014")),
    ],
)
def test_what_a_database_refuses_is_not_asked_again(state: str | None, away: bool):
    error = OperationalError("no")
    error.__cause__ = type("Cause", (Exception,), {"sqlstate": state})()
    assert is_away(error) is away
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.OperationalError) as refused:
        connection.execute("SELECT * FROM nothing")
    error.__cause__ = refused.value
    assert not is_away(error)
