"""Reads the fields of a model: what is shown of a row, and what the tools may set."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.db import models

from agui.contrib.agentify.fields import (
    FieldInfo,
    about,
    choices_of,
    is_custom,
    label_of,
    limits_of,
    type_of,
)
from agui.contrib.agentify.forms import FormRules
from agui.contrib.agentify.owners import Owner, is_own, is_user
from agui.contrib.agentify.refusal import Refused
from agui.contrib.agentify.relations import (
    Unknown,
    belongs_to_somebody,
    choice_path,
    generic_names,
)
from agui.contrib.agentify.secrets import is_secret_field
from agui.contrib.agentify.writable import is_writable


class FieldReader:
    """Reads the fields of one model."""

    def __init__(
        self,
        model: type[models.Model],
        owner: Owner | None,
        rules: FormRules,
        owners: dict[str, str],
        settable: Iterable[str] | None,
    ) -> None:
        self.model = model
        self.owner = owner
        self.rules = rules
        self.owners = owners
        self.settable = None if settable is None else list(settable)
        self.fields: list[FieldInfo] = []
        self.choosable: dict[str, str] = {}
        """For a related field, the path from its rows to the user; "" if everybody may choose."""
        self.not_set: dict[str, str] = {}
        """The fields that people may edit and the tools don't, each with the reason if known."""
        self.missing = ""
        """The first required field that no tool can set."""

    def read(self) -> None:
        """Read all fields. Raises Refused if a field that the user has named can't be set."""
        for model_field in _own_fields(self.model):
            info = _describe_field(model_field)
            if info is not None:
                self.fields.append(self._finish(model_field, info))
            elif _is_required(model_field) and model_field.editable:
                self.missing = self.missing or model_field.name
        editable = {item.name for item in self.fields if item.editable}
        for name in self.settable or ():
            if name not in editable:
                reason = self.not_set.get(name) or "it is no field that a tool can set"
                raise Refused(f"{self.model.__name__}.{name} can't be set: {reason}.")

    def _finish(self, model_field: Any, info: FieldInfo) -> FieldInfo:
        """Decide what the tools do with a field."""
        owner = self.owner
        leads_to_owner = owner is not None and info.name == owner.first
        is_owner = owner is not None and leads_to_owner and not owner.rest
        # The tools set the owner themselves. A row of the owner's may be chosen for a new row.
        can_be_set = _can_be_set(model_field, info) and not is_owner
        if owner and info.name in generic_names(self.model):
            can_be_set = False
        is_wanted = can_be_set and (leads_to_owner or self._is_wanted(model_field, info))
        if is_wanted and info.related:
            is_wanted = self._choose(info)
        creatable = is_wanted and (leads_to_owner or self._allows(info, self.rules.creatable))
        changeable = is_wanted and self._allows(info, self.rules.changeable)
        is_needed = _is_required(model_field) and model_field.editable
        if not creatable and not is_owner and (is_needed or leads_to_owner):
            self.missing = self.missing or info.name
        if can_be_set and not creatable and not changeable:
            self.not_set.setdefault(info.name, "")
            self.choosable.pop(info.name, None)
        return replace(
            info,
            creatable=creatable,
            changeable=changeable,
            label=self._label(info),
            # An empty field would leave the row to nobody.
            can_be_empty=info.can_be_empty and not leads_to_owner,
            required=info.required or leads_to_owner,
        )

    def _is_wanted(self, model_field: Any, info: FieldInfo) -> bool:
        if self.settable is not None:
            return info.name in self.settable
        is_owned = self.owner is not None
        return is_writable(model_field, info.type, self.rules, is_owned=is_owned)

    def _allows(self, info: FieldInfo, names: frozenset[str] | None) -> bool:
        return self.settable is not None or names is None or info.name in names

    def _choose(self, info: FieldInfo) -> bool:
        """Find out which related rows may be chosen. False if nobody can tell."""
        try:
            path = choice_path(self.model, info.name, info.related, self.owner, self.owners)
        except Unknown as error:
            self.not_set[info.name] = str(error)
            return False
        self.choosable[info.name] = path
        return True

    def _label(self, info: FieldInfo) -> str:
        """Show nothing but the id of a related row that may be somebody else's."""
        owner = self.owner
        if owner is None or not info.related:
            return info.label
        if info.name == owner.first:
            return "" if owner.is_many and is_user(info.related) else info.label
        is_foreign = is_user(info.related) or belongs_to_somebody(info.related)
        return "" if is_foreign or info.related is self.model else info.label


def _can_be_set(model_field: Any, info: FieldInfo) -> bool:
    if not model_field.editable or info.type == "file":
        return False
    if info.type == "many":
        # A tag or another row behind a manager of its own can't be set by ids.
        return bool(model_field.remote_field.through._meta.auto_created)
    return not isinstance(model_field, models.GeneratedField)


def _own_fields(model: type[models.Model]) -> list[Any]:
    fields: list[Any] = []
    for model_field in model._meta.get_fields():
        is_parent = getattr(model_field.remote_field, "parent_link", False)
        if not is_own(model_field) or is_parent:
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
    if kind == "many" and is_custom(model_field):
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
