"""Several agents in one project: each finds only what belongs to it."""

import json
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from daily import at_night
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.template import Context, Template
from django.urls import reverse

from agui import get_urls
from agui.contrib.spending.models import Budget
from agui.models import AuditRecord, Run, get_conversation_model
from agui.namespaces import mounted_agents, owner_of, scope_of, split_scope
from agui.testing import call, say
from tests import urls
from tests.conftest import Client, decision, run_input, script
from tests.test_isolation import attack, media, use_the_ids, world_of

Thread = get_conversation_model()

__all__ = ["media"]


@pytest.fixture(autouse=True)
def routes(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.two_agents"


@pytest.fixture
def shared(user: Any) -> Client:
    """The same user, with the agent that everybody may use."""
    return Client(user, "/shared/")


@pytest.mark.parametrize("is_turned", [False, *at_night(True)])
async def test_every_route_of_one_agent_finds_nothing_of_the_other(client: Client, shared: Client, is_turned: bool):
    owner, attacker = (shared, client) if is_turned else (client, shared)
    async with world_of(owner) as world:
        await attack(attacker, world)
        await use_the_ids(attacker, world)


async def test_agent_for_staff_refuses_all_others(client: Client):
    client.prefix = "/billing/"
    for route in ("", "tools/", "skills/", "capabilities/", "threads/", "threads/t1/"):
        response = await client.get(route)
        assert response.status_code == 403, route
        assert "This assistant is for staff." in response.content.decode()


async def test_approval_counts_only_where_it_was_asked(client: Client, shared: Client):
    with script(call("wipe", _id="w1"), say("Done.")):
        await shared.run("Wipe it")
        assert (await client.run(resume=[decision("w1")]))[-1]["code"] == "interrupt_unknown"
        assert urls.effects == []
        assert (await shared.run(resume=[decision("w1")]))[-1]["type"] == "RUN_FINISHED"
    assert urls.effects == ["invoice all"]


async def test_catalogs_are_the_agents_own(client: Client, shared: Client):
    async def names(of: Client, route: str) -> list[str]:
        return [one["name"] for one in json.loads((await of.get(route)).content)]

    assert "echo" in await names(client, "tools/")
    assert await names(shared, "tools/") == ["wipe"]
    assert await names(shared, "skills/") == ["overdue"]


@pytest.fixture
async def talks(client: Client, shared: Client) -> None:
    """One conversation with each of two agents."""
    with script(say("One."), call("wipe", _id="w1"), say("Two.")):
        await client.run("Hi", thread="first")
        await shared.run("Hi", thread="second")
        await shared.run(resume=[decision("w1")], thread="second")


@pytest.mark.usefixtures("talks")
async def test_rows_say_which_agent_they_are_of(user: Any):
    scopes = {thread.thread_id: thread.scope async for thread in Thread.objects.all()}
    assert scopes == {"first": f"user:{user.pk}", "second": f"shared/user:{user.pk}"}
    assert {run.scope async for run in Run.objects.filter(thread_id="second")} == {scopes["second"]}
    assert [one.scope async for one in AuditRecord.objects.all()] == [scopes["second"]]
    await user.adelete()
    assert [thread.scope async for thread in Thread.objects.all()] == []
    assert [run.scope async for run in Run.objects.all()] == []


@pytest.mark.usefixtures("talks")
async def test_admin_and_exports_tell_agents_apart(shared: Client, user: Any, admin_client: Any):
    get = sync_to_async(admin_client.get)
    for model, number_of_first in (("assistant_conversation", 1), ("agui_run", 1), ("agui_auditrecord", 0)):
        page = reverse(f"admin:{model}_changelist")
        assert 'class="field-agent">shared<' in (await get(page)).content.decode()
        assert (await get(page, {"agent": "agui"})).context["cl"].result_count == number_of_first
        rows = (await get(page, {"agent": "shared"})).context["cl"].result_list
        assert {row.scope.partition("/")[0] for row in rows} == {"shared"}
        detail = await get(reverse(f"admin:{model}_change", args=[rows[0].pk]))
        assert '<div class="readonly">shared</div>' in detail.content.decode()

    output = StringIO()
    await sync_to_async(call_command)("export_agent_data", user.get_username(), stdout=output)
    threads = json.loads(output.getvalue())["threads"]
    assert {one["thread_id"]: one.get("agent") for one in threads} == {"first": None, "second": "shared"}
    of_shared = b"".join([chunk async for chunk in (await shared.get("export/"))])
    assert [one["thread_id"] for one in json.loads(of_shared)["threads"]] == ["second"]


async def test_limits_and_budgets_count_a_user_once(client: Client, shared: Client):
    await Budget.objects.acreate(user=client.user, period="day", tokens=1)
    with script(say("One.")):
        await client.run("Hi")
    refused = await shared.post(run_input("Hi"))
    assert (refused.status_code, json.loads(refused.content)["period"]) == (429, "day")


def test_page_names_its_agent_if_there_are_several(rf: Any, settings: Any):
    def page(more: str = "") -> str:
        template = Template(f'{{% include "agui/attributes.html" {more} %}}')
        return template.render(Context({"request": rf.get("/")}))

    html = page('with agent="billing"')
    assert 'endpoint="/billing/"' in html
    assert 'data-attachments-url="/billing/attachments/"' in html
    assert "/agent/" not in html
    with pytest.raises(ImproperlyConfigured, match=r'agui, billing, shared.*agent="shared"'):
        page()
    assert mounted_agents() == {"agui": "agui", "billing": "billing", "shared": "shared"}
    settings.ROOT_URLCONF = "tests.urls"
    assert 'endpoint="/agent/"' in page()


@pytest.mark.parametrize("namespace", ["", "Billing", "a/b", "a:b", "1st", "b" * 51])
def test_namespace_is_a_word(namespace: str):
    with pytest.raises(ValueError, match="give a word"):
        get_urls("two.agents", namespace=namespace)


@pytest.mark.parametrize("owner", ["user:7", "user:a/b", "user:a/b:c", "session:abc", "user:billing/user:7"])
@pytest.mark.parametrize("namespace", ["agui", "billing", "user"])
def test_scope_names_the_agent_and_the_owner(owner: str, namespace: str):
    scope = scope_of(owner, namespace)
    assert split_scope(scope) == (namespace, owner)
    assert owner_of(scope) == owner
