"""Calls of all tools that agentify wrote, by a user who doesn't own the rows."""

import json
import random
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args

import assistant.model_tools  # noqa: F401
import pytest
from agui.contrib.agentify.names import Names, names_of
from agui.contrib.agentify.rows import plain
from agui.contrib.agentify.samples import CanNotMake, as_user, make, make_user
from assistant.tools import registry
from django.apps import apps
from pydantic_ai import ModelRetry

ANSWERS = json.loads(Path(".agentify/answers.json").read_text())
ROUNDS = 100


class Subject(NamedTuple):
    """A model with the module of its tools, and a row of Bob."""

    names: Names
    module: Any
    row: Any
    foreign: set[str]
    """The keys of all rows that are Bob's."""


@pytest.fixture
def ada(db):
    return make_user()


@pytest.fixture
def bob(db):
    bob = make_user()
    bob.username = "Bob the stranger"
    bob.save()
    return bob


@pytest.fixture
def subjects(ada, bob) -> list[Subject]:
    """A row of Bob, and one of Ada, of each model."""
    found = []
    for label, answer in ANSWERS.items():
        model, path, names = apps.get_model(label), answer["owner"], names_of(answer["name"])
        with suppress(CanNotMake):  # An enclosure has animals by stays, which have a date.
            row = make(model, path, bob)
            make(model, path, ada)
            foreign = {json.dumps(plain(one.pk)) for one in model._base_manager.filter(**{path: bob})}
            found.append(Subject(names, import_module(f"assistant.{names.module}"), row, foreign))
    assert len(found) == 5
    return found


def arguments(subject: Subject, tool: Any, chance: random.Random) -> dict[str, Any]:
    """Make up arguments for which Bob's row is the answer."""
    properties = tool.input_schema["properties"]
    id_name = f"{subject.names.singular}_id"
    if id_name in properties:
        return {id_name: plain(subject.row.pk)}
    chosen = {"limit": 100, "order_by": chance.choice(get_args(subject.module.Ordering))}
    for name in properties:
        attname = f"{name}_id" if hasattr(subject.row, f"{name}_id") else name
        value = plain(getattr(subject.row, attname, None))
        if name not in chosen and value not in (None, "") and chance.random() < 0.3:
            chosen[name] = value
    if "search" in properties and chance.random() < 0.3:
        chosen["search"] = chance.choice("aeis1")
    return chosen


def test_rows_of_another_user_are_never_returned(ada, bob, subjects):
    owners = {subject.module.__name__: subject for subject in subjects}
    tools = [tool for tool in registry if tool.spec.fn.__module__ in owners and "create_" not in tool.spec.name]
    assert len(tools) >= 3 * len(subjects)
    chance = random.Random(2026)  # noqa: S311
    for tool in tools * ROUNDS:
        subject = owners[tool.spec.fn.__module__]
        call = tool.prepare_call(tool.validate(arguments(subject, tool, chance)), as_user(ada))
        try:
            result = call()
        except ModelRetry as error:
            assert "There is no" in str(error), tool.spec.name  # noqa: PT017
            continue
        assert tool.spec.name == f"list_{subject.names.plural}", result
        assert not {json.dumps(row["id"]) for row in result} & subject.foreign, tool.spec.name
        assert bob.username not in str(result), tool.spec.name
    for subject in subjects:
        assert type(subject.row)._base_manager.filter(pk=subject.row.pk).exists()


def test_rows_of_another_user_are_never_accepted(ada, bob, subjects):
    foreign = {type(row): row for row in [*(subject.row for subject in subjects), bob]}
    choices = [
        getattr(subject.module, name)(as_user(ada))
        for subject in subjects
        for name in vars(subject.module)
        if name.endswith("_choices")
    ]
    of_owners = [allowed for allowed in choices if allowed.model in foreign]
    assert of_owners
    assert [allowed for allowed in of_owners if allowed.filter(pk=foreign[allowed.model].pk).exists()] == []
