"""Two owners who use one thread id have two conversations, and nothing of one is in the other's.

test_isolation.py tries it over every route. Here is what else goes by a thread's id: stores, files, feedback, runs, the
audit trail, the export, the admin, commands.
"""

import asyncio
import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client as Browser
from django.urls import include, path
from django.utils import timezone
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, UserPromptPart

from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.feedback.models import Feedback
from agui.models import AuditRecord, Run, get_conversation_model
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, event_types, say, wait
from tests.conftest import Client, run_input, script
from tests.test_admin import links_of
from tests.test_stores import new_session_store

Thread = get_conversation_model()

pytestmark = pytest.mark.database

STORES = {"model": ModelConversationStore, "session": new_session_store}


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    settings.AGUI = {**settings.AGUI, "AUDIT_LOGGER": "agui.ModelAuditLogger"}


@pytest.fixture
def both(client: Client, other_client: Client) -> dict[str, Client]:
    return {"adele": client, "boris": other_client}


async def upload(client: Client, name: str) -> str:
    response = await client.http.post(f"{client.prefix}attachments/", {"file": SimpleUploadedFile(name, b"x")})
    found: str = json.loads(response.content)["id"]
    return found


async def talk(clients: dict[str, Client], thread: str = "t1") -> None:
    """Have each say a word with a file, call a tool, and like the answer."""
    for name, client in clients.items():
        file = {"attachments": [{"id": await upload(client, f"{name}.txt")}]}
        message = {"id": "m1", "role": "user", "content": f"I am {name}", "metadata": file}
        with script(call("echo", text=name), say(f"Hello {name}")):
            await client.run(thread=thread, runId="r1", messages=[message])
        answer = (await client.thread(thread))["messages"][-1]["id"]
        body = json.dumps({"message_id": answer, "value": 1})
        address = f"{client.prefix}threads/{thread}/feedback/"
        assert (await client.http.put(address, body, content_type="application/json")).status_code == 200


def text_of(thread: dict[str, Any]) -> str:
    return json.dumps([message.get("content") for message in thread["messages"]])


async def test_each_has_a_conversation_of_its_own(both: dict[str, Client]):
    await talk(both)
    for name, client in both.items():
        thread = await client.thread()
        [listed] = json.loads((await client.get("threads/")).content)["threads"]
        [found] = json.loads((await client.get(f"threads/?q={name}")).content)["threads"]
        events = await collect(await client.get("threads/t1/events/"))
        assert {**listed, "excerpt": f"I am {name}", "message_id": found["message_id"]} == found
        assert thread["title"] == listed["title"] == f"I am {name}"
        other = next(one for one in both if one != name)
        assert other not in text_of(thread) + json.dumps(events)
        assert json.loads((await client.get(f"threads/?q={other}")).content)["threads"] == []
        assert list(thread["feedback"]) == [thread["messages"][-1]["id"]]


async def test_runs_of_one_id_go_on_side_by_side_and_stop_alone(both: dict[str, Client]):
    holds = {name: (asyncio.Event(), asyncio.Event()) for name in both}
    with script(*[[say("Wait"), wait(hold, reached)] for hold, reached in holds.values()]):
        responses = {}
        for name, client in both.items():
            responses[name] = await client.post(run_input(name, thread="busy"))
            await holds[name][1].wait()
        assert (await both["adele"].http.post("/agent/threads/busy/cancel/")).status_code == 202
        stopped = await collect(responses["adele"])
        assert (await both["boris"].thread("busy"))["running"]
        holds["boris"][0].set()
        assert event_types(await collect(responses["boris"]))[-1] == "RUN_FINISHED"
    assert stopped[-1]["outcome"]["type"] == "cancelled"


