"""`prune_agent_data`: what is old or nobody's goes, what somebody still needs stays."""

import threading
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from io import StringIO
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from daily import by_day
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends import cache as cache_sessions
from django.contrib.sessions.backends import db as db_sessions
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, UserPromptPart

from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.mcp.models import ClientQuestion, ClientTask, RemoteAccount, RemoteTool
from agui.contrib.notifications.models import Notification
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.spending.models import RunSpending, Spending
from agui.http.tokens import create_token
from agui.management.commands import prune_agent_data
from agui.models import ApiToken, AuditRecord, Message, Run, get_conversation_model
from agui.stores.model import ModelConversationStore
from tests.conftest import all_models, files_in

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database, pytest.mark.usefixtures("media")]

ALL = {"conversations": 10, "runs": 10, "audit": 10}


@pytest.fixture
def ten_days(settings):
    settings.AGUI = {"ATTACHMENTS": {"RETENTION_HOURS": 10 * 24}}


def ago(days):
    return timezone.now() - timedelta(days=days)


@contextmanager
def failing(fails):
    """Let the statements fail that this function, of the SQL and its parameters, says."""

    def execute_or_fail(execute, sql, params, many, context):
        if fails(sql, params):
            raise DatabaseError("disk I/O error")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(execute_or_fail), pytest.raises(CommandError, match="log"):
        yield


def prune(**options):
    out = StringIO()
    call_command("prune_agent_data", stdout=out, **options)
    return out.getvalue()


def counts(text):
    """{what: number} of the lines that the command has printed."""
    lines = [
        line.split(maxsplit=2 if line.startswith("Would") else 1)[-1].rpartition(": ") for line in text.splitlines()
    ]
    return {what: int(number) for what, _, number in lines}


def save_thread(thread_id, days=0, scope="alice", texts=("one", "two")):
    messages = [ModelRequest(parts=[UserPromptPart(text)]) for text in texts]
    conversation = Conversation(conversation_id=thread_id, messages=messages)
    async_to_sync(ModelConversationStore().save)(conversation, scope=scope)
    Thread.objects.filter(thread_id=thread_id, scope=scope).update(updated_at=ago(days))


def save_run(thread_id="t", days=0, scope="alice", **fields):
    fields = {"status": Run.Status.FINISHED, "seen_at": ago(days), **fields}
    return Run.objects.create(thread_id=thread_id, run_id="r", scope=scope, started_at=ago(days), **fields)


def save_spending(scope="alice", days=0):
    return Spending.objects.create(scope=scope, day=ago(days).date(), model=f"m{days}", input_tokens=1)


def save_record(thread_id="t", days=0):
    return AuditRecord.objects.create(thread_id=thread_id, tool_name="wipe", started_at=ago(days), duration_ms=1)


def save_file(name="f", days=0, threads=(), scope="alice"):
    attachment = Attachment(scope=scope, name=name, media_type="text/plain", size=1, digest=name, created_at=ago(days))
    attachment.file.save(name, ContentFile(b"x"))
    for thread_id in threads:
        AttachmentUse.objects.create(attachment=attachment, thread_id=thread_id)
    return attachment


def files(folder):
    return sorted(path.name for path in files_in(folder))


def rows():
    """Everything in the engine's tables."""
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in all_models()}


def names(model, field="thread_id"):
    return sorted(model.objects.values_list(field, flat=True))


@pytest.mark.parametrize("by", ["options", "settings"])
def test_old_rows_go(settings, by):
    ages = {"conversations": 20, "runs": 3, "audit": 10}
    if by == "settings":
        settings.AGUI = {"RETENTION": {f"{what.upper()}_DAYS": ages.pop(what) for what in [*ages]}}
    for days in (2, 5, 15, 25):
        save_thread(f"t{days}", days)
        save_run(f"t{days}", days)
        save_record(f"t{days}", days)
    save_run("t25", 2)
    user = get_user_model().objects.create(username="ada")
    tokens = {
        "works": {"expires_at": None},
        "expires": {"expires_at": ago(-1)},
        "expired": {"expires_at": ago(29)},
        "revoked": {"revoked_at": ago(29)},
        "dead": {"expires_at": ago(31)},
        "dead too": {"revoked_at": ago(31), "expires_at": ago(-99)},
    }
    for name, fields in tokens.items():
        create_token(user, name)
        ApiToken.objects.filter(name=name).update(**fields)
    printed = counts(prune(**ages))
    assert (printed["conversations"], printed["records of tool calls"], printed["dead tokens"]) == (1, 2, 2)
    # Conversations go by their last message, with their runs, and other rows by their beginning.
    assert set(names(Message, "thread__thread_id")) == {*names(Thread)} == {"t15", "t2", "t5"}
    assert names(Run) == ["t2"]
    assert names(AuditRecord) == ["t2", "t5"]
    assert names(ApiToken, "name") == ["expired", "expires", "revoked", "works"]


