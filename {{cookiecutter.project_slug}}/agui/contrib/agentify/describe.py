"""A model in plain words: what its tools are called, show, find and change."""

import inspect
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import models

from agui.contrib.agentify.actions import actions_of
from agui.contrib.agentify.fields import (
    FieldInfo,
    about,
    choices_of,
    is_custom,
    label_of,
    limits_of,
    type_of,
)
from agui.contrib.agentify.files import project_folder
from agui.contrib.agentify.forms import FormRules, rules_of
from agui.contrib.agentify.names import Names
from agui.contrib.agentify.owners import Owner, guess_paths, is_user, read_owner
from agui.contrib.agentify.secrets import is_secret_field


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
    not_created: str = ""
    """Why the tools can't create a row."""

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

    def _may_show(self, item: FieldInfo) -> bool:
        if self.owner and self.owner.path == item.name and not self.owner.is_many:
            # The owner of each row that is shown is the user of the run.
            return False
        return self.rules.allows_showing(item.name)


def describe(
    model: type[models.Model],
    names: Names,
    owner_path: str,
    known: dict[str, str] | None = None,
) -> ModelInfo:
    """Read a model. Raises NotAnOwner if the path doesn't lead to a user.

    `known` are the owners of other models, by label, as the user has named them.
    """
    owner = read_owner(model, owner_path) if owner_path else None
    rules = rules_of(model)
    choosable: dict[str, str] = {}
    fields, hidden_required = _describe_fields(model, owner, rules, choosable, known or {})
    pk: Any = model._meta.pk
    return ModelInfo(
        model=model,
        names=names,
        owner=owner,
        rules=rules,
        fields=fields,
        pk_type=_pk_type(pk),
        actions=actions_of(model),
        choosable=choosable,
        not_created=_why_not_created(model, owner, hidden_required),
    )


def _describe_fields(
    model: type[models.Model],
    owner: Owner | None,
    rules: FormRules,
    choosable: dict[str, str],
    known: dict[str, str],
) -> tuple[list[FieldInfo], str]:
    """Describe the fields, and name the first required one that can't be set.

    Fills `choosable`.
    """
    fields = []
    hidden_required = ""
    for model_field in _own_fields(model):
        info = _describe_field(model_field)
        is_owner = owner is not None and model_field.name == owner.first and not owner.rest
        is_needed = _is_required(model_field) and model_field.editable and not is_owner
        if info is None:
            if is_needed:
                hidden_required = hidden_required or model_field.name
            continue
        editable = info.editable and rules.allows_editing(info.name) and not is_owner
        if info.related and editable:
            editable = _choose(info, owner, choosable, known)
        if owner and info.name in _generic_names(model):
            editable = False
        leads_to_owner = owner and owner.rest and info.name == owner.first
        if not editable and (is_needed or leads_to_owner):
            hidden_required = hidden_required or info.name
        fields.append(_finish(info, editable, owner))
    return fields, hidden_required


def _own_fields(model: type[models.Model]) -> list[Any]:
    fields: list[Any] = []
    for model_field in model._meta.get_fields():
        is_parent = getattr(model_field.remote_field, "parent_link", False)
        if not model_field.concrete or model_field.auto_created or is_parent:
            continue
        if isinstance(model_field, models.AutoField) or hasattr(model_field, "field_names"):
            continue
        fields.append(model_field)
    return fields


def _describe_field(model_field: Any) -> FieldInfo | None:
    """Describe a field; None if it can't be shown or set."""
    kind = type_of(model_field)
    if not kind or is_secret_field(model_field) or not model_field.name.isidentifier():
        return None
    related: Any = model_field.related_model if model_field.is_relation else None
    if model_field.is_relation and not isinstance(related, type):
        return None
    editable = model_field.editable and kind != "file"
    if isinstance(model_field, models.GeneratedField):
        editable = False
    if kind == "many":
        through: Any = model_field.remote_field.through
        # A tag or another row behind a manager of its own can't be set by ids.
        editable = editable and bool(through._meta.auto_created) and not is_custom(model_field)
        if is_custom(model_field):
            return None
    choices = () if related else choices_of(model_field)
    is_new_only = model_field.primary_key
    return FieldInfo(
        name=model_field.name,
        type=kind,
        about=about(model_field),
        choices=choices,
        limits={} if choices else limits_of(model_field, kind),
        required=_is_required(model_field),
        can_be_empty=not is_new_only and _may_be_empty(model_field, kind),
        editable=editable,
        custom=is_custom(model_field) and not related,
        related=related,
        label=label_of(related, is_secret_field) if related else "",
        adds_itself=bool(getattr(model_field, "auto_now_add", False)),
    )


def _may_be_empty(model_field: Any, kind: str) -> bool:
    return bool(model_field.blank and (model_field.null or kind in ("many", "str")))


def _is_required(model_field: Any) -> bool:
    if model_field.many_to_many:
        return False
    if model_field.blank:
        return False
    # A form asks for a value even if the database would do without one.
    has_value = model_field.has_default() and model_field.default not in (None, "", dict, list)
    is_automatic = getattr(model_field, "auto_now", False) or getattr(
        model_field, "auto_now_add", False
    )
    return not has_value and not is_automatic


def _finish(info: FieldInfo, editable: bool, owner: Owner | None) -> FieldInfo:
    """Apply what the owner means for a field."""
    label = info.label
    can_be_empty = info.can_be_empty
    required = info.required
    if owner and info.related:
        if info.name == owner.first:
            # An empty field would leave the row to nobody.
            can_be_empty = False
            required = True
        elif not is_user(info.related) and guess_paths(info.related):
            # The row may refer to a row of somebody else: show nothing of that but its id.
            label = ""
    return replace(
        info, editable=editable, label=label, can_be_empty=can_be_empty, required=required
    )


def _choose(
    info: FieldInfo, owner: Owner | None, choosable: dict[str, str], known: dict[str, str]
) -> bool:
    """Find out which related rows may be chosen. False if nobody can tell."""
    related: Any = info.related
    if owner is None:
        choosable[info.name] = ""
        return True
    if info.name == owner.first:
        choosable[info.name] = owner.rest
        return True
    if related._meta.label in known:
        choosable[info.name] = known[related._meta.label]
        return True
    paths = ["pk"] if is_user(related) else guess_paths(related)
    if len(paths) > 1:
        return False
    choosable[info.name] = paths[0] if paths else ""
    return True


def _generic_names(model: type[models.Model]) -> set[str]:
    """The fields behind generic foreign keys, which may refer to any row of anybody."""
    names: set[str] = set()
    for private in model._meta.private_fields:
        if hasattr(private, "ct_field") and hasattr(private, "fk_field"):
            names |= {private.ct_field, private.fk_field}
    return names


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
        return f"a tool can't give it the {missing.replace('_', ' ')} that it needs"
    return ""


def is_own_model(model: type[models.Model]) -> bool:
    """Whether the project's own type checker knows the model."""
    file = Path(inspect.getfile(model)).resolve()
    base = project_folder()
    if not file.is_relative_to(base):
        return False
    within = file.relative_to(base).parts
    return "site-packages" not in within and within[0] != ".venv"
