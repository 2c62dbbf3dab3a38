"""Calls of all tools that agentify wrote: by users who don't own the rows, and by the demo model."""

import json
import random
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import assistant.model_tools  # noqa: F401
import pytest
from agui.contrib.agentify.names import Names, names_of
from agui.contrib.agentify.rows import plain
from agui.contrib.agentify.samples import CanNotMake, as_user, make, make_user
from agui.contrib.agentify.secrets import has_secret_key
from agui.contrib.demo.testing import demo_chat
from asgiref.sync import sync_to_async
from assistant.tools import registry
from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from pydantic_ai import ApprovalRequired, ModelRetry

ANSWERS = json.loads(Path(".agentify/answers.json").read_text())
SECRETS = Path("secrets.json")
"""The fields of the sweep's apps that hold secrets, as people see it who have read those apps."""
CALLS = 10_000


@dataclass
class Subject:
    """A model with its tools, and a row of Bob."""

    model: Any
    names: Names
    path: str
    row: Any

    @property
    def module(self) -> ModuleType:
        return import_module(f"assistant.{self.names.module}")

    @property
    def tools(self) -> list[Any]:
        found = [tool for tool in registry if tool.spec.fn.__module__ == self.module.__name__]
        return [tool for tool in found if not tool.spec.name.startswith("create_")]

    def arguments(self, tool: Any, chance: random.Random) -> dict[str, Any]:
        """Make up arguments for which Bob's row is the answer."""
        properties = tool.input_schema["properties"]
        id_name = f"{self.names.singular}_id"
        if id_name in properties:
            return {id_name: plain(self.row.pk)}
        chosen = {"limit": 100, "order_by": chance.choice(get_args(self.module.Ordering))}
        for name in properties:
            attname = f"{name}_id" if hasattr(self.row, f"{name}_id") else name
            value = plain(getattr(self.row, attname, None))
            if name not in chosen and value not in (None, "") and chance.random() < 0.3:
                chosen[name] = value
        if "search" in properties and chance.random() < 0.3:
            chosen["search"] = chance.choice("aeis1")
        return chosen


def make_subjects(ada: Any, bob: Any) -> list[Subject]:
    """Make a row of Bob, and one of Ada, for each model whose rows have owners."""
    subjects = []
    for label, answer in ANSWERS.items():
        model, path = apps.get_model(label), answer["owner"]
        if not path:
            continue
        try:
            row = make(model, path, bob)
            make(model, path, ada)
        except CanNotMake as error:
            print("NOT MADE", label, error)
            continue
        subjects.append(Subject(model, names_of(answer["name"]), path, row))
    return subjects


@pytest.mark.django_db
def test_rows_of_another_user_are_never_returned():
    ada, bob = make_user(), make_user()
    bob.username = "Bob the stranger"
    bob.save()
    subjects = make_subjects(ada, bob)
    foreign = {}
    for subject in subjects:
        manager = subject.model._base_manager
        foreign[subject.names.row] = {json.dumps(plain(row.pk)) for row in manager.filter(**{subject.path: bob})}
    cases = [(subject, tool) for subject in subjects for tool in subject.tools]
    chance = random.Random(2026)  # noqa: S311
    calls = 0
    while calls < CALLS:
        for subject, tool in cases:
            calls += 1
            call = tool.prepare_call(tool.validate(subject.arguments(tool, chance)), as_user(ada))
            try:
                result = call()
            except ModelRetry as error:
                assert "There is no" in str(error), (tool.spec.name, error)  # noqa: PT017
                continue
            assert tool.spec.name == f"list_{subject.names.plural}", (tool.spec.name, result)
            ids = {json.dumps(row["id"]) for row in result}
            assert not ids & foreign[subject.names.row], (tool.spec.name, result)
            assert bob.username not in str(result), (tool.spec.name, result)
    for subject in subjects:
        assert subject.model._base_manager.filter(pk=subject.row.pk).exists(), subject.names.row
    print(f"FOREIGN {calls} calls of {len(cases)} tools of {len(subjects)} models")