def test_by_default_only_unused_files_go(media, settings):
    save_thread("t", 9999)
    save_run("t", 9999)
    save_record("t", 9999)
    save_file("used", 9999, ["t"])
    save_file("unused", 1.1)
    save_file("fresh", 0.9)
    prune()
    assert (names(Thread), names(Run), names(AuditRecord)) == (["t"], ["t"], ["t"])
    assert names(Attachment, "name") == files(media) == ["fresh", "used"]
    for hours, days, left in ((None, 9999, 2), (11, 0.4, 2), (11, 0.5, 1)):
        settings.AGUI = {"ATTACHMENTS": {"RETENTION_HOURS": hours}}
        Attachment.objects.update(created_at=ago(days))
        prune()
        assert Attachment.objects.count() == left


@pytest.mark.parametrize("seen", [0, 0.5])
def test_a_conversation_whose_run_is_on_stays(seen):
    for thread in ("t", "claimed"):
        save_thread(thread, 11)
    for thread in ("t", "in a session"):
        save_run(thread, 11, status=Run.Status.RUNNING, seen_at=ago(seen))
    save_run("claimed", scope="mallory", status=Run.Status.RUNNING)
    prune(conversations=10, runs=10)
    assert names(Thread) == ([] if seen else ["t"])
    assert names(Run) == (["claimed"] if seen else ["claimed", "in a session", "t"])


def test_of_two_threads_of_one_id_each_goes_with_its_own_files():
    for scope, days in (("alice", 11), ("bob", 9)):
        save_thread("t", days, scope)
        save_file(f"of {scope}", 99, ["t"], scope)
    assert counts(prune(conversations=10, dry_run=True))["conversations"] == 1
    prune(conversations=10)
    assert names(Thread, "scope") == ["bob"]
    assert names(Attachment, "name") == ["of bob"]
    Thread.objects.update(scope="alice")
    prune()
    assert names(Attachment, "name") == []


def test_what_a_dead_run_has_said_waits_for_its_thread():
    save_thread("t", 0)
    for thread in ("t", "gone"):
        save_run(thread, 11, status=Run.Status.RUNNING, draft=["words"])
    prune(runs=10)
    assert names(Run) == ["t"]


def test_a_conversation_that_goes_on_meanwhile_stays():
    save_thread("t", 11)

    def go_on(execute, sql, params, many, context):
        found = execute(sql, params, many, context)
        if sql.startswith("SELECT") and "assistant_conversation" in sql and connection.in_atomic_block is False:
            with connection.cursor() as cursor:
                cursor.connection.execute("UPDATE assistant_conversation SET revision = 'next'")
        return found

    with connection.execute_wrapper(go_on):
        assert counts(prune(conversations=10))["conversations"] == 0
    assert names(Thread) == ["t"]


def test_a_file_stays_as_long_as_a_conversation_names_it(media):
    save_thread("old", 11)
    save_thread("young", 9)
    for name, threads in {"a": ["old"], "b": ["young"], "c": ["old", "young"], "d": ["deleted"], "e": []}.items():
        save_file(name, 2, threads)
    # A conversation takes along what it alone names.
    assert counts(prune(conversations=10))["unused files"] == 2
    assert names(Attachment, "name") == files(media) == ["b", "c"]
    assert names(AttachmentUse) == ["young", "young"]


def test_files_that_a_session_s_conversations_name_stay(settings):
    settings.AGUI = {"CONVERSATION_STORE": "agui.contrib.session_store.store.DjangoSessionConversationStore"}
    save_file("named", 99, ["in a session"])
    save_file("unused", 99)
    prune()
    assert names(Attachment, "name") == ["named"]


