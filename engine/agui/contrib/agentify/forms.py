"""The rules of a ModelAdmin or a ModelForm about the fields of a model."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.db import models
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.module_loading import module_has_submodule

logger = logging.getLogger("agui.agentify")
ADMIN = "django.contrib.admin"
Names = frozenset[str]


@dataclass(frozen=True)
class FormRules:
    """The fields that may be set, and those that may be shown."""

    source: str = ""
    """The name of the class that says so."""
    creatable: Names | None = None
    """The fields that its form for a new row has; None if nobody says."""
    changeable: Names | None = None
    visible: Names | None = None
    """The fields that may be shown; None is all."""
    deletable: bool = True

    def allows_showing(self, name: str) -> bool:
        return self.visible is None or name in self.visible


def rules_of(model: type[models.Model], *, is_owned: bool) -> FormRules:
    """Read what the person who uses the tools may do in the project's own forms.

    Staff have the registered ModelAdmin. The owners of rows have the app's ModelForms, and see no
    more than the admin shows.
    """
    model_admin: Any = admin.site._registry.get(model) if apps.is_installed(ADMIN) else None
    rules = FormRules() if model_admin is None else _rules_of_admin(model_admin)
    if model_admin is not None and not is_owned:
        return rules
    forms = [form for form in _forms_of(model) if not (is_owned and _is_of_staff(form))]
    if not forms:
        # What staff may write says nothing of what an owner may.
        return FormRules(visible=rules.visible, deletable=rules.deletable)
    fields = frozenset.intersection(*map(_fields_of_form, forms))
    source = " and ".join(form.__name__ for form in forms)
    visible = rules.visible if model_admin is not None else _visible_in(forms)
    return FormRules(source, fields, fields, visible, rules.deletable)


def _visible_in(forms: Iterable[Any]) -> Names | None:
    """A form says what may be set. What it doesn't exclude may still be shown."""
    excluded: set[str] = set()
    names: set[str] = set()
    for form in forms:
        excluded |= set(form._meta.exclude or ())
        names |= {field.name for field in form._meta.model._meta.get_fields()}
    return frozenset(names - excluded) if excluded else None


# --- The admin


def _rules_of_admin(model_admin: Any) -> FormRules:
    """Ask the admin as it would be asked for a member of the staff who is no superuser."""
    source = type(model_admin).__name__
    request = _request()
    try:
        creatable = changeable = Names()
        row = model_admin.model()
        if model_admin.has_change_permission(request, row):
            changeable = _fields_of_admin(model_admin, request, row)
        if model_admin.has_add_permission(request):
            creatable = _fields_of_admin(model_admin, request, None)
        deletable = bool(model_admin.has_delete_permission(request, row))
        visible = {*creatable, *changeable, *_shown_by(model_admin, request, row)}
    except Exception as error:  # The project's methods may ask more of the request.
        logger.warning(
            "Using only the static fields of %s: it needs a real request: %r", source, error
        )
        return FormRules(source, Names(), Names(), _static_fields(model_admin))
    return FormRules(source, creatable, changeable, frozenset(visible), deletable)


def _static_fields(model_admin: Any) -> Names:
    named = model_admin.fieldsets or [("", {"fields": model_admin.fields or ()})]
    fields = flatten_fieldsets(named)
    if not fields:
        fields = [field.name for field in model_admin.model._meta.get_fields()]
    return frozenset([*fields, *model_admin.readonly_fields]) - {*(model_admin.exclude or ())}


def _request() -> Any:
    request: Any = HttpRequest()
    request.method = "GET"

    def has_perm(*args: Any) -> bool:
        return True

    request.user = SimpleNamespace(
        pk=None,
        is_active=True,
        is_authenticated=True,
        is_anonymous=False,
        is_staff=True,
        is_superuser=False,
        has_perm=has_perm,
        has_perms=has_perm,
        has_module_perms=has_perm,
    )
    return request


def _fields_of_admin(model_admin: Any, request: Any, row: Any) -> Names:
    """List the fields that the admin's form for a row has, or that for a new one."""
    named = set(flatten_fieldsets(model_admin.get_fieldsets(request, row)))
    form = model_admin.get_form(request, row, change=row is not None)
    read_only = set(model_admin.get_readonly_fields(request, row))
    return frozenset(_enabled(form) & named - read_only)


def _shown_by(model_admin: Any, request: Any, row: Any) -> set[str]:
    fields = flatten_fieldsets(model_admin.get_fieldsets(request, row))
    columns = [name for name in model_admin.list_display if isinstance(name, str)]
    return {*fields, *columns, *model_admin.get_readonly_fields(request, row)}


def _enabled(form: Any) -> set[str]:
    return {name for name, item in form.base_fields.items() if not item.disabled}


# --- Forms


def _fields_of_form(form: Any) -> Names:
    return frozenset(_enabled(form))


def _is_of_staff(form: Any) -> bool:
    """Whether a form is the admin's."""
    for model_admin in admin.site._registry.values() if apps.is_installed(ADMIN) else ():
        if model_admin.form is form:
            return True
    return any(word in form.__name__.lower() for word in ("admin", "staff"))


def _forms_of(model: type[models.Model]) -> list[Any]:
    """List the ModelForms in the app's forms.py."""
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
        is_local = value.__module__.startswith(module.__name__)
        if is_local and getattr(value._meta, "model", None) is model:
            forms.append(value)
    return forms
