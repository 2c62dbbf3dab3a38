"""Where every test starts, whatever .env says: the demo model, no real model, no Redis."""

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections


@pytest.fixture(autouse=True)
def offline(settings: Any) -> None:
    # A test that builds its process's first agent is offline, too (agui/agents/discovery.py).
    if "pydantic_ai.models" in sys.modules:
        vars(sys.modules["pydantic_ai.models"])["ALLOW_MODEL_REQUESTS"] = False
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
