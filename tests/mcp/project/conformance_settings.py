"""The project's own settings, with what the conformance suite of MCP looks for instead of its routes."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "conformance_urls"
AGUI = {"MCP": {"ENDPOINT": True, "TASK_AFTER_SECONDS": 0.5}, "MAX_RUNS_PER_USER": 20, "THROTTLE": {}}
