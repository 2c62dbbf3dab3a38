"""What every test starts from, whatever .env says: the demo model, no way to reach a real one, and no Redis."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from pydantic_ai import models

models.ALLOW_MODEL_REQUESTS = False


@pytest.fixture(autouse=True)
def offline(settings: Any) -> None:
    settings.AGENT_MODEL = "demo"
    settings.AGUI = {**settings.AGUI, "REDIS_URL": None}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    # The real ones are slow on purpose: half a second for each user that a test makes.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
async def no_connection_outlives_its_test() -> AsyncIterator[None]:
    """PostgreSQL can't drop the test database while the thread of async views and queries is connected to it."""
    yield
    await sync_to_async(connections.close_all)()
