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
from agui.sentences import wording

NAMES: dict[str, str | Promise] = {
    # Tables
    "API token": wording("API token"),
    "API tokens": wording("API tokens"),
    "attachment": wording("attachment"),
    "attachments": wording("attachments"),
    "audit record": wording("audit record"),
    "audit records": wording("audit records"),
    "budget": wording("budget"),
    "budgets": wording("budgets"),
    "client question": wording("question of an MCP client"),
    "client questions": wording("questions of MCP clients"),
    "client task": wording("task of an MCP client"),
    "client tasks": wording("tasks of MCP clients"),
    "conversation": wording("conversation"),
    "conversations": wording("conversations"),
    "feedback": wording("feedback"),
    "message": wording("message"),
    "messages": wording("messages"),
    "notification": wording("notification"),
    "notifications": wording("notifications"),
    "queued message": wording("queued message"),
    "queued messages": wording("queued messages"),
    "remote account": wording("account at another service"),
    "remote accounts": wording("accounts at other services"),
    "remote client": wording("registration at another service"),
    "remote clients": wording("registrations at other services"),
    "remote tool": wording("definition of a remote tool"),
    "remote tools": wording("definitions of remote tools"),
    "run": wording("run"),
    "runs": wording("runs"),
    "spending": wording("spending"),
    # Columns
    "accepted at": wording("accepted at"),
    "approved by": wording("approved by"),
    "archived": wording("archived"),
    "attempts": wording("attempts"),
    "cause": wording("cause"),
    "channel": wording("channel"),
    "client": wording("client"),
    "code": wording("code"),
    "comment": wording("comment"),
    "connected at": wording("connected at"),
    "cost": wording("cost"),
    "created at": wording("created at"),
    "day": wording("day"),
    "decided at": wording("decided at"),
    "digest": wording("digest"),
    "error": wording("error"),
    "expires at": wording("expires at"),
    "group": wording("group"),
    "input tokens": wording("input tokens"),
    "is over": wording("ended"),
    "kind": wording("kind"),
    "last used at": wording("last used at"),
    "media type": wording("media type"),
    "message id": wording("message id"),
    "mode": wording("mode"),
    "model": wording("model"),
    "name": wording("name"),
    "next at": wording("next at"),
    "outcome": wording("outcome"),
    "output tokens": wording("output tokens"),
    "owner": wording("owner"),
    "period": wording("period"),
    "pinned": wording("pinned"),
    "prefix": wording("prefix"),
    "process": wording("process"),
    "redirect uri": wording("address to come back to"),
    "requests": wording("requests"),
    "result size": wording("result size"),
    "revoked at": wording("revoked at"),
    "run id": wording("run id"),
    "seen at": wording("seen at"),
    "sent at": wording("sent at"),
    "server": wording("server"),
    "started at": wording("started at"),
    "state": wording("state"),
    "status": wording("status"),
    "thread id": wording("thread id"),
    "title": wording("title"),
    "tokens": wording("tokens"),
    "tool call id": wording("tool call id"),
    "tool name": wording("tool name"),
    "unpriced": wording("unpriced"),
    "updated at": wording("updated at"),
    "user": wording("user"),
    "value": wording("value"),
    "via": wording("via"),
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
