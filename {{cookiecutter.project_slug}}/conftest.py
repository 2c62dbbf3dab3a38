"""Where every test starts, whatever .env says: the demo model, no real model, no Redis."""

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
    # Real hashers are slow on purpose: half a second for each user that a test creates.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
async def no_connection_outlives_its_test() -> AsyncIterator[None]:
    """Close the connections of async code: PostgreSQL can't drop a database that is in use."""
    yield
    await sync_to_async(connections.close_all)()
