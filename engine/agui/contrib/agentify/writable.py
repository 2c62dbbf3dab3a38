"""The fields that a tool may set if nobody has named them."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models

from agui.contrib.agentify.forms import FormRules
from agui.contrib.agentify.owners import is_user
from agui.contrib.agentify.secrets import is_secret_name, word_set, words_of

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
# Fields of every user: the password, and the last sign-in.
OF_EVERY_USER = frozenset(field.name for field in AbstractBaseUser._meta.fields)
# Fields that an owner doesn't write if the project has no form for them: what others decide, count
# and pay for, and what somebody is known by.
DECIDED = word_set(
    "accepted activated active added agent amount archived assigned assignee assignees attempts "
    "balance billing blocked bonus budget by callback cancelled changed charge checked closed "
    "commission completed confirmed cost count counter created credit credits currency debit "
    "deleted delivered deposit disabled discount discounts domain email emails enabled error "
    "expiration expired expires expiry external failed failure featured fee fees finished flag "
    "flags fraud free hidden host hostname imported internal invoice invoiced ip joined level "
    "locked login margin mobile moderation modified origins owner paid payed payment payments "
    "pending phone plan points premium price priority processed provider published rank rate "
    "rating redirect refund refunded rejected review reviewed reviewer risk salary score seller "
    "settled shipped source stage state status stock subscription suspended system tax tenant "
    "tier total trial uid updated uri uris username valid validated vat visible wallet webhook"
)
# Models that keep what has happened, or that let somebody in.
KEPT = word_set(
    "audit authenticator device devices grant grants history log logs mfa otp revision session "
    "sessions version"
)
# What an owner writes themselves: texts and dates.
CONTENT = frozenset(["date", "datetime", "str", "time"])


def is_privilege(field: Any) -> bool:
    """Whether a field says what somebody may do, or who somebody is."""
    words = words_of(field.name)
    if words & PRIVILEGES:
        return True
    if is_user(field.model) and (words & OF_USERS or _is_identity(field)):
        return True
    return field.is_relation and _is_privileged_model(field.related_model)


def _is_identity(field: Any) -> bool:
    """Whether a user signs in with a field, or by a mail to it, or it records a moment."""
    user_model: Any = get_user_model()
    by_login = {user_model.USERNAME_FIELD, getattr(user_model, "EMAIL_FIELD", "email")}
    if field.name in by_login | OF_EVERY_USER:
        return True
    return isinstance(field, models.DateTimeField) and callable(field.default)


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
    if words_of(field.name) & DECIDED or _is_kept(field.model):
        return False
    if field.is_relation:
        return not is_user(field.related_model) and not _is_decided(field.related_model)
    return kind in CONTENT and not field.choices


def _is_decided(model: type[models.Model]) -> bool:
    if model._meta.label == "contenttypes.ContentType":
        return True
    return bool(words_of(model.__name__) & (DECIDED | PRIVILEGES))


def _is_kept(model: type[models.Model]) -> bool:
    return bool(words_of(model.__name__) & KEPT) or is_secret_name(model.__name__)
