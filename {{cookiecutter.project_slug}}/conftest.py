"""What every test starts from, whatever .env says: the demo model, no way to reach a real one, and no Redis."""

from typing import Any

import pytest
from pydantic_ai import models

models.ALLOW_MODEL_REQUESTS = False


@pytest.fixture(autouse=True)
def offline(settings: Any) -> None:
    settings.AGENT_MODEL = "demo"
    settings.AGUI = {**settings.AGUI, "REDIS_URL": None}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    # The real ones are slow on purpose: half a second for each user that a test makes.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
