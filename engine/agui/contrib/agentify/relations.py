"""The rows that another row may refer to: never rows of other users."""

from typing import Any

from django.contrib.contenttypes.fields import GenericForeignKey
from django.db import models

from agui.contrib.agentify.owners import Owner, guess_paths, is_user, members_of

OWNERS = frozenset(["customer", "member", "owner", "profile", "user"])


class Unknown(ValueError):
    """Nobody has said which rows a user may choose. The message says what would help."""


def choice_path(
    model: type[models.Model], name: str, related: Any, owner: Owner | None, owners: dict[str, str]
) -> str:
    """Return the way from a related row to the user who may choose it; "" if everybody may.

    `owners` are the owners of models that have tools already. Raises Unknown.
    """
    if owner is None:
        return ""
    if name == owner.first:
        return owner.rest
    if _is_same(model, related):
        return owner.path
    if is_user(related):
        return "pk"
    label = related._meta.label
    if label in owners:
        return owners[label]
    paths = guess_paths(related)
    if not paths and not belongs_to_somebody(related):
        return ""
    if len(paths) == 1 and _is_ownership(paths[0], owner):
        return paths[0]
    raise Unknown(f"run agentify {label} with its --owner first, since its rows may have owners")


def _is_same(model: Any, related: Any) -> bool:
    """Whether rows of both models have the same owners: a model and its proxies."""
    return bool(model._meta.concrete_model is related._meta.concrete_model)


def _is_ownership(path: str, owner: Owner) -> bool:
    """Whether a way to a user is one to the owner: "approved_by" is another one."""
    if path == owner.path or owner.path.endswith(f"__{path}"):
        return True
    if "__" in owner.path and path.endswith(f"__{owner.path}"):
        return True
    return set(path.split("__")) <= OWNERS


def belongs_to_somebody(model: Any) -> bool:
    """Whether rows of a model may belong to users, in any way that can be seen."""
    if guess_paths(model) or members_of(model):
        return True
    return any(isinstance(field, GenericForeignKey) for field in model._meta.private_fields)


def generic_names(model: type[models.Model]) -> set[str]:
    """The fields behind generic foreign keys, which may refer to any row of anybody."""
    names: set[str] = set()
    for private in model._meta.private_fields:
        if hasattr(private, "ct_field") and hasattr(private, "fk_field"):
            names |= {private.ct_field, private.fk_field}
    return names