async def test_deleting_one_leaves_all_of_the_other(both: dict[str, Client], user: Any):
    await talk(both)
    before = await both["boris"].thread()
    assert (await both["adele"].http.delete("/agent/threads/t1/")).status_code == 204
    assert (await both["adele"].get("threads/t1/")).status_code == 404
    assert (await both["adele"].get("threads/t1/events/")).status_code == 404
    assert await both["boris"].thread() == before
    for model in (Thread, Run, Feedback, Attachment, AttachmentUse):
        assert await model.objects.acount() == 1, model
    with script(say("Again")):
        await both["adele"].run("I am back")
    assert text_of(await both["adele"].thread()) == json.dumps(["I am back", "Again"])


async def test_a_fork_takes_its_owners_history_and_files(both: dict[str, Client]):
    await talk(both)
    for client in both.values():
        response = await client.http.post(
            "/agent/threads/t1/fork/", json.dumps({"thread_id": "fork"}), content_type="application/json"
        )
        assert response.status_code == 201
    assert [(await client.thread("fork"))["title"] for client in both.values()] == ["I am adele", "I am boris"]
    assert (await both["adele"].http.delete("/agent/threads/t1/")).status_code == 204
    assert "I am adele" in text_of(await both["adele"].thread("fork"))
    assert "I am boris" in text_of(await both["boris"].thread("t1"))
    assert await Attachment.objects.acount() == 2


async def test_the_export_has_ones_own(both: dict[str, Client]):
    await talk(both)
    for name, client in both.items():
        response = await client.get("export/")
        document = json.loads(b"".join([chunk async for chunk in response.streaming_content]))
        assert [thread["title"] for thread in document["threads"]] == [f"I am {name}"]
        assert [one["arguments"] for one in document["tool_calls"]] == [{"text": name}]
        assert [len(document[one]) for one in ("feedback", "runs", "attachments")] == [1, 1, 1]
        assert next(one for one in both if one != name) not in json.dumps(document)


@pytest.mark.django_db(transaction=True)
async def test_the_export_of_a_visitor_has_no_other_visitors_tool_calls():
    visitors = {"ada": Client(None, "/open/"), "bob": Client(None, "/open/")}
    for name, visitor in visitors.items():
        with script(call("echo", text=name), say("Hi")):
            await visitor.run("Hi")
    for name, visitor in visitors.items():
        response = await visitor.get("export/")
        document = json.loads(b"".join([chunk async for chunk in response.streaming_content]))
        assert [one["arguments"] for one in document["tool_calls"]] == [{"text": name}]


async def test_pruning_one_leaves_the_other(both: dict[str, Client], user: Any):
    await talk(both)
    old = timezone.now() - timedelta(days=30)
    await Thread.objects.filter(owner=user).aupdate(updated_at=old)
    await Attachment.objects.aupdate(created_at=old)
    out = StringIO()
    for options in ({"dry_run": True}, {}):
        await sync_to_async(call_command)("prune_agent_data", conversations=7, stdout=out, **options)
    assert "Would delete conversations: 1" in out.getvalue()
    assert [thread.title async for thread in Thread.objects.all()] == ["I am boris"]
    assert [file.name async for file in Attachment.objects.all()] == ["boris.txt"]


