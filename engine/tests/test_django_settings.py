"""The settings of Django that change its world: the engine works under each, or a check says why not."""

from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from daily import by_day
from django.conf import settings as django_settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.checks import run_checks
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import AsyncClient, Client
from django.urls import path

from agui import get_urls
from agui.http.tokens import create_token
from agui.server.health import livez
from tests.mounting import serve_urls
from tests.way import begin, end, keeper, threads

LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"
SESSIONS = "django.contrib.sessions.backends"
CACHES = "django.core.cache.backends"
CACHED, CACHE = "django.middleware.cache", "CacheMiddleware"
FILES = "django.core.files.storage"
LANGUAGES = "django.middleware.locale.LocaleMiddleware"


@pytest.fixture
def token(user: Any) -> str:
    return create_token(user)[1]


@pytest.fixture
def agent(settings: Any, tmp_path: Path) -> None:
    view = keeper()
    patterns = [*get_urls(view), path("livez", livez), *i18n_patterns(*get_urls(view, "help/", namespace="help"))]
    patterns += get_urls(keeper(require_authenticated=False), "open/", namespace="open")
    serve_urls(settings, patterns)
    settings.MEDIA_ROOT = settings.SESSION_FILE_PATH = tmp_path


async def works(user: Any, token: str, address: str = "/agent/") -> None:
    """Let a user go their way with a token and with a session, and refuse everybody else."""
    anybody, browser = AsyncClient(), AsyncClient()
    await browser.aforce_login(user)
    bearer = {"authorization": f"Bearer {token}"}
    thread = await begin(anybody, address, **bearer)
    assert await threads(browser, address) == [thread]
    for path_info in (address, f"{address}threads/", f"{address}threads/{thread}/", f"{address}tools/"):
        assert (await anybody.get(path_info)).status_code == 401, path_info
        assert (await anybody.post(path_info, b"{}", "application/json")).status_code == 401, path_info
    await end(browser, address, thread)
    await end(anybody, address, await begin(browser, address), **bearer)


@pytest.mark.parametrize(
    "changes",
    by_day(
        [
            {"APPEND_SLASH": False},
            {"FORCE_SCRIPT_NAME": "/shop"},
            {"USE_I18N": False},
            {"TIME_ZONE": "Asia/Kathmandu"},
            {"CSRF_USE_SESSIONS": True},
            {"CSRF_COOKIE_HTTPONLY": True},
            {"CSRF_HEADER_NAME": "HTTP_X_XSRF_TOKEN", "CSRF_COOKIE_NAME": "xsrf"},
            *({"SESSION_ENGINE": f"{SESSIONS}.{name}"} for name in ("signed_cookies", "cached_db", "cache", "file")),
            {"SESSION_COOKIE_NAME": "sid", "SESSION_SAVE_EVERY_REQUEST": True, "SESSION_COOKIE_SAMESITE": "Strict"},
            {"CACHES": {"default": {"BACKEND": f"{CACHES}.dummy.DummyCache"}}},
            {"CACHES": {"default": {"BACKEND": f"{CACHES}.filebased.FileBasedCache", "LOCATION": "media/cache"}}},
            {"AUTHENTICATION_BACKENDS": ["django.contrib.auth.backends.RemoteUserBackend"]},
            {"LANGUAGE_CODE": "de", "USE_THOUSAND_SEPARATOR": True, "DECIMAL_SEPARATOR": ","},
            {"STATIC_URL": "https://cdn.example.com/static/", "MEDIA_URL": "https://cdn.example.com/media/"},
            {"STORAGES": {**django_settings.STORAGES, "default": {"BACKEND": f"{FILES}.InMemoryStorage"}}},
            {"DEFAULT_CHARSET": "latin-1", "DATA_UPLOAD_MAX_NUMBER_FIELDS": 0, "FILE_UPLOAD_MAX_MEMORY_SIZE": 0},
            {"MIDDLEWARE": ["django.middleware.gzip.GZipMiddleware", *django_settings.MIDDLEWARE]},
            {"MIDDLEWARE": ["django.middleware.http.ConditionalGetMiddleware", *django_settings.MIDDLEWARE]},
            {"MIDDLEWARE": [f"{CACHED}.Update{CACHE}", *django_settings.MIDDLEWARE, f"{CACHED}.FetchFrom{CACHE}"]},
            {"PREPEND_WWW": False, "USE_X_FORWARDED_HOST": True},
            {"DATA_UPLOAD_MAX_MEMORY_SIZE": 100},
        ]
    ),
    ids=lambda changes: " ".join(changes),
)
async def test_it_works(agent, user, token, settings, changes: dict[str, Any]):
    for name, value in changes.items():
        setattr(settings, name, value)
    await works(user, token)


