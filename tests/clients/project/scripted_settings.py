"""The project's own settings, with the scripted agent instead of its routes."""

from config.settings import *  # noqa: F403
from config.settings import env

ROOT_URLCONF = "scripted_urls"
AGUI = {
    "INCLUDE_USAGE": True,
    "MAX_RUNS_PER_USER": 20,
    "INTERRUPT_EXPIRES_SECONDS": env.float("INTERRUPT_EXPIRES_SECONDS", default=3600.0),
}
