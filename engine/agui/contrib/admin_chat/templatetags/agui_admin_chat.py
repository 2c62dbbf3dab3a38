import json
from typing import Any

from django import template
from django.db.models import Model
from django.template.context import RequestContext

from agui import conf
from agui.contrib.admin_chat.conf import AdminChatSettings

register = template.Library()
# A name may be a whole text.
MAX_CHARS = 500


@register.inclusion_tag("agui_admin_chat/chat.html", takes_context=True)
def agui_admin_chat(context: RequestContext) -> dict[str, Any]:
    """Write the chat of a page of the admin. Users who may not use the admin get none."""
    if context.get("is_popup") or not context.get("has_permission"):
        return {}
    return {
        "agent": conf.part(AdminChatSettings).agent,
        "page": json.dumps(_page(context)),
        "request": context["request"],
    }


def _page(context: RequestContext) -> dict[str, str]:
    """Say what the page shows, and no more than is written on it."""
    page = {"title": str(context.get("title") or ""), "address": context["request"].path}
    if opts := context.get("opts"):
        page["model"] = opts.label
    shown = context.get("original") or context.get("object")
    if isinstance(shown, Model):
        page |= {"model": shown._meta.label, "primary key": str(shown.pk), "name": str(shown)}
    if (changes := context.get("cl")) and changes.query:
        page["search"] = changes.query
    return {name: text[:MAX_CHARS] for name, text in page.items()}
