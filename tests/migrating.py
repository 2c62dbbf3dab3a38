"""Run inside a generated project: take a database of the engine's first migration to the newest, and back."""

import datetime
import uuid
from decimal import Decimal
from typing import Any

import django
from django.apps import apps as installed
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor

FIRST = ("agui", "0001_initial")
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)


def value(field: models.Field, number: int, apps: Any) -> Any:
    """Something that this field can hold, and that is not its default."""
    if field.choices:
        return field.choices[number % len(field.choices)][0]
    if isinstance(field, models.ForeignKey):
        model = field.related_model
        return apps.get_model(model._meta.label).objects.order_by("pk")[number % 2]
    kinds = {
        models.JSONField: {"number": number, "text": "ünïcödé 🤖", "nested": [None, True, 1.5]},
        models.UUIDField: uuid.UUID(int=number + 1),
        models.DateTimeField: NOW + datetime.timedelta(days=number),
        models.DateField: NOW.date(),
        models.DecimalField: Decimal("1.25"),
        models.FloatField: 1.5 + number,
        models.BooleanField: True,
        models.IntegerField: 7 + number,
        models.FileField: f"attachments/{number}.txt",
        models.TextField: f"long text 日本語 {number}\n" * 50,
        models.CharField: f"{field.name[:20]} {number}",
    }
    return next(made for kind, made in kinds.items() if isinstance(field, kind))


def fill(apps: Any) -> None:
    """Two rows of each model, each field of which has a value; those that others point to come first."""
    user = apps.get_model("users", "User")
    for number in range(2):
        user.objects.create(username=f"user{number}")
    left = list(apps.get_app_config("agui").get_models())
    while left:
        model = next(
            one
            for one in left
            if not {field.related_model for field in one._meta.fields if field.is_relation} & (set(left) - {one})
        )
        left.remove(model)
        for number in range(2):
            fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
            model.objects.create(**{field.name: value(field, number, apps) for field in fields})


def rows(apps: Any) -> dict[str, list[dict]]:
    return {m._meta.label: list(m.objects.order_by("pk").values()) for m in apps.get_app_config("agui").get_models()}


def migrate(*targets: tuple[str, str]) -> Any:
    """Migrate the engine there, and everything else to its newest state. Returns the models of that state."""
    executor = MigrationExecutor(connection)
    others = [node for node in executor.loader.graph.leaf_nodes() if node[0] != "agui"]
    executor.migrate([*others, *targets])
    return MigrationExecutor(connection).loader.project_state([*others, *targets]).apps


def only(found: dict[str, list[dict]], like: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """Of newer rows, what the older ones had, too."""
    return {label: [{name: row[name] for name in old[0]} for row in found[label]] for label, old in like.items()}


django.setup()
newest = [node for node in MigrationExecutor(connection).loader.graph.leaf_nodes() if node[0] == "agui"]
assert len(newest) == 1
assert newest[0] >= FIRST
fill(migrate(FIRST))
before = rows(migrate(FIRST))
assert all(len(of_one) == 2 for of_one in before.values())
for _ in range(2):
    migrate(*newest)
    assert only(rows(installed), before) == before, "the way to the newest"
    assert rows(migrate(FIRST)) == before, "the way back"
print(sum(map(len, before.values())), "rows of", len(before), "models")
