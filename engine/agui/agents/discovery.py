"""The modules that an agent needs, imported on first use.

Most commands of `manage.py` need no agent.
"""

from functools import cache

from django.utils.module_loading import autodiscover_modules

from agui import conf, parts
from agui.stores.base import store_class


@cache
def discover() -> None:
    """Import what the settings name, the tools and skills of all applications, and some libraries.

    This takes long enough to hold up a busy server, so a server calls it when it starts. Raises
    ImproperlyConfigured if a setting names something that can't be used.
    """
    conf.load()
    store_class()
    autodiscover_modules("tools", "skills")
    for part in parts.installed():
        part.prepare()
