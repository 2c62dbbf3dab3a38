"""The settings of the project under test in another world: WORLD in the environment is what is different, as JSON."""

import json
import os
import sys
from pathlib import Path

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as ALL_APPS
from tests.settings import MIDDLEWARE as ALL_MIDDLEWARE

WORLD = json.loads(os.environ["WORLD"])

INSTALLED_APPS = [name for name in ALL_APPS if name not in ("users", "assistant", "axes")]
INSTALLED_APPS += ["tests.worlds.people"]
MIDDLEWARE = [name for name in ALL_MIDDLEWARE if not name.startswith("axes")]
AUTH_USER_MODEL = "people.Person"
AGUI = {"CONVERSATION_MODEL": "people.Talk"}
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
ROOT_URLCONF = "tests.worlds.urls"
ALLOWED_HOSTS = ["*"]
MEDIA_ROOT = Path(WORLD["directory"])
MIGRATION_MODULES = {"people": "migrations.people"}
(MEDIA_ROOT / "migrations").mkdir(exist_ok=True)
sys.path.insert(0, WORLD["directory"])
DATABASES = {
    alias: {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": MEDIA_ROOT / f"{alias}.sqlite3",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
    for alias in ("default", "second")
}
if WORLD.get("has_router"):
    DATABASE_ROUTERS = ["tests.worlds.routers.SecondDatabase"]
globals().update(WORLD.get("settings", {}))
