"""What templates read of the engine's settings."""

from typing import TYPE_CHECKING, Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui import conf, parts
from agui.later import Later

if TYPE_CHECKING:
    from agui.stores import base, model
else:
    # Django's checks import every library of tags, so every command does.
    base, model = Later("agui.stores.base"), Later("agui.stores.model")

register = template.Library()


@register.simple_tag
def agui_setting(name: str) -> Any:
    """A setting in force, by the name of its field: `{% agui_setting "max_upload_bytes" %}`."""
    return getattr(conf.get(), name)


@register.simple_tag
def agui_attributes_of_parts() -> SafeString:
    """The attributes that the parts of the project add to `<agui-chat>`."""
    named = {name: value for part in parts.installed() for name, value in part.page_attributes().items()}
    return format_html_join(
        " ", '{}="{}"', ((name, "" if value is None else str(value)) for name, value in named.items())
    )


@register.simple_tag
def agui_keeps_feedback() -> bool:
    """Whether what users think of answers can be kept: it goes with the rows of conversations."""
    return issubclass(base.store_class(), model.ModelConversationStore)
