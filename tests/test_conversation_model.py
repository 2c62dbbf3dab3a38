"""The conversation is the project's own model, with fields of its own.

The engine's test_worlds.py has it in another app.
"""

import re
from pathlib import Path

import pytest
from projects import append, program, replace
from servers import manage
from test_engine import files, run_engine_tests

pytestmark = pytest.mark.servers

# What an owner adds to assistant/models.py.
OWN_FIELDS = '''
class Customer(models.Model):
    """Whom a conversation is about."""

    name = models.CharField(max_length=100)

    def __str__(self) -> str:
        return self.name


class Conversation(AbstractConversation):
    """A user's conversation with an agent."""

    label = models.CharField(max_length=50, blank=True, default="new", db_index=True)
    priority = models.PositiveSmallIntegerField(default=3)
    customer = models.ForeignKey(Customer, null=True, blank=True, on_delete=models.SET_NULL)
    watchers = models.ManyToManyField(Customer, blank=True, related_name="+")

    class Meta(AbstractConversation.Meta):
        verbose_name = "case"
'''
TOOL = '''

@tool(registry)
def label_this(ctx: RunContext[AgentDeps], label: str) -> str:
    """Label this conversation."""
    mine = Conversation.objects.filter(thread_id=ctx.deps.thread_id, owner=ctx.deps.user)
    mine.update(label=label, customer=Customer.objects.create(name="Ada & Co"))
    return "Done."
'''
ADMIN = """
from agui.contrib.admin.threads import ConversationAdmin
from assistant.models import Conversation


@admin.register(Conversation)
class CaseAdmin(ConversationAdmin):
    list_filter = ["label", *ConversationAdmin.list_filter]
"""
TESTS = r"""
import io
import json
import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from agui import get_conversation_model
from agui.models import Message
from agui.testing import Chat, call, say
from assistant.models import Conversation, Customer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def labelled():
    ada = await get_user_model().objects.acreate_user("ada")
    answer = await Chat(ada, call("label_this", label="billing"), say("Labelled.")).send("It is about a bill")
    assert answer.text == "Labelled."
    return await Conversation.objects.select_related("customer", "owner").aget()


async def test_a_tool_writes_the_fields_and_a_query_reads_them(labelled):
    assert get_conversation_model() is Conversation
    assert (labelled.label, labelled.priority, labelled.customer.name) == ("billing", 3, "Ada & Co")
    about_bills = Conversation.objects.filter(label="billing", customer__name__startswith="Ada")
    assert await about_bills.filter(messages__words__contains="bill").distinct().aget() == labelled
    assert labelled.title == "It is about a bill"
    # Another turn changes none of them.
    await Chat(labelled.owner, say("Fine."), thread=labelled.thread_id).send("And again")
    row = await Conversation.objects.aget(pk=labelled.pk)
    assert (row.label, row.customer_id) == ("billing", labelled.customer_id)
    assert await Message.objects.filter(thread=row).acount() > 4


def test_the_admin_shows_the_fields_and_changes_them_alone(labelled, client):
    client.force_login(get_user_model().objects.create_superuser("root"))
    page = reverse("admin:assistant_conversation_change", args=[labelled.pk])
    shown = client.get(page).content.decode()
    assert "Ada &amp; Co" in shown
    assert "billing" in shown
    cases = client.get(reverse("admin:assistant_conversation_changelist"), {"label": "billing"}).content.decode()
    assert "It is about a bill" in cases
    assert "By label" in cases
    # What a turn of the agent has written meanwhile must stay, and the log must not keep titles.
    form = {"label": "urgent", "priority": 1, "customer": "", "title": "Forged", "thread_id": "forged"}
    form["watchers"] = [labelled.customer_id]
    with CaptureQueriesContext(connection) as queries:
        assert client.post(page, form).status_code == 302
    [update] = [q["sql"] for q in queries if q["sql"].startswith('UPDATE "assistant_conversation"')]
    assert set(re.findall(r'"(\w+)" = ', update.partition("WHERE")[0])) == {"label", "priority", "customer_id"}
    row = Conversation.objects.get()
    assert (row.label, row.priority, row.customer, row.title) == ("urgent", 1, None, labelled.title)
    assert row.thread_id == labelled.thread_id
    assert [watcher.pk for watcher in row.watchers.all()] == [labelled.customer_id]
    [entry] = LogEntry.objects.all()
    assert entry.object_repr == f"case {row.pk}"
    assert entry.get_change_message() == "Changed Label, Priority, Customer and Watchers."


def test_an_export_has_the_fields_and_pruning_leaves_the_customer(labelled):
    document = io.StringIO()
    call_command("export_agent_data", "ada", stdout=document)
    [thread] = json.loads(document.getvalue())["threads"]
    assert (thread["label"], thread["priority"], thread["customer"]) == ("billing", 3, labelled.customer_id)
    labelled.watchers.add(labelled.customer)
    Conversation.objects.update(updated_at=timezone.now() - timedelta(days=400))
    call_command("prune_agent_data", "--conversations", "300", verbosity=0)
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
    assert Customer.objects.count() == 1
"""


@pytest.fixture
def extended(bake_furnished) -> Path:
    """A project whose conversations have two fields and a relation more."""
    project: Path = bake_furnished(project_slug="extended")
    models = project / "assistant/models.py"
    models.write_text(re.sub(r'\nclass Conversation.*?"""\n\n', OWN_FIELDS, models.read_text(), count=1, flags=re.S))
    tools, imported = project / "assistant/tools.py", "from assistant.models import Task"
    replace(tools, imported, "from assistant.models import Conversation, Customer, Task")
    append(tools, TOOL)
    append(project / "assistant/admin.py", ADMIN)
    (project / "assistant/tests/test_own_fields.py").write_text(TESTS)
    assert "+ Create model Customer" in manage(project, "makemigrations", "assistant", "--name", "customers")
    return project


def test_fields_of_the_project_are_used_like_those_of_any_model(extended: Path):
    manage(extended, "migrate", "--verbosity", "0")
    assert "No changes" in manage(extended, "makemigrations", "--check", "--dry-run")
    program(extended, "pytest", "-q", "assistant/tests/test_own_fields.py")


# Where conversations are written, read, searched, forked, pruned and deleted. Other tests look at each of the fields.
ROOMS = ["stores", "threads", "transcripts", "branches", "prune", "feedback", "isolation"]


@pytest.mark.nightly
def test_the_engine_passes_its_tests_with_fields_of_the_project(extended: Path):
    run_engine_tests(extended, "-m", "not nightly", *files(*(f"test_{room}.py" for room in ROOMS)))