def test_a_case_is_made_of_the_named_users_conversation(transactional_db: None, user: Any, other: Any):
    for one in (user, other):
        save("t1", f"user:{one.pk}", f"I am {one.username}")
    with pytest.raises(CommandError, match="--user"):
        call_command("export_case", "t1")
    out = StringIO()
    call_command("export_case", "t1", "--user", "bob", stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["cases"][0]["inputs"] == {"says": ["I am bob"]}


def save(thread_id: str, scope: str, text: str) -> Thread:
    conversation = Conversation(conversation_id=thread_id, messages=[ModelRequest(parts=[UserPromptPart(text)])])
    async_to_sync(ModelConversationStore().save)(conversation, scope=scope)
    pk = int(scope.partition(":")[2])
    Thread.objects.filter(thread_id=thread_id, scope=scope).update(owner=pk)
    return Thread.objects.get(thread_id=thread_id, scope=scope)


def test_a_thread_alone_may_be_pruned_and_its_files_with_it(transactional_db: None, user: Any, other: Any):
    old = timezone.now() - timedelta(days=30)
    for one in (user, other):
        file = Attachment.objects.create(scope=f"user:{one.pk}", owner=one, name=one.username, size=1, digest="d")
        AttachmentUse.objects.create(attachment=file, thread_id="t1")
    Attachment.objects.update(created_at=old)
    save("t1", f"user:{user.pk}", "Hi")
    call_command("prune_agent_data", stdout=StringIO())
    assert [file.name for file in Attachment.objects.all()] == ["ada"]  # Bob's thread went without it


def test_the_database_takes_an_id_once_for_each_owner(db: None):
    Thread.objects.create(thread_id="t1", scope="user:1", revision="a")
    Thread.objects.create(thread_id="t1", scope="user:2", revision="b")
    with pytest.raises(IntegrityError):
        Thread.objects.create(thread_id="t1", scope="user:1", revision="c")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", STORES)
class TestStores:
    """What a store promises of two owners with one id."""

    @pytest.fixture
    async def store(self, name: str) -> Any:
        store = await sync_to_async(STORES[name])()
        for scope in ("alice", "bob"):
            await store.save(conversation_of(f"I am {scope}"), scope=scope)
        return store

    async def test_each_loads_and_goes_on_with_its_own(self, store: Any):
        for scope in ("alice", "bob"):
            conversation = await store.load("t", scope=scope)
            conversation.messages.extend(conversation_of(f"More of {scope}").messages)
            await store.save(conversation, scope=scope)
        for scope in ("alice", "bob"):
            assert prompts(await store.load("t", scope=scope)) == [f"I am {scope}", f"More of {scope}"]
            assert [e.message.parts[0].content for e in await store.load_entries("t", limit=1, scope=scope)] == [
                f"More of {scope}"
            ]
            assert (await store.summary("t", scope=scope))["title"] == f"I am {scope}"

    async def test_each_changes_its_own(self, store: Any):
        assert (await store.rename("t", "Mine", scope="alice"))["title"] == "Mine"
        assert (await store.mark("t", unread=True, scope="alice"))["unread"]
        assert (await store.summary("t", scope="bob")) | {"updated_at": ""} == {
            "thread_id": "t",
            "title": "I am bob",
            "preview": "I am bob",
            "updated_at": "",
            "unread": False,
            "pinned": False,
            "archived": False,
        }
        assert await store.rename("t", "Mine", scope="carol") is None

    async def test_each_deletes_its_own(self, store: Any):
        await store.delete("t", scope="alice")
        assert await store.load("t", scope="alice") is None
        assert prompts(await store.load("t", scope="bob")) == ["I am bob"]
        await store.save(conversation_of("Again"), scope="alice")
        assert prompts(await store.load("t", scope="alice")) == ["Again"]

    async def test_each_forks_and_branches_its_own(self, store: Any):
        for scope in ("alice", "bob"):
            assert await store.fork_at("t", message_id=None, new_conversation_id="f", scope=scope)
            await store.fork("t", new_conversation_id="g", source_scope=scope)
            with pytest.raises(ConversationConflict):
                await store.fork_at("t", message_id=None, new_conversation_id="f", scope=scope)
            for fork in ("f", "g"):
                assert prompts(await store.load(fork, scope=scope)) == [f"I am {scope}"]
            known = await store.load("t", scope=scope)
            branched = await store.branch("t", at=0, expected_revision=known.revision, scope=scope)
            branched.messages.extend(conversation_of(f"Rather {scope}").messages)
            await store.save(branched, scope=scope)
        assert [prompts(await store.load("t", scope=scope)) for scope in ("alice", "bob")] == [
            ["Rather alice"],
            ["Rather bob"],
        ]

    async def test_a_bound_store_needs_no_scope(self, store: Any):
        bound = store.for_scope("bob")
        assert prompts(await bound.load("t")) == ["I am bob"]
        assert await bound.for_scope("carol").load("t") is None
        assert prompts(await bound.load("t", scope="alice")) == ["I am alice"]

    async def test_without_a_scope_nobody_guesses_whose_it_is(self, store: Any):
        with pytest.raises(UserError, match="scope"):
            await store.load("t")
        with pytest.raises(UserError, match="scope"):
            await store.delete("t")
        await store.delete("t", scope="alice")
        assert prompts(await store.load("t")) == ["I am bob"]


def conversation_of(text: str) -> Any:
    return Conversation(conversation_id="t", messages=[ModelRequest(parts=[UserPromptPart(text)])])


def prompts(conversation: Any) -> list[Any]:
    return [message.parts[0].content for message in conversation.messages] if conversation else []


urlpatterns = [path("admin/", admin.site.urls), path("", include("tests.urls"))]


def at(model: Any) -> str:
    """The address of a table in the admin."""
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}"


