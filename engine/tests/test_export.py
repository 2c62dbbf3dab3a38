"""The export has every field, and the command gives it, too. (transcripts/export.yaml has what it tells.)"""

import json
import stat
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from io import StringIO
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection, models
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart

from agui.actor import Actor
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.durable.models import RunOrder, ToolOutcome
from agui.contrib.export.document import write_document
from agui.contrib.feedback.models import Feedback
from agui.contrib.mcp.models import ClientQuestion, ClientTask, RemoteAccount
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.spending.models import Budget, RunSpending, Spending
from agui.models import ApiToken, AuditRecord, Message, Run, get_conversation_model
from agui.stores import codec
from agui.stores.annotations import METADATA_KEY, annotate
from agui.testing import call, say
from tests.conftest import Client, body_of, models_of_users, script
from tests.test_manual_tables import fields

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]

# Models whose rows need no row of another one.
ALONE = [NotificationChoice, Notification, RemoteAccount, QueuedMessage, Spending, RunSpending, AuditRecord, ApiToken]
IN_ANOTHER_FORM = {Thread: {"deferred"}, Message: {"data"}, Run: {"draft"}, AttachmentUse: {"thread_id"}}


async def read(client):
    response = await client.get("export/")
    assert response.status_code == 200
    return json.loads(await body_of(response))


def export(username, **options):
    out = StringIO()
    call_command("export_agent_data", username, stdout=out, **options)
    return json.loads(out.getvalue())


class Marked:
    """A row of every model, each field with something in it that is nowhere else."""

    def __init__(self, user, seed):
        self.number = seed * 1000
        self.told = {}
        self.thread = self.make(Thread, user, deferred=waiting, branches=lambda mark: [mark])
        self.message = self.make(Message, user, thread=self.thread, data=lambda mark: dump(mark)[0])
        self.make(Feedback, user, thread=self.thread)
        self.make(ClientTask, user, question=self.make(ClientQuestion, user))
        self.run = self.make(Run, user, draft=dump, status=lambda mark: mark[:16])
        self.make(Budget, user, group=None, period=lambda mark: mark[:8])
        self.make(RunOrder, user, run=self.run)
        self.make(ToolOutcome, user, run=self.run)
        self.make(AttachmentUse, user, attachment=self.make(Attachment, user))
        for model in ALONE:
            self.make(model, user)

    def make(self, model, user, **special):
        values = {}
        for field in model._meta.concrete_fields:
            self.number += 1
            mark = f"mark{self.number}"
            if field.name == "scope":
                values["scope"] = f"user:{user.pk}"
            elif field.related_model is get_user_model():
                values[field.name] = user
            elif isinstance(special.get(field.name, ""), models.Model | None):
                values[field.name] = special[field.name]
            else:
                values[field.name], self.told[model, field.name] = self.value(field, mark, special.get(field.name))
        return model.objects.create(**values)

    def value(self, field, mark, special):
        if special:
            return special(mark), mark
        match field:
            case models.BooleanField():
                return True, f'"{field.name}": true'
            case models.JSONField():
                return {"of": mark}, mark
            case models.DateTimeField():
                moment = datetime(2001, 1, 1, tzinfo=UTC) + timedelta(days=self.number)
                return moment, moment.isoformat()[:19]
            case models.DateField():
                day = date(2001, 1, 1) + timedelta(days=self.number)
                return day, day.isoformat()
            case models.DecimalField():
                return Decimal(self.number), str(self.number)
            case models.UUIDField():
                return UUID(int=self.number), str(UUID(int=self.number))
            case models.CharField() | models.TextField() | models.FileField():
                return mark, mark
            case models.SmallIntegerField():
                return 7_000 + self.number, str(7_000 + self.number)
            case models.IntegerField() | models.FloatField():
                return 7_000_000 + self.number, str(7_000_000 + self.number)
        raise NotImplementedError(f"Say what the export should hold of {field}.")


def waiting(mark):
    call = ToolCallPart("wipe", {"what": mark}, tool_call_id=f"call-{mark}")
    about = {METADATA_KEY: {"id": f"int-{mark}", "expires_at": None}}
    asked = DeferredToolRequests(approvals=[call], metadata={call.tool_call_id: about})
    return codec.dump(codec.DEFERRED, asked)


def dump(mark):
    message = ModelRequest(parts=[UserPromptPart(mark)])
    annotate(message, ids=["id"])
    return codec.dump_messages([message])


def test_every_field_is_told_or_absent_as_the_manual_says(user):
    marked = Marked(user, 1)
    assert {model for model, _ in marked.told} == set(models_of_users())
    text = json.dumps(export("ada"))
    for (model, field), mark in marked.told.items():
        _, _, exported = fields(model.__name__)[field]
        if exported == "yes" or field in IN_ANOTHER_FORM.get(model, ()):
            assert mark in text, f"{model.__name__}.{field}"
        elif not isinstance(model._meta.get_field(field), models.AutoField):
            assert mark not in text, f"{model.__name__}.{field}"