@pytest.mark.parametrize("engine", [db_sessions, cache_sessions])
def test_what_a_visitor_left_goes_when_his_session_has_ended(settings, engine):
    settings.SESSION_ENGINE = engine.__name__
    settings.SESSION_COOKIE_AGE = 10 * 24 * 3600
    here, expired = engine.SessionStore(), db_sessions.SessionStore()
    here.create()
    expired.set_expiry(ago(1))
    expired.create()
    away = "0123456789abcdef0123456789abcdef"
    save_thread("here", 99, f"session:{here.session_key}")
    save_thread("expired", 99, f"session:{expired.session_key}")
    save_thread("away", 11, f"session:{away}")
    save_thread("just left", 9, f"session:{away}")
    save_thread("a user's", 99, f"user:{get_user_model().objects.create(username='ada').pk}")
    save_thread("another's", 99, "session-like")
    save_run("away", 11, f"session:{away}")
    save_file("his", 2, ["away"])
    assert counts(prune())["conversations of visitors who are gone"] == 2
    assert names(Thread) == ["a user's", "another's", "here", "just left"]
    assert not Run.objects.exists()
    assert not Attachment.objects.exists()


def fill(settings):
    settings.SESSION_COOKIE_AGE = 8 * 24 * 3600
    settings.AGUI = {"SPENDING": {"RETENTION_DAYS": 10}}
    for number in range(5):
        for days in (9, 11, 99):
            thread = f"t{number}-{days}"
            save_thread(thread, days, "session:gone" if number == 4 else "alice")
            save_run(thread, days)
            save_run(thread, 99)
            save_record(thread, days)
            save_file(thread, days, [thread] if number % 2 else [])
    for scope in ("alice", "session:gone"):
        save_spending(scope, 99)
    RunSpending.objects.create(run=uuid4(), scope="alice")
    RunSpending.objects.update(noted_at=ago(99))
    for number, state in enumerate(QueuedMessage.State):
        about = {"thread_id": "t0-9", "message_id": f"m{number}", "mode": "queue", "position": number}
        QueuedMessage.objects.create(scope="alice", state=state, created_at=ago(99), **about)
    asked = {"scope": "alice", "form": {}}
    for number, days in enumerate((0.5, 1.5, -1)):
        about = {"caller": str(number), "arguments": "sealed", "expires_at": ago(days)}
        question = ClientQuestion.objects.create(**asked, **about)
    for days in (1, -1):
        ClientQuestion.objects.create(**asked, expires_at=ago(days))
        ClientTask.objects.create(scope="alice", expires_at=ago(days))
    ClientTask.objects.create(scope="alice", expires_at=ago(-1), question=question)
    ada = get_user_model().objects.create(username="ada")
    RemoteAccount.objects.create(user=ada, server="begun", attempt_until=ago(1))
    RemoteAccount.objects.create(user=ada, server="begins", attempt_until=ago(-1))
    RemoteAccount.objects.create(user=ada, server="connected", tokens="sealed", attempt_until=ago(1))
    RemoteAccount.objects.create(user=ada, server="over", is_over=True)
    for name, days, accepted in (("held", 99, None), ("waits", 9, None), ("accepted", 99, ago(99))):
        about = {"definition": {}, "seen_at": ago(days), "accepted_at": accepted}
        RemoteTool.objects.create(server="shop", name=name, **about)
    Notification.objects.create(scope="alice", thread_id="t0-9", run=uuid4(), created_at=ago(99))
    save_run("t0-99", 99, status=Run.Status.RUNNING, draft=["words"])
    save_run("t1-99", 99, status=Run.Status.RUNNING, seen_at=ago(0))
    save_file("shared", 99, ["t0-9", "t1-11"])
    create_token(ada)
    ApiToken.objects.update(expires_at=ago(99))
    if apps.is_installed("oauth2_provider"):
        import_module("tests.hosting").leave_old_rows()


@pytest.mark.usefixtures("ten_days")
def test_what_was_spent_outlives_the_runs_and_a_visitor_s_session_for_a_month(settings):
    settings.SESSION_COOKIE_AGE = 8 * 24 * 3600
    save_run(days=99)
    for days in (9, 30, 33):
        save_spending("session:gone", days)
        save_spending("user:1", days)
    prune(runs=10, conversations=10)
    assert not Run.objects.exists()
    assert {spent.day for spent in Spending.objects.filter(scope="session:gone")} == {ago(d).date() for d in (9, 30)}
    assert Spending.objects.filter(scope="user:1").count() == 3
    settings.AGUI = {"SPENDING": {"RETENTION_DAYS": 10}}
    prune()
    assert {spent.model for spent in Spending.objects.all()} == {"m9"}


