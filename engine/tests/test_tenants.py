"""Work that outlives a request, or is done for many at once, belongs to the request's tenant."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router
from django.db.backends.utils import CursorWrapper

from agui import conf
from agui.blocking.executor import in_database
from agui.models import Run
from agui.runs import recovery
from agui.runs.drafts import checkpoints
from agui.runs.life import life
from agui.testing import call, say
from tests.conftest import Client, decision, script
from tests.queueing import Queue, Reading, settled
from tests.test_recovery import GONE
from tests.transcript_tools import Gate

pytestmark = pytest.mark.database

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
NO_VARIABLE = "acme"


class Query(NamedTuple):
    """A query with its parameters, and the tenant for which it was made."""

    sql: str
    tenant: str | None


@pytest.fixture
def queries(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """The queries of all connections, from now on."""
    settings.AGUI = {"TENANT": "tests.test_tenants.tenant"}
    if apps.is_installed("agui.contrib.dashboard"):
        # The past hours are counted beside the first run.
        monkeypatch.setattr(apps.get_app_config("agui_dashboard"), "hours", {})
        monkeypatch.setattr("agui.contrib.dashboard.apps.DELAY_SECONDS", 0)
    monkeypatch.setattr(life, "_watched", set())
    made: list[Query] = []
    execute = CursorWrapper._execute_with_wrappers  # type: ignore[attr-defined]

    def record(self: Any, sql: str, params: Any, many: bool, executor: Any) -> Any:
        made.append(Query(f"{sql} {params}", tenant.get(None)))
        return execute(self, sql, params, many, executor)

    monkeypatch.setattr(CursorWrapper, "_execute_with_wrappers", record)
    return made


async def aside(work: Callable[[], Any]) -> Any:
    """Do what the process does for all its runs: in the context of no request."""
    return await asyncio.get_running_loop().create_task(work(), context=contextvars.Context())


async def serve_all_runs() -> None:
    """The heartbeats, drafts and sweeps of a process."""
    await aside(lambda: in_database(life.beat))
    await aside(lambda: in_database(lambda: life.check_heartbeats(connections[router.db_for_write(Run)])))
    await aside(checkpoints.write)
    await aside(recovery.sweep)


async def test_each_query_of_a_run_is_for_the_tenant_of_its_request(client: Client, user: Any, queries: list[Query]):
    tenant.set("acme")
    gate = Gate()
    dead = {"scope": f"user:{user.pk}", "owner": user, "thread_id": "t2", "run_id": "r0", "process": GONE}
    await Run.objects.acreate(**dead, status=Run.Status.RUNNING)
    with script([call("echo", text="a"), gate()], call("wipe", _id="w1"), say("Wiped."), say("More."), say("Again.")):
        run = Reading(client, "Go")
        await run.at(gate)
        await serve_all_runs()
        await run.end(gate)
        await Queue(client).post("And then?")
        await client.run(resume=[decision("w1")])
        await settled()
        await client.run("Try again", thread="t2")
    if apps.is_installed("agui.contrib.dashboard"):
        await apps.get_app_config("agui_dashboard").counting
        assert any("agui_dashboard_runspan" in query.sql for query in queries)
    assert (await client.lines())[-2:] == ["And then?", "assistant: More."]
    assert await Run.objects.filter(status=Run.Status.INTERRUPTED).acount() == 1
    assert len(queries) > 50
    assert [query.sql for query in queries if query.tenant != "acme"] == []


async def test_what_a_process_does_for_many_runs_it_does_for_each_tenant(
    client: Client, other_client: Client, queries: list[Query]
):
    gates = {"acme": Gate(), "shop": Gate()}
    runs: dict[str, Reading] = {}
    with script([call("echo", text="a"), gates["acme"]()], [call("echo", text="a"), gates["shop"]()], say(""), say("")):
        for name, own in (("acme", client), ("shop", other_client)):
            tenant.set(name)
            runs[name] = Reading(own, "Go")
            await runs[name].at(gates[name])
        del queries[:]
        await serve_all_runs()
        made = {(query.tenant, query.sql.split()[0]) for query in queries if "agui_run" in query.sql}
        assert made >= {(name, word) for name in gates for word in ("SELECT", "UPDATE")}
        assert {name for name, _ in made} == set(gates)
        for name, reading in runs.items():
            await reading.end(gates[name])


async def test_a_project_without_tenants_has_one_query_for_all_runs(
    client: Client, queries: list[Query], settings: Any
):
    settings.AGUI = {}
    await serve_all_runs()
    assert len([query for query in queries if "process, seen_at" in query.sql]) == 1


def test_a_setting_that_names_no_variable_is_refused(settings: Any):
    settings.AGUI = {"TENANT": "tests.test_tenants.NO_VARIABLE"}
    with pytest.raises(ImproperlyConfigured, match="is no context variable: name a contextvars"):
        conf.load(settings.AGUI)
