"""Plain SQL writes and reads the same rows as Django does, unless a library has changed."""

import json
import logging
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Model
from django.db.models.functions import Now
from django.db.models.signals import post_save, pre_save
from django.db.models.sql.compiler import SQLCompiler, SQLInsertCompiler, SQLUpdateCompiler
from django.db.transaction import TransactionManagementError
from django.utils.timezone import now

from agui import statements
from agui.contrib.fast import guard, sql
from agui.contrib.fast.guard import find, guarded
from agui.contrib.spending.models import RunSpending
from agui.http.tokens import _find_user, create_token, hash_token
from agui.models import AuditRecord, Message, Run, get_conversation_model
from agui.statements import insert, insert_all, select, update
from agui.testing import say
from tests.conftest import Client, script

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

TEXTS = ("", "plain", "%s %% %(name)s", 'it\'s "quoted" \\ ;--', "Grüße 你好 🎉", "\n\t", "x" * 30)
JSON = ({}, [], 0, "", "text", {"a": [1, 2.5, None, True, {"%s": "'🎉"}]}, [[]], "\\u0000")
TIMES = (
    datetime(2026, 2, 3, 4, 5, 6, 789012, UTC),
    datetime(1999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=5, minutes=30))),
)
NUMBERS = (0, 1, 32767)
MODELS: list[type[Model]] = [Thread, Message, Run, AuditRecord, RunSpending]


def random_value(field: Any, chance: random.Random) -> Any:
    if field.null and chance.random() < 0.3:
        return None
    if field.choices:
        return chance.choice(field.choices)[0]
    kinds: dict[type[models.Field], Any] = {
        models.UUIDField: lambda: chance.choice([str, UUID])(str(UUID(int=chance.getrandbits(128)))),
        models.JSONField: lambda: chance.choice(JSON),
        models.BooleanField: lambda: chance.random() < 0.5,
        models.DateTimeField: lambda: chance.choice(TIMES),
        models.DateField: lambda: date(2026, 2, 3),
        models.DecimalField: lambda: Decimal(chance.randrange(10**12)) / 10**7,
        models.IntegerField: lambda: chance.choice(NUMBERS),
        models.FloatField: lambda: chance.choice([0.0, 1.5, 1e300]),
        models.TextField: lambda: chance.choice(TEXTS),
        models.CharField: lambda: chance.choice(TEXTS)[: field.max_length],
    }
    [make] = [make for kind, make in kinds.items() if isinstance(field, kind)][:1]
    return make()


def random_columns(model: type[Model], chance: random.Random, parents: dict[str, Any]) -> dict[str, Any]:
    """Values for all columns but a key that the database chooses."""
    columns = {}
    for field in model._meta.concrete_fields:
        if field.remote_field:
            columns[field.attname] = parents[field.name]
        elif field is not model._meta.auto_field:
            columns[field.attname] = random_value(field, chance)
    return columns


def stored(model: type[Model]) -> list[Any]:
    """What the database itself has of a model's rows, without keys that it chose and the time of the save."""
    columns = []
    for field in model._meta.concrete_fields:
        if field is not model._meta.auto_field and not getattr(field, "auto_now", False):
            columns.append(field.column)
    with connection.cursor() as cursor:
        names = ", ".join(map(connection.ops.quote_name, columns))
        cursor.execute(f"SELECT {names} FROM {model._meta.db_table}")  # noqa: S608
        return sorted(cursor.fetchall(), key=str)


def undone(action: Callable[[], Any]) -> Any:
    """The result of an action whose changes are undone."""
    with transaction.atomic():
        result = action()
        transaction.set_rollback(True)
    return result