async def test_nothing_of_another_user_is_told(user, other, client, other_client):
    mine, theirs = await sync_to_async(Marked)(user, 1), await sync_to_async(Marked)(other, 2)
    my_export, their_export = json.dumps(await read(client)), json.dumps(await read(other_client))
    for one, own, foreign in ((mine, my_export, their_export), (theirs, their_export, my_export)):
        told = [mark for mark in one.told.values() if mark.startswith("mark")]
        assert any(mark in own for mark in told)
        assert not [mark for mark in told if mark in foreign]
    assert '"bob"' not in my_export


async def test_a_visitor_s_session_is_not_told():
    visitor = Client(None, "/open/")
    with script(call("echo", text="x"), say("Hello")):
        await visitor.run("Hi")
    assert visitor.http.cookies["sessionid"].value not in json.dumps(await read(visitor))


def fill(user, count):
    thread = Thread.objects.create(thread_id=f"of{count}", scope=f"user:{user.pk}", owner=user, revision="r")
    messages = [ModelResponse(parts=[TextPart("x" * 2000)]) for _ in range(count)]
    Message.objects.bulk_create(
        Message(id=f"{count}-{number}", thread=thread, data=data)
        for number, data in enumerate(codec.dump_messages(messages))
    )


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_conversation(user):
    def peak(count):
        fill(user, count)
        actor = Actor(user, f"user:{user.pk}")
        size = sum(len(chunk) for chunk in write_document(actor))
        tracemalloc.start()
        for _ in write_document(actor):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        Thread.objects.all().delete()
        return size, most

    few, many = peak(100), peak(2000)
    assert many[0] > 19 * few[0] > 19 * 200_000
    assert many[1] < 4 * few[1]


async def test_no_connection_waits_for_a_slow_client(client, user):
    await sync_to_async(fill)(user, 100)
    response = await client.get("export/")
    chunks = 0
    async for _ in response.streaming_content:
        chunks += 1
        assert await sync_to_async(lambda: connection.connection)() is None
    assert chunks > 1


async def test_any_text_can_be_told_and_a_broken_message_takes_no_other_along(client, user, caplog):
    await sync_to_async(fill)(user, 3)
    await Message.objects.filter(pk="3-1").aupdate(data={"kind": "unknown"})
    for text in ("a\x00b", "lone \ud800 surrogate", "😀 ж", '"quoted"\n\u2028'):
        await Message.objects.filter(pk="3-2").aupdate(data=dump(text)[0])
        [told] = (await read(client))["threads"]
        assert told["entries"][2]["messages"][0]["content"] == text
    assert [len(entry.get("messages", ())) for entry in told["entries"]] == [1, 0, 1]
    assert told["entries"][1]["unreadable"] is True
    assert "3-1" in caplog.text


async def test_the_command_tells_the_same_of_who_is_there(client, user, tmp_path):
    await sync_to_async(Marked)(user, 1)
    told = {**await read(client), "exported_at": ""}
    user.is_active = False
    await user.asave()
    assert {**await sync_to_async(export)("ada"), "exported_at": ""} == told
    path = tmp_path / "ada.json"
    await sync_to_async(call_command)("export_agent_data", "ada", output=path)
    assert {**json.loads(path.read_text("utf-8")), "exported_at": ""} == told
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(CommandError, match="no user 'eve'"):
        await sync_to_async(export)("eve")


def keep_file(user, name, content):
    attachment = Attachment(scope=f"user:{user.pk}", owner=user, name=name, size=1, media_type="text/plain")
    attachment.file.save("x", ContentFile(content))
    return attachment


def test_the_command_copies_files_under_names_of_its_own(user, other, tmp_path):
    names = ["notes.txt", "../../escape.sh", "con\x01trol.tx t", "no suffix", "x." + "y" * 50]
    for name in names:
        keep_file(user, name, name.encode())
    keep_file(other, "bobs.txt", b"bobs")
    folder = tmp_path / "new" / "files"
    told = {one["name"]: one["file"] for one in export("ada", files=folder)["attachments"]}
    assert set(told) == set(names)
    assert {name: (folder / file).read_bytes() for name, file in told.items()} == {n: n.encode() for n in names}
    assert sorted(path.name for path in folder.iterdir()) == sorted(told.values())
    assert [told[name][36:] for name in names] == [".txt", ".sh", "", "", ""]


def test_the_command_tells_of_files_that_are_lost(user, tmp_path):
    lost, found = keep_file(user, "lost.txt", b"1"), keep_file(user, "found.txt", b"2")
    default_storage.delete(lost.file.name)
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="copied: 1"):
        call_command("export_agent_data", "ada", files=tmp_path, stdout=out, stderr=err)
    told = {one["name"]: one["file"] for one in json.loads(out.getvalue())["attachments"]}
    assert told == {"lost.txt": None, "found.txt": f"{found.pk}.txt"}
    assert str(lost.pk) in err.getvalue()
