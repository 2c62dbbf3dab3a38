"""Which fields a tool may set, if nobody has named them."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db import models

from agui.contrib.agentify.forms import FormRules
from agui.contrib.agentify.owners import is_user
from agui.contrib.agentify.secrets import word_set, words_of

# Fields that say what somebody may do. No tool sets them by default, whatever a form has.
PRIVILEGES = word_set(
    "acl admin admins administrator approval approvals approve approved approver ban banned "
    "granted group groups impersonate limit limits moderator moderators permission "
    "permissions privilege privileged privileges quota quotas role roles root scope scopes staff "
    "sudo superuser superusers throttle throttled throttling trusted verified"
)
PRIVILEGED_MODELS = frozenset(["auth.Group", "auth.Permission"])
# Fields of a user that decide whether they may sign in.
OF_USERS = word_set("active disabled enabled locked suspended")
# Fields that an owner doesn't write if the project has no form for them: what is decided, counted
# and paid by others.
DECIDED = word_set(
    "accepted active activated added agent amount archived assigned assignee assignees attempts "
    "balance billing blocked bonus budget by cancelled changed charge checked closed "
    "commission completed confirmed cost count counter created credit credits currency debit "
    "deleted delivered deposit disabled discount discounts enabled error expires "
    "expired expiration expiry external failed failure featured fee fees finished flag flags "
    "fraud free hidden imported internal invoice invoiced joined level locked login margin "
    "modified moderation owner paid payed payment payments pending plan points premium price "
    "priority processed published rank rate rating refund refunded rejected review "
    "reviewed reviewer risk salary score seller settled shipped source stage state "
    "status stock subscription suspended system tax tenant tier total trial updated valid "
    "validated vat visible wallet"
)
# What an owner writes themselves: texts and dates.
CONTENT = frozenset(["date", "datetime", "str", "time"])


def is_privilege(field: Any) -> bool:
    """Whether a field says what somebody may do."""
    words = words_of(field.name)
    if words & PRIVILEGES:
        return True
    if issubclass(field.model, get_user_model()) and words & OF_USERS:
        return True
    return field.is_relation and _is_privileged_model(field.related_model)


def _is_privileged_model(model: Any) -> bool:
    if not isinstance(model, type) or not issubclass(model, models.Model):
        return False
    labels = {model._meta.label, *(parent._meta.label for parent in model._meta.parents)}
    return bool(labels & PRIVILEGED_MODELS)


def is_writable(field: Any, kind: str, rules: FormRules, *, is_owned: bool) -> bool:
    """Whether a person may set a field by the project's forms.

    Without a form, staff may set all but privileges, and owners texts, dates and related rows.
    """
    if is_privilege(field):
        return False
    if rules.creatable is not None:
        return field.name in rules.creatable | (rules.changeable or frozenset())
    if not is_owned:
        return True
    if words_of(field.name) & DECIDED or _identifies_user(field):
        return False
    if field.is_relation:
        return not is_user(field.related_model) and not _is_decided(field.related_model)
    return kind in CONTENT and not field.choices


def _is_decided(model: type[models.Model]) -> bool:
    if model._meta.label == "contenttypes.ContentType":
        return True
    return bool(words_of(model.__name__) & (DECIDED | PRIVILEGES))


def _identifies_user(field: Any) -> bool:
    """Whether a user signs in, or gets a new password, by this field."""
    user_model: Any = get_user_model()
    names = (user_model.USERNAME_FIELD, getattr(user_model, "EMAIL_FIELD", ""))
    return issubclass(field.model, user_model) and field.name in names
