"""Where every test starts, whatever .env says."""

from typing import Any

import pytest

# The demo model answers. No test asks a real model, uses Redis, or keeps a connection.
pytest_plugins = ["agui.testing.plugin"]


@pytest.fixture(autouse=True)
def use_local_cache_and_fast_hashes(settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    # Real hashers are slow on purpose: half a second for each user that a test creates.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
