"""Commands and the admin keep two conversations with one thread id apart, which have two owners.

transcripts/same_ids.yaml and test_isolation.py try it over the routes, test_branches.py with stores.
"""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client as Browser
from django.urls import include, path
from django.utils import timezone
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, UserPromptPart

from agui import ModelConversationStore
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.feedback.models import Feedback
from agui.models import AuditRecord, Run, get_conversation_model
from tests.test_admin import links_of

Thread = get_conversation_model()

pytestmark = pytest.mark.database


def test_pruning_one_leaves_the_other(transactional_db: None, user: Any, other: Any):
    for one in (user, other):
        save("t1", f"user:{one.pk}", f"I am {one.username}")
        file = Attachment.objects.create(scope=f"user:{one.pk}", owner=one, name=one.username, size=1, digest="d")
        AttachmentUse.objects.create(attachment=file, thread_id="t1")
    old = timezone.now() - timedelta(days=30)
    Attachment.objects.update(created_at=old)
    Thread.objects.filter(owner=user).update(updated_at=old)
    out = StringIO()
    call_command("prune_agent_data", conversations=7, dry_run=True, stdout=out)
    assert "Would delete conversations: 1" in out.getvalue()
    call_command("prune_agent_data", conversations=7, stdout=StringIO())
    assert [thread.title for thread in Thread.objects.all()] == ["I am bob"]
    assert [file.name for file in Attachment.objects.all()] == ["bob"]


def test_a_file_goes_with_the_thread_of_its_owner(transactional_db: None, user: Any, other: Any):
    for one in (user, other):
        file = Attachment.objects.create(scope=f"user:{one.pk}", owner=one, name=one.username, size=1, digest="d")
        AttachmentUse.objects.create(attachment=file, thread_id="t1")
    Attachment.objects.update(created_at=timezone.now() - timedelta(days=30))
    save("t1", f"user:{user.pk}", "Hi")
    call_command("prune_agent_data", stdout=StringIO())
    assert [file.name for file in Attachment.objects.all()] == ["ada"]


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


def test_the_database_takes_an_id_once_for_each_owner(db: None):
    Thread.objects.create(thread_id="t1", scope="user:1", revision="a")
    Thread.objects.create(thread_id="t1", scope="user:2", revision="b")
    with pytest.raises(IntegrityError):
        Thread.objects.create(thread_id="t1", scope="user:1", revision="c")


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
