"""Commands and the admin keep two conversations with one thread id apart, which have two owners.

transcripts/same_ids.yaml and test_isolation.py try it over the routes, test_branches.py with stores, test_prune.py as
they grow old.
"""

import json
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.test import Client as Browser

from agui import ModelConversationStore
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.feedback.models import Feedback
from agui.models import AuditRecord, Run, get_conversation_model
from tests.test_admin import at, change_page, delete, fill, links_of, rows_of, save_thread

Thread = get_conversation_model()

pytestmark = pytest.mark.database


def test_a_case_is_made_of_the_named_users_conversation(user: Any, other: Any):
    for one in (user, other):
        save_thread("t1", f"user:{one.pk}", f"I am {one.username}")
    with pytest.raises(CommandError, match="--user"):
        call_command("export_case", "t1")
    out = StringIO()
    call_command("export_case", "t1", "--user", "bob", stdout=out, stderr=StringIO())
    assert json.loads(out.getvalue())["cases"][0]["inputs"] == {"says": ["I am bob"]}


def test_the_admin_keeps_two_threads_of_one_id_apart(chief: Browser, media: Any):
    for number in (0, 1):
        fill(number, "t1")
        AttachmentUse.objects.create(attachment=Attachment.objects.get(name=f"file{number}"), thread_id="t1")
        thread = Thread.objects.get(thread_id="t1", owner__username=f"user{number}")
        Thread.objects.filter(pk=thread.pk).update(title=f"I am {number}")
        fork = {"new_conversation_id": "fork", "source_scope": thread.scope}
        async_to_sync(ModelConversationStore().fork)("t1", **fork)
    threads = list(Thread.objects.filter(thread_id="t1").order_by("owner__username"))
    for thread in threads:
        owner, page = thread.owner, change_page(thread)
        links = links_of(chief, page)
        for text in ("runs (1)", "tool calls (1)", "files (1)", "feedback (1)"):
            [row] = rows_of(chief, links[text])
            of = row.thread if isinstance(row, Feedback) else row
            assert getattr(of, "owner", None) == owner or getattr(of, "user", None) == owner, text
        run, record = Run.objects.get(owner=owner), AuditRecord.objects.get(user=owner)
        assert rows_of(chief, links_of(chief, change_page(run))["tool calls"]) == [record]
        of_call = links_of(chief, change_page(record))
        assert rows_of(chief, of_call["r"]) == [run]
        assert of_call[thread.title] == page
        of_file = links_of(chief, change_page(Attachment.objects.get(owner=owner)))
        assert [text for text in of_file if text.startswith("I am")] == [thread.title]
        assert page in links_of(chief, change_page(Thread.objects.get(thread_id="fork", owner=owner))).values()
    for name in ("run", "auditrecord", "attachment"):
        for value in ("0", "x"):
            assert not rows_of(chief, f"{at(name)}/", of_conversation=value)
    chosen, kept = threads
    delete(chief, chosen)
    for model in (Thread.objects.filter(thread_id="t1"), Run.objects, Attachment.objects):
        assert [row.owner for row in model.all()] == [kept.owner]
