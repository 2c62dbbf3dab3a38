"""The names of tables and columns in the admin, in the language of its reader.

Django makes a name in English from the name of each field. Names that the models give themselves
would change the migrations of projects, so the admin replaces them.
"""

from typing import Any

from django.apps import apps
from django.db.models import Model
from django.utils.functional import Promise

from agui.models import AbstractConversation, get_conversation_model
from agui.parts import Part
from agui.sentences import label

NAMES: dict[str, str | Promise] = {
    # Tables
    "API token": label("API token"),
    "API tokens": label("API tokens"),
    "attachment": label("attachment"),
    "attachments": label("attachments"),
    "audit record": label("audit record"),
    "audit records": label("audit records"),
    "budget": label("budget"),
    "budgets": label("budgets"),
    "conversation": label("conversation"),
    "conversations": label("conversations"),
    "feedback": label("feedback"),
    "message": label("message"),
    "messages": label("messages"),
    "run": label("run"),
    "runs": label("runs"),
    "spending": label("spending"),
    # Columns
    "approved by": label("approved by"),
    "archived": label("archived"),
    "cause": label("cause"),
    "code": label("code"),
    "comment": label("comment"),
    "cost": label("cost"),
    "created at": label("created at"),
    "day": label("day"),
    "digest": label("digest"),
    "error": label("error"),
    "expires at": label("expires at"),
    "group": label("group"),
    "input tokens": label("input tokens"),
    "last used at": label("last used at"),
    "media type": label("media type"),
    "message id": label("message id"),
    "model": label("model"),
    "name": label("name"),
    "outcome": label("outcome"),
    "output tokens": label("output tokens"),
    "owner": label("owner"),
    "period": label("period"),
    "pinned": label("pinned"),
    "prefix": label("prefix"),
    "process": label("process"),
    "requests": label("requests"),
    "result size": label("result size"),
    "revoked at": label("revoked at"),
    "run id": label("run id"),
    "seen at": label("seen at"),
    "started at": label("started at"),
    "status": label("status"),
    "thread id": label("thread id"),
    "title": label("title"),
    "tokens": label("tokens"),
    "tool call id": label("tool call id"),
    "tool name": label("tool name"),
    "unpriced": label("unpriced"),
    "updated at": label("updated at"),
    "user": label("user"),
    "value": label("value"),
}


def name_of(column: str) -> Any:
    """Return the name of a column or of a number, as the head of a list has it."""
    name = column.replace("_", " ")
    return NAMES.get(name, name)


def translate_names() -> None:
    """Replace the names of the engine's tables and columns, and not those of the project's."""
    for config in apps.get_app_configs():
        if config.name == "agui" or isinstance(config, Part):
            for model in config.get_models():
                _translate(model, {field.name for field in model._meta.fields})
    own = {field.name for field in AbstractConversation._meta.fields}
    _translate(get_conversation_model(), own)


def _translate(model: type[Model], columns: set[str]) -> None:
    options: Any = model._meta
    options.verbose_name = NAMES.get(str(options.verbose_name), options.verbose_name)
    plural = str(options.verbose_name_plural)
    options.verbose_name_plural = NAMES.get(plural, options.verbose_name_plural)
    for field in options.fields:
        if field.name in columns:
            field.verbose_name = NAMES.get(str(field.verbose_name), field.verbose_name)
