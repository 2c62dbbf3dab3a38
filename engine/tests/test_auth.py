"""Who may do what: every route is closed, another user's things don't exist, cookies need CSRF."""

import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import OperationalError
from django.test import AsyncClient, AsyncRequestFactory
from django.urls import get_resolver
from django.utils.functional import SimpleLazyObject

from agui import DjangoAGUIView
from agui.errors import Unauthorized
from agui.testing import collect, say
from tests import urls
from tests.conftest import Client, run_input, script


def routes(prefix: str) -> list[str]:
    """Every route of the engine, from the URLconf itself: a new one can't escape these tests."""
    found = []
    for pattern in get_resolver("tests.urls").url_patterns:
        inner = getattr(pattern, "url_patterns", [None])
        for part in inner:
            route = str(pattern.pattern) + (str(part.pattern) if part else "")
            route = route.replace("<path:thread_id>", "t1")
            route = route.replace("<slug:server>", "shop")
            route = re.sub(r"<uuid:\w+>", "6f8a1f0e-0000-4000-8000-000000000000", route)
            if route.startswith(prefix):
                found.append("/" + route)
    return found


@pytest.mark.parametrize("token", ["", "nonsense", "agt_" + "x" * 43])
async def test_a_bad_token_is_refused_even_with_a_good_session(user, token):
    client = AsyncClient()
    await client.aforce_login(user)
    response = await client.get("/agent/tools/", headers={"Authorization": f"Bearer {token}"})
    assert (response.status_code, response.json()["error"]) == (401, "unauthorized")


async def test_wrong_methods_are_405_for_those_who_may_enter(client: Client):
    found = routes("agent")
    assert {"/agent/", "/agent", "/agent/tools/", "/agent/threads/t1/cancel"} <= set(found)
    for route in found:
        response = await client.http.generic("TRACE", route, b"{}", content_type="application/json")
        assert response.status_code == 405, route
        assert response["Allow"]


async def test_the_endpoint_answers_with_and_without_the_last_slash(client: Client):
    for path in ("/agent", "/agent/"):
        with script(say("Hi")):
            response = await client.http.post(path, json.dumps(run_input("Hi")), content_type="application/json")
            assert response.status_code == 200
            await collect(response)
    assert (await client.http.get("/agent/tools")).status_code == 200


async def test_a_session_needs_csrf(user):
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(user)
    response = await client.post("/agent/", run_input("Hi"), content_type="application/json")
    assert (response.status_code, response.json()["error"]) == (403, "forbidden")
    client.cookies["csrftoken"] = token = "a" * 32
    headers = {"X-CSRFToken": token}
    with script(say("Hi")):
        response = await client.post("/agent/", run_input("Hi"), content_type="application/json", headers=headers)
        assert (await collect(response))[-1]["type"] == "RUN_FINISHED"
    # A form that can't be read is the client's error.
    response = await client.generic("POST", "/agent/", b"broken", content_type="multipart/form-data")
    assert response.status_code == 400


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_only_json_is_read(client: Client, content_type):
    response = await client.http.post("/agent/", json.dumps(run_input("Hi")), content_type=content_type)
    assert response.status_code == 415


def from_header(request):
    # A plain function may use the ORM.
    return get_user_model().objects.filter(username=request.headers.get("X-User")).first()


async def from_header_async(request):
    return await get_user_model().objects.filter(username=request.headers.get("X-User")).afirst()


def lazy(request):
    return SimpleLazyObject(lambda: from_header(request) or AnonymousUser())


async def lazy_async(request):
    return lazy(request)


@pytest.mark.parametrize(
    "hook",
    [from_header, from_header_async, lazy, lazy_async, lambda request: from_header_async(request)],
    ids=["function", "coroutine", "a lazy user", "a lazy user of a coroutine", "a function that returns a coroutine"],
)
async def test_get_user_may_be_a_function_or_a_coroutine(user, hook):
    view = DjangoAGUIView(urls.registry, get_user=hook)
    factory = AsyncRequestFactory()
    for name, status in (("ada", 405), ("eve", 401)):
        assert (await view(factory.get("/", headers={"X-User": name}))).status_code == status


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (RuntimeError("hunter2"), 500, None),
        (OperationalError("connection to hunter2 failed"), 503, None),
        (Unauthorized("The key has expired."), 401, "The key has expired."),
    ],
)
async def test_a_hook_may_refuse_and_a_failure_says_nothing(user, caplog, error, status, told):
    def hook(request):
        raise error

    response = await DjangoAGUIView(urls.registry, get_user=hook)(AsyncRequestFactory().post("/"))
    assert response.status_code == status
    assert response.headers.get("Retry-After") == ("1" if status == 503 else None)
    if told:
        assert json.loads(response.content)["message"] == told
    else:
        assert b"hunter2" not in response.content
        assert "hunter2" in caplog.text


async def test_an_inactive_user_stays_outside(user, client: Client):
    user.is_active = False
    await user.asave()
    assert (await client.get("tools/")).status_code == 401


class OldBackend:
    """A project's own, from before Django's were asynchronous."""

    def authenticate(self, request, **credentials):
        return None

    def get_user(self, user_id):
        return get_user_model().objects.filter(pk=user_id).first()


async def test_a_backend_may_have_no_coroutines(user, settings):
    settings.AUTHENTICATION_BACKENDS = ["tests.test_auth.OldBackend"]
    client = AsyncClient()
    await client.aforce_login(user, backend="tests.test_auth.OldBackend")
    assert (await client.get("/agent/tools/")).status_code == 200
    assert (await AsyncClient().get("/agent/tools/")).status_code == 401
