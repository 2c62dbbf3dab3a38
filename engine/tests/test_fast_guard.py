"""A library that has changed keeps its own way: whatever is gone, the server starts and answers (agui.contrib.fast)."""

import json
import logging
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from agui import statements
from agui.contrib.fast import guard, sql
from agui.contrib.fast.guard import Changed, find, guarded
from agui.models import Run


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


def test_what_is_found_has_the_expected_parameters():
    assert find("json:JSONEncoder.encode", "self", "o") is json.JSONEncoder.encode
    for path, *parameters in (
        ("json:JSONEncoder.encode", "self"),
        ("json:JSONEncoder.unknown",),
        ("json:unknown",),
        ("json.unknown:dumps",),
    ):
        with pytest.raises(Changed, match=path.partition(":")[0]):
            find(path, *parameters)


def test_a_change_is_logged_once_with_the_version(caplog):
    for _ in range(3):
        with guarded("the speed of light", "django"):
            find("django.db:unknown")
    [told] = [record.getMessage() for record in caplog.records]
    assert told == f"Not patching the speed of light: django {version('django')} has no django.db.unknown"


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
def test_a_wrong_value_is_no_change_of_the_library(caplog):
    with caplog.at_level(logging.INFO, "agui.fast"), pytest.raises(TypeError):
        statements.update(Run, {"unpriced": object()}, thread_id="t")
    assert not caplog.records
    assert statements.update.__wrapped__  # type: ignore[attr-defined]
