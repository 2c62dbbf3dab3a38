"""What an agent is made of, imported when the agent is first needed: most commands of `manage.py` need none."""

from functools import cache

from django.utils.module_loading import autodiscover_modules

from agui import conf, parts
from agui.stores.base import store_class


@cache
def discover() -> None:
    """Import what the settings name, the tools and skills of all applications, and some libraries.

    All of it takes long enough to hold up a server that is at work, so a server calls this when it
    starts. Raises ImproperlyConfigured if a setting names what can't be used.
    """
    conf.load()
    store_class()
    autodiscover_modules("tools", "skills")
    for part in parts.installed():
        part.prepare()
