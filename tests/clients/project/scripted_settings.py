"""The project's own settings, with the scripted agent instead of its routes."""

from config.settings import *  # noqa: F403
from config.settings import AGUI, env

ROOT_URLCONF = "scripted_urls"
AGUI = {
    "REDIS_URL": AGUI.get("REDIS_URL"),
    "INCLUDE_USAGE": True,
    "MAX_RUNS_PER_USER": 20,
    "INTERRUPT_EXPIRES_SECONDS": env.float("INTERRUPT_EXPIRES_SECONDS", default=3600.0),
}