@pytest.mark.django_db
def test_rows_of_another_user_are_never_accepted():
    ada, bob = make_user(), make_user()
    subjects = make_subjects(ada, bob)
    foreign = {subject.model: subject.row for subject in subjects} | {type(bob): bob}
    checked = 0
    for subject in subjects:
        for name, choices in vars(subject.module).items():
            if name.endswith("_choices"):
                allowed = choices(as_user(ada))
                row = foreign.get(allowed.model)
                checked += row is not None
                assert row is None or not allowed.filter(pk=row.pk).exists(), (subject.names.row, name)
    print(f"CHOICES {checked}")


def fill_in(row: Any, name: str, value: str) -> None:
    """Store a text in a field of a row, past what the app would store there."""
    field = row._meta.get_field(name)
    is_json = field.get_internal_type() == "JSONField"
    stored = {"text": value} if is_json else value[: getattr(field, "max_length", None)]
    type(row)._base_manager.filter(pk=row.pk).update(**{name: stored})


@pytest.mark.django_db
@pytest.mark.parametrize("path", json.loads(SECRETS.read_text()) if SECRETS.exists() else [])
def test_secrets_never_leave(path: str):
    label, _, name = path.rpartition(".")
    model = apps.get_model(label)
    answer = ANSWERS.get(label)
    if answer is None:
        assert has_secret_key(model)  # agentify has refused this model.
        return
    names = names_of(answer["name"])
    module = import_module(f"assistant.{names.module}")
    listing = registry.get(f"list_{names.plural}")
    assert name not in {*module.SHOWN, *getattr(module, "DETAILS", []), *listing.input_schema["properties"]}
    user = make_user(is_staff=not answer["owner"])
    try:
        row = make(model, answer["owner"], user)
    except CanNotMake as error:
        pytest.skip(str(error))
    fill_in(row, name, "hunter2")
    ctx = as_user(user)
    results = [getattr(module, f"list_{names.plural}")(ctx), getattr(module, f"read_{names.singular}")(ctx, row.pk)]
    assert "hunter2" not in str(results)
    ctx.tool_call_approved, ctx.tool_name = False, f"delete_{names.singular}"
    if ctx.tool_name in registry:  # Some admins forbid it.
        ask: Any = registry.get(ctx.tool_name).spec.args_validator
        with pytest.raises(ApprovalRequired) as asked:
            ask(ctx, **{f"{names.singular}_id": row.pk})
        assert "hunter2" not in str(asked.value.metadata)


def prepare_user(label: str, answer: dict[str, str]) -> tuple[Any, Any]:
    """Make a user who may use the tools of one model, and a row of theirs; None if it can't be made."""
    model = apps.get_model(label)
    user = make_user(is_staff=not answer["owner"])
    about = ContentType.objects.get_for_model(model, for_concrete_model=False)
    for action in ("view", "add", "change", "delete"):
        codename = f"{action}_{model._meta.model_name}"
        permission, _ = Permission.objects.get_or_create(content_type=about, codename=codename)
        user.user_permissions.add(permission)
    try:
        return user, make(model, answer["owner"], user)
    except CanNotMake:
        return user, None


@pytest.mark.django_db(transaction=True)
async def test_demo_model_lists_the_last_five_of_each():
    wrong = {}
    for label, answer in ANSWERS.items():
        user, row = await sync_to_async(prepare_user)(label, answer)
        names = names_of(answer["name"])
        said = await demo_chat(user).send(f"Show me the last five {names.rows}")
        called = [call.name for call in said.calls]
        if called != [f"list_{names.plural}"] or said.error is not None:
            wrong[label] = called, said.error, said.text
        elif row is not None and len(said.calls[0].result) > 5:
            wrong[label] = said.calls[0].result
    assert wrong == {}
    print(f"DEMO {len(ANSWERS)} models")
