"""Attempts to sign in are limited, and nobody can lock out somebody else."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

pytestmark = pytest.mark.django_db
PASSWORD = "lovelace-1815"


@pytest.fixture(autouse=True)
def ada() -> Any:
    return get_user_model().objects.create_superuser("ada", password=PASSWORD)


@pytest.mark.parametrize("page", ["/accounts/login/", "/admin/login/"])
def test_account_is_locked_at_an_address_after_too_many_failures(page: str):
    def sign_in(password: str, address: str = "192.0.2.1") -> int:
        data = {"username": "ada", "password": password}
        return Client(REMOTE_ADDR=address).post(page, data).status_code

    statuses = [sign_in("wrong") for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert statuses == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429]
    assert sign_in(PASSWORD) == 429
    assert sign_in(PASSWORD, address="192.0.2.2") == 302
