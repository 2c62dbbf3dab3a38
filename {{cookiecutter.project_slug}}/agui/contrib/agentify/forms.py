"""What a ModelAdmin or a ModelForm says about the fields of a model."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten, flatten_fieldsets
from django.db import models
from django.forms import ModelForm
from django.utils.module_loading import module_has_submodule


@dataclass(frozen=True)
class FormRules:
    """Which fields may be edited and shown."""

    source: str = ""
    """The name of the class that says so."""
    fields: frozenset[str] | None = None
    """The fields of the form; None is all."""
    read_only: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    def allows_editing(self, name: str) -> bool:
        if name in self.excluded or name in self.read_only:
            return False
        return self.fields is None or name in self.fields

    def allows_showing(self, name: str) -> bool:
        if name in self.read_only:
            return True
        return name not in self.excluded and (self.fields is None or name in self.fields)


def rules_of(model: type[models.Model]) -> FormRules:
    """Read the registered ModelAdmin, or otherwise the only ModelForm in the app's forms.py."""
    model_admin: Any = admin.site._registry.get(model) if apps.is_installed(ADMIN) else None
    if model_admin is not None:
        return _rules_of_admin(model_admin)
    forms = _forms_of(model)
    if len(forms) == 1:
        return _rules_of_form(forms[0])
    return FormRules()


ADMIN = "django.contrib.admin"


def _rules_of_admin(model_admin: Any) -> FormRules:
    fields = model_admin.fields
    if model_admin.fieldsets:
        fields = flatten_fieldsets(model_admin.fieldsets)
    elif fields:
        fields = flatten(fields)
    meta: Any = getattr(model_admin.form, "_meta", None)
    if fields is None and isinstance(getattr(meta, "fields", None), list | tuple):
        fields = meta.fields
    excluded = [*(model_admin.exclude or ()), *(getattr(meta, "exclude", None) or ())]
    shown = [*model_admin.readonly_fields]
    if fields is not None:
        columns = [name for name in model_admin.list_display if isinstance(name, str)]
        shown += [name for name in columns if name not in fields]
    return FormRules(
        source=type(model_admin).__name__,
        fields=_names(fields),
        read_only=_names(shown) or frozenset(),
        excluded=_names(excluded) or frozenset(),
    )


def _rules_of_form(form: Any) -> FormRules:
    meta: Any = form._meta
    fields = meta.fields if isinstance(meta.fields, list | tuple) else None
    # A form says what may be edited. Other fields may still be shown.
    excluded = _names(meta.exclude or ()) or frozenset()
    read_only: frozenset[str] = frozenset()
    if fields is not None:
        others = [field.name for field in meta.model._meta.get_fields()]
        read_only = frozenset(others) - frozenset(fields) - excluded
    return FormRules(form.__name__, _names(fields), read_only, excluded)


def _names(names: Iterable[Any] | None) -> frozenset[str] | None:
    if names is None:
        return None
    return frozenset(name for name in names if isinstance(name, str))


def _forms_of(model: type[models.Model]) -> list[Any]:
    config = apps.get_app_config(model._meta.app_label)
    if not module_has_submodule(config.module, "forms"):
        return []
    try:
        module = import_module(f"{config.name}.forms")
    except Exception:  # The forms of another's app may ask for more than is installed.
        return []
    forms = []
    for value in vars(module).values():
        if not isinstance(value, type) or not issubclass(value, ModelForm):
            continue
        is_local = value.__module__ == module.__name__
        if is_local and getattr(value._meta, "model", None) is model:
            forms.append(value)
    return forms
