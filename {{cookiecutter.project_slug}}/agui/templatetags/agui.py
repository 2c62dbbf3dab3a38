"""What templates read of the engine's settings."""

from typing import Any

from django import template

from agui import conf
from agui.stores import store_class
from agui.stores.model import ModelConversationStore

register = template.Library()


@register.simple_tag
def agui_setting(name: str) -> Any:
    """A setting in force, by the name of its field: `{% agui_setting "max_upload_bytes" %}`."""
    return getattr(conf.get(), name)


@register.simple_tag
def agui_keeps_feedback() -> bool:
    """Whether what users think of answers can be kept: it goes with the rows of conversations."""
    return issubclass(store_class(), ModelConversationStore)
