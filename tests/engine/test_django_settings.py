"""The settings of Django that change its world: the engine works under each, or a check says why not."""

import json
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.conf.urls.i18n import i18n_patterns
from django.core.checks import run_checks
from django.template import Context, Template
from django.test import AsyncClient, Client
from django.urls import path

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.http.tokens import create_token
from agui.server.health import livez
from agui.testing import ScriptedModel, collect, say
from engine.conftest import run_input

LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"
LANGUAGES = "django.middleware.locale.LocaleMiddleware"


@pytest.fixture
def agent(settings: Any) -> None:
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=ScriptedModel([say("Yes."), say("Yes.")])))
    patterns = [*get_urls(view), path("livez", livez), *i18n_patterns(*get_urls(view, "help/", namespace="help"))]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})


@pytest.fixture
def token(user: Any) -> str:
    return create_token(user)[1]


async def answer(http: AsyncClient, address: str = "/agent/", **headers: str) -> list[dict[str, Any]]:
    response: Any = await http.post(address, json.dumps(run_input("Hi")), "application/json", headers=headers)
    assert response.status_code == 200, response.content
    return await collect(response)


async def works(user: Any, token: str, address: str = "/agent/") -> None:
    """It answers with a token, with a session, and refuses everybody else."""
    events = await answer(AsyncClient(), address, authorization=f"Bearer {token}")
    assert events[-1]["type"] == "RUN_FINISHED"
    http = AsyncClient()
    await http.aforce_login(user)
    assert (await answer(http, address))[-1]["type"] == "RUN_FINISHED"
    threads = (await http.get(f"{address}threads/")).json()["threads"]
    assert [row["thread_id"] for row in threads] == ["t1"]
    for path_info in (address, f"{address}threads/", f"{address}tools/"):
        refused = await AsyncClient().post(path_info, b"{}", "application/json")
        assert refused.status_code == 401, path_info


async def test_every_view_asks_for_a_login(agent, user, token, settings):
    """Django's middleware would redirect to a page, and knows no API tokens."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOGIN_REQUIRED]
    await works(user, token)
    assert (await AsyncClient().get("/livez")).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"APPEND_SLASH": False},
        {"FORCE_SCRIPT_NAME": "/shop"},
        {"USE_I18N": False},
        {"TIME_ZONE": "Asia/Kathmandu"},
        {"CSRF_USE_SESSIONS": True},
        {"CSRF_COOKIE_HTTPONLY": True},
        {"CSRF_HEADER_NAME": "HTTP_X_XSRF_TOKEN", "CSRF_COOKIE_NAME": "xsrf"},
        {"SESSION_ENGINE": "django.contrib.sessions.backends.signed_cookies"},
        {"SESSION_ENGINE": "django.contrib.sessions.backends.cached_db"},
        {"CACHES": {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}},
        {"DEFAULT_AUTO_FIELD": "django.db.models.AutoField"},
        {"PREPEND_WWW": False, "USE_X_FORWARDED_HOST": True},
        {"DATA_UPLOAD_MAX_MEMORY_SIZE": 100},
    ],
    ids=lambda changes: " ".join(changes),
)
async def test_it_works(agent, user, token, settings, changes: dict[str, Any]):
    for name, value in changes.items():
        setattr(settings, name, value)
    await works(user, token)


async def test_it_works_under_the_prefix_of_a_language(agent, user, token, settings):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LANGUAGES]
    await works(user, token, "/en/help/")


async def test_it_works_where_each_request_is_a_transaction(agent, user, token, monkeypatch):
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


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_times_without_a_zone_are_refused(settings):
    settings.USE_TZ = False
    [error] = [message for message in run_checks() if message.id == "agui.E013"]
    assert "Set USE_TZ = True" in error.hint