@pytest.mark.usefixtures("ten_days")
def test_a_dry_run_tells_what_would_go_and_changes_nothing(media, settings):
    fill(settings)
    before = rows(), files(media)
    told = prune(dry_run=True, **ALL)
    assert (rows(), files(media)) == before
    done = prune(**ALL)
    assert counts(told) == counts(done)
    assert all(counts(done).values()), done
    assert all(line.startswith("Would delete ") for line in told.splitlines())
    assert set(counts(prune(dry_run=True, **ALL)).values()) == {0}


@pytest.mark.usefixtures("ten_days")
def test_others_can_write_in_between(monkeypatch):
    monkeypatch.setattr(prune_agent_data, "BATCH", 2)
    for number in range(5):
        save_thread(f"t{number}", 11)
        save_record(days=11)
        save_file(f"f{number}", 11)
    written = []

    def write():
        try:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA busy_timeout = 0" if connection.vendor == "sqlite" else "SET lock_timeout = 1")
            written.append(save_record("new"))
        finally:
            connection.close()

    def write_in_between(execute, sql, params, many, context):
        if sql.startswith("SELECT") and not connection.in_atomic_block:
            thread = threading.Thread(target=write)
            thread.start()
            thread.join()
            assert written.pop()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write_in_between):
        prune(**ALL)
    assert not Thread.objects.exists()
    assert not Attachment.objects.exists()
    assert set(names(AuditRecord)) == {"new"}


def test_few_reads_find_many_rows(monkeypatch):
    monkeypatch.setattr(prune_agent_data, "BATCH", 2)
    monkeypatch.setattr(prune_agent_data, "READ_AHEAD", 10)
    for number in range(25):
        save_thread(f"t{number}", 11)
        save_record(days=11)
    with CaptureQueriesContext(connection) as queries:
        prune(conversations=10, audit=10)
    assert not Thread.objects.exists()
    assert not AuditRecord.objects.exists()
    for table in ("assistant_conversation", "agui_auditrecord"):
        reads = [query["sql"] for query in queries if query["sql"].endswith(f'ORDER BY "{table}"."id" ASC LIMIT 10')]
        assert len(reads) == 4, reads  # The database sorts all rows for each of them.


@pytest.mark.parametrize(
    "table", by_day(["agui_run", "agui_auditrecord", "agui_apitoken", "agui_message", "agui_attachments_attachment"])
)
@pytest.mark.usefixtures("ten_days")
def test_one_table_s_failure_stops_no_other(table, settings, caplog):
    fill(settings)
    with failing(lambda sql, _: sql.startswith("DELETE") and f'"{table}"' in sql.partition("WHERE")[0]):
        prune(**ALL)
    assert "disk I/O error" in caplog.text
    old = {
        "agui_run": Run.objects.filter(started_at__lt=ago(10)).exclude(status=Run.Status.RUNNING),
        "agui_auditrecord": AuditRecord.objects.filter(started_at__lt=ago(10)),
        "agui_apitoken": ApiToken.objects.all(),
        "agui_message": Message.objects.filter(thread__updated_at__lt=ago(10)).exclude(thread__thread_id="t1-99"),
        "agui_attachments_attachment": Attachment.objects.filter(created_at__lt=ago(10), uses=None),
    }
    # A conversation goes with its runs and files, or not at all.
    tied = {"agui_message"} if table in ("agui_run", "agui_attachments_attachment") else set()
    assert {name for name, left in old.items() if left.exists()} == {table} | tied


@pytest.mark.usefixtures("ten_days")
def test_what_can_t_be_counted_goes_all_the_same(settings, caplog):
    fill(settings)
    with failing(lambda sql, _: '"agui_dashboard_runspan"' in sql):
        prune(**ALL)
    assert "disk I/O error" in caplog.text
    assert not AuditRecord.objects.filter(started_at__lt=ago(10)).exists()


def test_one_file_s_failure_stops_no_other(media, caplog):
    for name in ("a", "b", "c"):
        save_file(name, 2)
    broken = Attachment.objects.get(name="b").pk

    def fails(sql, params):
        deletes = sql.startswith('DELETE FROM "agui_attachments_attachment"') and params
        return deletes and str(params[0]).replace("-", "") == broken.hex

    with failing(fails):
        prune()
    assert names(Attachment, "name") == files(media) == ["b"]
    assert str(broken) in caplog.text


@pytest.mark.parametrize("option", ["--conversations=0", "--runs=-1", "--audit=1000000"])
def test_an_age_has_to_make_sense(option):
    with pytest.raises(CommandError, match="not a number from 1 to"):
        call_command("prune_agent_data", option)
