"""The settings of the project under test, without what its .env and its owner have changed about the engine."""

import os
from importlib.util import find_spec
from unittest.mock import patch

import django

os.environ.pop("MCP_ENDPOINT", None)

# The template's folder has no .env.
with patch.dict(os.environ, {"DEBUG": os.environ.get("DEBUG", "1")}):
    from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.urls"
AGENT_MODEL = "demo"
AGUI: dict[str, object] = {}  # The engine's defaults: no Redis, no workers, no telemetry
if url := os.environ.get("TEST_REDIS_URL"):
    # Tests side by side have users and threads of the same ids.
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    AGUI["REDIS"] = {"URL": f"{url}?db={number}"}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
# The real ones are slow on purpose: half a second for each user that a test makes.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if django.VERSION >= (6, 1):  # Django warns projects that send mail without them.
    MAILERS: dict[str, dict[str, object]] = {"default": {}}

for part in os.environ.get("TEST_WITHOUT", "").split():
    INSTALLED_APPS.remove(part)  # noqa: F405

# The part `oauth` works as soon as its library is an app of the project.
if "agui.contrib.oauth" in INSTALLED_APPS and find_spec("oauth2_provider"):  # noqa: F405
    INSTALLED_APPS = [*dict.fromkeys([*INSTALLED_APPS, "oauth2_provider"])]  # noqa: F405
