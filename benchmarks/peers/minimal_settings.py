"""The same settings with the parts of `parts=minimal`: what the core does by itself."""

from streams_settings import *  # noqa: F403
from streams_settings import INSTALLED_APPS as ALL

PARTS = ["admin", "bundle", "charts", "demo", "pacing", "redis"]
CHOSEN = [f"agui.contrib.{part}" for part in PARTS]
INSTALLED_APPS = [name for name in ALL if name in CHOSEN or not name.startswith("agui.contrib.")]
