"""Attempts to sign in are limited, and nobody can lock out somebody else."""

import re
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings as django_settings
from django.contrib.auth import aauthenticate, get_user_model
from django.db.models import F
from django.test import Client, RequestFactory

from agui.server.sign_in import ADDRESS_FACTOR, client_address

LIMIT = django_settings.AXES_FAILURE_LIMIT
PASSWORD = "lovelace-1815"
PAGES = ["/accounts/login/", "/admin/login/"]


@pytest.fixture(autouse=True)
def project(db: None, settings: Any) -> None:
    """The pages of the project, and its people."""
    settings.ROOT_URLCONF = "config.urls"
    for name in ("ada", "bob"):
        get_user_model().objects.create_user(name, password=PASSWORD, is_staff=True)


def sign_in(page: str = PAGES[0], username: str = "ada", password: str = "wrong", **headers: str) -> Any:
    """Sign in as a browser does, and return the response."""
    address = headers.pop("address", "192.0.2.1")
    data = {"username": username, "password": password}
    return Client(REMOTE_ADDR=address).post(page, data, headers=headers)


def fail(count: int, **attempt: Any) -> Any:
    """Fail so often, and return the last response."""
    return [sign_in(**attempt) for _ in range(count)][-1]


def minutes_told(response: Any) -> int:
    """Read the number in the page's sentence, which may be in any language."""
    found = re.search(r'role="alert">\D*(\d+)', response.content.decode())
    assert found
    return int(found[1])


def test_after_a_refusal_the_password_has_the_focus():
    field = r'<input type="\w+" name="(\w+)"[^>]*autofocus>'
    assert re.findall(field, sign_in().content.decode()) == ["password"]
    assert re.findall(field, Client().get(PAGES[0]).content.decode()) == ["username"]


@pytest.mark.parametrize("page", PAGES)
def test_account_is_locked_at_an_address_after_too_many_failures(page: str):
    assert fail(LIMIT - 1, page=page).status_code == 200
    response = sign_in(page)
    assert response.status_code == 429
    assert 14 * 60 < int(response["Retry-After"]) <= 15 * 60
    assert minutes_told(response) == 15
    assert f'href="{page}"' in response.content.decode()
    # Neither page is a way around the other.
    assert {sign_in(other, password=PASSWORD).status_code for other in PAGES} == {429}


def test_browser_of_another_name_is_no_way_around():
    for number in range(LIMIT):
        sign_in(**{"User-Agent": f"browser {number}"})
    assert sign_in(password=PASSWORD, **{"User-Agent": "another"}).status_code == 429


def test_the_lock_ends_and_attempts_meanwhile_do_not_prolong_it():
    fail(LIMIT)
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=10))
    assert minutes_told(sign_in()) == 5
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=5))
    assert sign_in(password=PASSWORD).status_code == 302


def test_address_that_tries_many_accounts_is_locked():
    limit = LIMIT * ADDRESS_FACTOR
    statuses = [sign_in(username=f"user{number}").status_code for number in range(limit)]
    assert statuses == [200] * (limit - 1) + [429]
    assert sign_in(username="bob", password=PASSWORD).status_code == 429
    assert sign_in(username="bob", password=PASSWORD, address="192.0.2.2").status_code == 302


def test_success_forgets_the_failures_of_its_account_only():
    fail(LIMIT - 1)
    sign_in(username="bob")
    assert sign_in(username="bob", password=PASSWORD).status_code == 302
    assert sign_in(password=PASSWORD).status_code == 302
    fail(LIMIT - 1)
    # Signing in with one account must not forget the failures of the address with others.
    sign_in(username="bob", password=PASSWORD)
    assert sign_in().status_code == 429


@pytest.mark.django_db(transaction=True)
async def test_lock_holds_for_aauthenticate():
    for _ in range(LIMIT):
        request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")
        assert await aauthenticate(request, username="ada", password="wrong") is None
    request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.1")
    assert await aauthenticate(request, username="ada", password=PASSWORD) is None
    request = RequestFactory().post("/", REMOTE_ADDR="192.0.2.2")
    assert await aauthenticate(request, username="ada", password=PASSWORD) is not None


def test_code_without_a_request_signs_in():
    assert Client().login(username="ada", password=PASSWORD)
    assert not Client().login(username="ada", password="wrong")
    assert not AccessAttempt.objects.exists()


def test_passwords_and_tokens_are_not_kept():
    data = {"username": "ada", "password": "a-secret", "csrfmiddlewaretoken": "another-secret"}
    Client(REMOTE_ADDR="192.0.2.1").post(PAGES[0], data)
    [row] = AccessAttempt.objects.values_list("post_data", "get_data")
    assert "secret" not in str(row)


@pytest.mark.parametrize(
    ("proxies", "header", "expected"),
    [
        (0, "203.0.113.5", "192.0.2.1"),
        (1, "203.0.113.5", "203.0.113.5"),
        (1, "198.51.100.7, 203.0.113.5", "203.0.113.5"),
        (2, "198.51.100.7, 203.0.113.5, 10.0.0.1", "203.0.113.5"),
        (2, "203.0.113.5", "203.0.113.5"),
        (1, "", "192.0.2.1"),
        (1, "unknown", None),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
    ],
)
def test_address_is_the_one_that_the_outermost_proxy_has_seen(
    settings: Any, proxies: int, header: str, expected: str | None
):
    settings.BEHIND_PROXY = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", headers={"X-Forwarded-For": header})
    assert client_address(request) == expected
