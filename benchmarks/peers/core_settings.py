"""The same settings without the part `fast`: the core alone."""

from streams_settings import *  # noqa: F403
from streams_settings import INSTALLED_APPS as ALL

INSTALLED_APPS = [name for name in ALL if name != "agui.contrib.fast"]
