"""Other user models and several databases: each needs a process of its own (worlds/)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SETTINGS = {
    "SESSION_ENGINE": "django.contrib.sessions.backends.signed_cookies",
    "CACHES": {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}},
    "LANGUAGE_CODE": "de",
    "USE_THOUSAND_SEPARATOR": True,
}
# No name, a UUID, a manager that hides who has left, in another database than the rest of the project.
HARDEST = {"key": "uuid", "has_router": True, "settings": SETTINGS}
OTHERS = [
    *({"key": key} for key in ("uuid", "text", "row")),
    {"key": "number", "settings": {"DEFAULT_AUTO_FIELD": "django.db.models.AutoField", "APPEND_SLASH": False}},
]


@pytest.mark.parametrize(
    "world",
    [HARDEST, *(pytest.param(world, marks=pytest.mark.nightly) for world in OTHERS)],
    ids=lambda world: world["key"],
)
def test_a_user_lives_in_another_world(world: dict[str, Any], tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "DATABASE"))}
    environment["WORLD"] = json.dumps({**world, "directory": str(tmp_path)})
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-B", "-m", "tests.worlds"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-5000:]