def test_the_admin_keeps_two_threads_of_one_id_apart(transactional_db: None, settings: Any, user: Any, other: Any):
    settings.ROOT_URLCONF = __name__
    for one in (user, other):
        scope = f"user:{one.pk}"
        thread = save("t1", scope, f"I am {one.username}")
        Run.objects.create(scope=scope, owner=one, thread_id="t1", run_id="r1", model=one.username)
        now = {"started_at": timezone.now(), "duration_ms": 1}
        AuditRecord.objects.create(user=one, scope=scope, thread_id="t1", run_id="r1", tool_name=one.username, **now)
        file = Attachment.objects.create(scope=scope, owner=one, name=one.username, size=1, digest="d")
        AttachmentUse.objects.create(attachment=file, thread_id="t1")
        Feedback.objects.create(thread=thread, message_id="a", entry=thread.head or "", value=1, comment=one.username)
        save("fork", scope, "A fork")
        Thread.objects.filter(thread_id="fork", scope=scope).update(forked_from="t1")
    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    for one in (user, other):
        thread = Thread.objects.get(thread_id="t1", owner=one)
        links = links_of(browser, f"/admin/assistant/conversation/{thread.pk}/change/")
        for text in ("runs (1)", "tool calls (1)", "files (1)", "feedback (1)"):
            [row] = browser.get(links[text]).context["cl"].result_list
            of = row.thread if isinstance(row, Feedback) else row
            assert getattr(of, "owner", None) == one or getattr(of, "user", None) == one, text
        run, record = Run.objects.get(owner=one), AuditRecord.objects.get(user=one)
        calls = links_of(browser, f"/admin/agui/run/{run.pk}/change/")["tool calls"]
        assert list(browser.get(calls).context["cl"].result_list) == [record]
        page = links_of(browser, f"/admin/agui/auditrecord/{record.pk}/change/")
        assert list(browser.get(page["r1"]).context["cl"].result_list) == [run]
        assert page[f"I am {one.username}"] == f"/admin/assistant/conversation/{thread.pk}/change/"
        file = links_of(browser, f"{at(Attachment)}/{Attachment.objects.get(owner=one).pk}/change/")
        assert [text for text in file if text.startswith("I am")] == [f"I am {one.username}"]
        fork = Thread.objects.get(thread_id="fork", owner=one)
        assert f"I am {one.username}" in links_of(browser, f"/admin/assistant/conversation/{fork.pk}/change/")
    for model in (Run, AuditRecord, Attachment):
        assert not browser.get(f"{at(model)}/?of_conversation=0").context["cl"].result_list
        assert not browser.get(f"{at(model)}/?of_conversation=x").context["cl"].result_list
    chosen = Thread.objects.get(thread_id="t1", owner=user)
    browser.post(f"/admin/assistant/conversation/{chosen.pk}/delete/", {"post": "yes"})
    assert [thread.owner for thread in Thread.objects.filter(thread_id="t1")] == [other]
    assert [run.owner for run in Run.objects.all()] == [other]
    assert [file.owner for file in Attachment.objects.all()] == [other]