async def test_it_works_with_middleware_and_with_transactions(agent, user, token, settings, monkeypatch):
    """Django's own of logins would redirect to a page, and knows no API tokens."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOGIN_REQUIRED, LANGUAGES]
    await works(user, token)
    assert (await AsyncClient().get("/livez")).status_code == 200
    await works(user, token, "/en/help/")
    for name in django_settings.DATABASES:
        monkeypatch.setitem(django_settings.DATABASES[name], "ATOMIC_REQUESTS", True)
    await works(user, token)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"CSRF_HEADER_NAME": "HTTP_X_XSRF_TOKEN"}, ['data-csrf-header="X-XSRF-TOKEN"']),
        ({"CSRF_COOKIE_NAME": "xsrf"}, ['data-csrf-cookie="xsrf"']),
    ],
)
def test_the_page_is_told_where_the_token_goes(agent, settings, changes, expected):
    for name, value in changes.items():
        setattr(settings, name, value)
    text = Template("{% load agui %}{% agui_agent_attributes 'agui' %}").render(Context())
    assert [word for word in text.split() if "csrf" in word] == expected


def test_a_header_of_another_name_is_read(agent, user, settings):
    settings.CSRF_HEADER_NAME = "HTTP_X_XSRF_TOKEN"
    http = Client(enforce_csrf_checks=True)
    http.force_login(user)
    http.cookies["csrftoken"] = token = "a" * 32
    for name, status in (("X-CSRFToken", 403), ("X-XSRF-TOKEN", 404)):
        response = http.delete("/agent/threads/none/", headers={name: token})
        assert response.status_code == status, response.content


def of_check(name: str) -> list[Any]:
    return [message for message in run_checks() if message.id == name]


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_times_without_a_zone_are_refused(settings):
    settings.USE_TZ = False
    [error] = of_check("agui.E013")
    assert "Set USE_TZ = True" in error.hint


@pytest.mark.parametrize("name", ["db", "cached_db", "file", "cache"])
async def test_visitors_are_told_apart_by_sessions_on_the_server(agent, settings, transactional_db, name: str):
    settings.SESSION_ENGINE = f"{SESSIONS}.{name}"
    visitor, other = AsyncClient(), AsyncClient()
    ids = {await begin(visitor, "/open/"), await begin(visitor, "/open/")}
    await begin(other, "/open/")
    assert set(await threads(visitor, "/open/")) == ids


async def test_signed_cookies_tell_no_visitors_apart(agent, settings, transactional_db):
    """Those that begin in one second would have the same key."""
    check = sync_to_async(of_check)
    assert await check("agui.E015") == []
    settings.SESSION_ENGINE = f"{SESSIONS}.signed_cookies"
    visitor = AsyncClient()
    for _ in range(2):
        assert (await visitor.get("/open/threads/")).status_code == 401
    [error] = await check("agui.E015")
    assert "require_authenticated=False" in error.msg
    serve_urls(settings, get_urls(keeper()))
    assert await check("agui.E015") == []


@pytest.mark.django_db
@pytest.mark.parametrize("router", ["SecondDatabase", "AgentOnly", "UsersOnly", "Conversations", "Replica"])
def test_users_and_what_they_own_are_in_one_database(settings, router: str):
    settings.DATABASE_ROUTERS = [f"tests.worlds.routers.{router}"]
    told = ["['default', 'second']" in error.msg for error in of_check("agui.E014")]
    assert told == ([] if router == "SecondDatabase" else [True])


def test_the_users_key_is_not_written_as_a_number_is(agent, rf, settings):
    settings.LANGUAGE_CODE, settings.USE_THOUSAND_SEPARATOR = "de", True
    request = rf.get("/")
    request.user = get_user_model()(pk=1234567)
    for agent_name in ("agui", "open"):
        text = render_to_string("agui/attributes.html", {"agent": agent_name}, request)
        assert 'user-key="1234567"' in text
    request.user = AnonymousUser()
    assert 'user-key=""' in render_to_string("agui/attributes.html", {"agent": "agui"}, request)


def test_what_is_uploaded_is_not_for_every_account_of_the_machine(settings: Any, tmp_path: Path):
    settings.MEDIA_ROOT = tmp_path
    name = default_storage.save("letter", ContentFile(b"Dear Ada"))
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o640
