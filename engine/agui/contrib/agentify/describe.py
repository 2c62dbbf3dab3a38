"""A model in plain words: what its tools are called, show, find and change."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import models

from agui.contrib.agentify.actions import actions_of
from agui.contrib.agentify.fields import FieldInfo, type_of
from agui.contrib.agentify.files import project_folder
from agui.contrib.agentify.forms import FormRules, rules_of
from agui.contrib.agentify.names import Names
from agui.contrib.agentify.owners import Owner, read_owner
from agui.contrib.agentify.reading import FieldReader
from agui.contrib.agentify.refusal import Refused
from agui.contrib.agentify.secrets import has_secret_key


@dataclass(frozen=True)
class ModelInfo:
    """All that the writers of source know of a model."""

    model: type[models.Model]
    names: Names
    owner: Owner | None
    rules: FormRules
    fields: list[FieldInfo]
    """Those that may be shown or edited, in the model's order."""
    pk_type: str
    actions: dict[str, str]
    """The model's own methods, each with what it does."""
    choosable: dict[str, str] = field(default_factory=dict)
    """For a related field, the path from its rows to the user; "" if they belong to nobody."""
    not_set: dict[str, str] = field(default_factory=dict)
    """The fields that people may edit and the tools don't, each with the reason if known."""
    not_created: str = ""
    """The reason why the tools can't create a row."""

    @property
    def label(self) -> str:
        return self.model._meta.label

    def permission(self, action: str) -> str:
        return f"{self.model._meta.app_label}.{action}_{self.model._meta.model_name}"

    @property
    def shown(self) -> list[FieldInfo]:
        return [item for item in self.fields if item.type != "many" and self._may_show(item)]

    @property
    def details(self) -> list[FieldInfo]:
        return [item for item in self.fields if item.type == "many" and self._may_show(item)]

    @property
    def editable(self) -> list[FieldInfo]:
        return [item for item in self.fields if item.editable]

    @property
    def creatable(self) -> list[FieldInfo]:
        return [item for item in self.fields if item.creatable]

    def _may_show(self, item: FieldInfo) -> bool:
        if self.owner and self.owner.path == item.name and not self.owner.is_many:
            # The owner of each row that is shown is the user of the run.
            return False
        return self.rules.allows_showing(item.name)


def describe(
    model: type[models.Model],
    names: Names,
    owner_path: str,
    owners: dict[str, str] | None = None,
    methods: Iterable[str] | None = None,
    settable: Iterable[str] | None = None,
) -> ModelInfo:
    """Read a model.

    `owners` are the owners of other models, by label, as the user has named them. `methods` and
    `settable` are the methods and fields that the user has named. Raises Refused if the model or
    one of these doesn't fit.
    """
    if has_secret_key(model):
        raise Refused(
            f"{model._meta.label} can't have tools: its rows are identified by a secret, "
            f"{model._meta.pk.name!r}, and each tool would show it."
        )
    owner = read_owner(model, owner_path) if owner_path else None
    rules = rules_of(model, is_owned=owner is not None)
    reader = FieldReader(model, owner, rules, owners or {}, settable)
    reader.read()
    return ModelInfo(
        model=model,
        names=names,
        owner=owner,
        rules=rules,
        fields=reader.fields,
        pk_type=_pk_type(model._meta.pk),
        actions=actions_of(model, methods or ()),
        choosable=reader.choosable,
        not_set=reader.not_set,
        not_created=_why_not_created(model, owner, reader.missing)
        or _why_not_by_form(rules, settable),
    )


def _pk_type(pk: Any) -> str:
    if hasattr(pk, "fields"):
        inner = ", ".join(_pk_type(part) for part in pk.fields)
        return f"tuple[{inner}]"
    kind = type_of(pk)
    return kind if kind in ("int", "str", "UUID", "date", "datetime", "Decimal") else "str"


def _why_not_created(model: type[models.Model], owner: Owner | None, missing: str) -> str:
    if not model._meta.managed:
        return "its table is not Django's"
    if hasattr(model, "add_root"):
        return "a new row needs a place in a tree"
    if model._meta.pk is not None and hasattr(model._meta.pk, "field_names"):
        return "its primary key has several columns"
    if owner and not owner.is_forward:
        return "a new row doesn't say by itself whose it is"
    if owner and owner.path == "pk":
        return "a user does not create users"
    if missing:
        return f"the tools don't set the {missing.replace('_', ' ')} that it needs"
    return ""


def _why_not_by_form(rules: FormRules, settable: Iterable[str] | None) -> str:
    if rules.creatable is None or rules.creatable or settable is not None:
        return ""
    return f"{rules.source} doesn't either"


def is_own_model(model: type[models.Model]) -> bool:
    """Whether the project's own type checker knows the model."""
    file = Path(inspect.getfile(model)).resolve()
    base = project_folder()
    if not file.is_relative_to(base):
        return False
    within = file.relative_to(base).parts
    return "site-packages" not in within and within[0] != ".venv"
