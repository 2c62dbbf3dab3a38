"""The project's own settings, with the scripted agent in the place of its routes."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "scripted_urls"
AGUI = {"INCLUDE_USAGE": True, "MAX_RUNS_PER_USER": 20}