@pytest.fixture
def parents(user: Any) -> dict[str, Any]:
    thread = Thread.objects.create(thread_id="of messages", scope="somebody", revision="1")
    return {"user": user.pk, "owner": user.pk, "thread": thread.pk}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the compilers with which Django has built an INSERT or an UPDATE."""
    built = []
    for compiler in (SQLInsertCompiler, SQLUpdateCompiler):

        def as_sql(self: Any, as_sql: Any = compiler.as_sql, name: str = compiler.__name__) -> Any:
            built.append(name)
            return as_sql(self)

        monkeypatch.setattr(compiler, "as_sql", as_sql)
    return built


@pytest.mark.parametrize("model", MODELS)
def test_statements_do_what_django_does(model, parents, built):
    chance = random.Random(model.__name__)  # noqa: S311
    for _ in range(30):
        columns = random_columns(model, chance, parents)

        def write(by: Callable[[Model], Any], columns: Any = columns) -> Any:
            by(row := model(**columns))
            assert (row._state.adding, row._state.db) == (False, "default")
            assert model.objects.filter(pk=row.pk).exists()
            return stored(model)

        django_writes = undone(lambda: write(lambda row: row.save(force_insert=True)))  # noqa: B023
        built.clear()
        for by in (insert, lambda row: insert_all([row])):
            assert undone(lambda: write(by)) == django_writes  # noqa: B023
        assert built == []

        row = model(**columns)
        insert(row)
        [read], expected = select(model, pk=row.pk), model.objects.get(pk=row.pk)
        for field in model._meta.concrete_fields:
            ours, djangos = getattr(read, field.attname), getattr(expected, field.attname)
            assert (ours, type(ours)) == (djangos, type(djangos))
        assert (read._state.adding, read._state.db) == (False, "default")

        where = {"pk": row.pk}
        for field in model._meta.concrete_fields:
            value = getattr(row, field.attname)
            if chance.random() < 0.3 and isinstance(value, str | int | UUID):
                where[field.attname] = value
        changed = random_columns(model, chance, parents)
        changed.pop(model._meta.pk.attname, None)
        django_writes = undone(lambda: (model.objects.filter(**where).update(**changed), stored(model)))  # noqa: B023
        built.clear()
        assert undone(lambda: (update(model, changed, **where), stored(model))) == django_writes  # noqa: B023
        assert (django_writes[0], built) == (1, [])
        row.delete()
        assert (update(model, changed, **where), select(model, pk=expected.pk)) == (0, [])


def test_lookup_of_a_token_needs_no_compiler(user, monkeypatch):
    _, token = create_token(user)
    assert _find_user(hash_token(token)) == user  # The use of the token is recorded, by Django.
    monkeypatch.delattr(SQLCompiler, "as_sql")
    assert _find_user(hash_token(token)) == user


def test_several_rows_are_one_statement(parents, django_assert_num_queries):
    messages = [Message(id=str(number), thread_id=parents["thread"], data="{}") for number in range(5)]
    with django_assert_num_queries(1):
        insert_all(messages)
    assert Message.objects.count() == 5
    with django_assert_num_queries(0):
        insert_all([])


def test_more_rows_than_a_statement_takes_go_the_usual_way(parents, built, monkeypatch):
    monkeypatch.setattr(type(connection.features), "max_query_params", 999)
    messages = [Message(id=str(number), thread_id=parents["thread"], data="{}") for number in range(1000)]
    is_split = connection.ops.bulk_batch_size(Message._meta.concrete_fields, messages) < len(messages)
    insert_all(messages)
    assert Message.objects.count() == 1000
    assert bool(built) == is_split
    assert is_split or connection.vendor != "sqlite"


def test_now_is_the_time_of_the_database(built):
    run = Run(thread_id="t", run_id="r", seen_at=Now())
    insert(run)
    Run.objects.filter(pk=run.pk).update(started_at=Now() - timedelta(days=1))
    built.clear()
    update(Run, {"started_at": Now()}, pk=run.pk)
    assert built == []
    [run] = select(Run, pk=run.pk)
    assert abs(now() - run.seen_at) < timedelta(minutes=1) > abs(now() - run.started_at)


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ({"unpriced": F("unpriced") + 1}, {"thread_id": "t"}),
        ({"unpriced": 1}, {"owner_id": None}),
        ({"unpriced": 1}, {"thread_id__in": ["t"]}),
        ({"unpriced": 1}, {"usage": {"a": 1}}),
    ],
)
def test_what_is_not_plain_goes_the_usual_way(columns, where, built):
    insert(Run(thread_id="t", run_id="r", usage={"a": 1}))
    assert update(Run, columns, **where) == 1
    assert built
    assert Run.objects.get().unpriced == 1


def test_related_rows_and_other_databases_go_the_usual_way(parents, built, monkeypatch):
    thread = Thread(thread_id="t", scope="s", revision="1")
    message = Message(id="m", thread=thread, data="{}")
    insert(thread)
    insert(message)
    update(Run, {"owner": get_user_model().objects.get()}, thread_id="t")
    assert Message.objects.get().thread_id == thread.pk
    assert built == ["SQLInsertCompiler", "SQLUpdateCompiler"]
    monkeypatch.setattr(connection, "vendor", "another")
    insert(RunSpending(run=UUID(int=1), scope="s"))
    update(RunSpending, {"scope": "t"}, pk=UUID(int=1))
    assert [row.scope for row in select(RunSpending, pk=UUID(int=1))] == ["t"]
    assert built == ["SQLInsertCompiler", "SQLUpdateCompiler"] * 2


def test_a_save_of_its_own_is_called(intercept):
    saved = []
    intercept(Run, "save", before=saved.append)
    run = Run(thread_id="t", run_id="r")
    insert(run)
    assert saved == [run]
    assert Run.objects.count() == 1


def test_a_failed_statement_spoils_its_transaction(parents):
    insert(Message(id="m", thread_id=parents["thread"], data="{}"))
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert(Message(id="m", thread_id=parents["thread"], data="{}"))
        with pytest.raises(TransactionManagementError):
            select(Message, pk="m")


@pytest.mark.parametrize("signal", [pre_save, post_save])
async def test_receivers_hear_of_the_rows_of_a_turn(client: Client, signal):
    heard = []

    def listen(sender: type[Model], **kwargs: Any) -> None:
        heard.append(sender)

    signal.connect(listen)
    try:
        with script(say("Fine")):
            await client.run("Hello")
    finally:
        signal.disconnect(listen)
    assert {Thread, Run} <= set(heard)


async def test_a_turn_needs_no_compiler(client: Client, built):
    with script(say("Fine"), say("Fine")):
        await client.run("Hello")
        built.clear()
        await client.run("Hello again")
    assert built == []


# --- A library that has changed keeps its own way: whatever is gone, the server starts and answers


@pytest.fixture(autouse=True)
def nothing_was_logged(monkeypatch) -> None:
    monkeypatch.setattr(guard, "_logged", set())


@pytest.mark.nightly
def test_whatever_is_gone_is_logged_and_the_server_answers(tmp_path: Path):
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/hiding.sqlite3", "DEBUG": "True"}
    environment |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "LOG_LEVEL": "INFO"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tests.hiding"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    complete, *hidden = [json.loads(line) for line in done.stdout.splitlines()]
    assert complete["lines"] == []
    assert '"RUN_FINISHED"' in complete["last"]
    wrong = []
    for one in hidden:
        library = re.split(r"[.:]", one["name"])[0]
        told = re.compile(rf"WARNING Not patching .*: {library} {re.escape(guard.version_of(library))} has no ")
        is_logged = all(map(told.match, one["lines"])) and len(one["lines"]) == len(set(one["lines"]))
        if not (one["lines"] and is_logged and '"RUN_FINISHED"' in one["last"]):
            wrong.append(one)
    assert wrong == []
    assert len(hidden) >= 55


def test_a_change_is_logged_once_with_the_version(caplog):
    assert find("json:JSONEncoder.encode", "self", "o") is json.JSONEncoder.encode
    changes = {
        "django.db:unknown": f"django {version('django')} has no django.db.unknown",
        "json.unknown:dumps": "json (unknown version) has no json.unknown",
        "json:JSONEncoder.unknown": "json (unknown version) has no json.JSONEncoder.unknown",
        "json:JSONEncoder.encode": "json (unknown version) has other parameters: json.JSONEncoder.encode(self, o)",
    }
    for path in [*changes] * 2:
        with guarded("the speed of light", "django"):
            find(path, "self")
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"Not patching the speed of light: {change}" for change in changes.values()]


@pytest.mark.parametrize("gone", ["_fields", "_place", "_readers"])
def test_a_statement_that_can_t_be_built_goes_django_s_way(monkeypatch, caplog, gone: str):
    for name in ("insert", "insert_all", "update", "select", "fetch"):
        monkeypatch.setattr(statements, name, getattr(statements, name))  # Plain SQL comes back after the test.
    monkeypatch.setattr(sql, gone, None)
    for number in range(2):
        run = Run(thread_id=f"t{number}", run_id="r")
        statements.insert(run)
        assert statements.update(Run, {"unpriced": 7}, pk=run.pk) == 1
        assert [row.unpriced for row in statements.select(Run, pk=run.pk)] == [7]
    told = [record.getMessage() for record in caplog.records if record.name == "agui.fast"]
    assert told
    assert len(told) == len(set(told))
    assert all(
        f"django {version('django')} is not as known: 'NoneType' object is not callable" in line for line in told
    )
    assert Run.objects.count() == 2


def test_a_wrong_value_is_no_change_of_the_library(caplog):
    with caplog.at_level(logging.INFO, "agui.fast"), pytest.raises(TypeError):
        statements.update(Run, {"unpriced": object()}, thread_id="t")
    assert not caplog.records
    assert statements.update.__wrapped__  # type: ignore[attr-defined]
