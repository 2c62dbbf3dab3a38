"""What every test starts from, whatever .env says: the demo model, no way to reach a real one, no Redis, no workers."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings
from pydantic_ai import models

from agui import conf
from agui.blocking.executor import close_kept_connections
from agui.runs.live import live

models.ALLOW_MODEL_REQUESTS = False
conf.forget_environment()
override_settings(
    AGENT_MODEL="demo",
    AGUI={**settings.AGUI, "REDIS_URL": None},
    CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
    # The real ones are slow on purpose: half a second for each user that a test makes.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
).enable()
live.logs = live.open_logs()  # It is there by now


@pytest.fixture(autouse=True)
def no_connection_outlives_its_test() -> Iterator[None]:
    """PostgreSQL can't drop the test database while a thread of the engine is connected to it."""
    yield
    close_kept_connections()
