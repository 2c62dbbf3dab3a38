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

# What this project says about itself to servers that take its address as a client id.
PUBLIC = "/agent/mcp/accounts/client.json"
METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


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


def test_there_are_routes():
    assert {"/agent/", "/agent", "/agent/tools/", "/agent/threads/t1/cancel"} <= set(routes("agent"))


@pytest.mark.parametrize("method", METHODS)
async def test_every_route_is_closed_to_anonymous_callers_before_anything_else(transactional_db, method):
    for route in routes("agent"):
        if route.rstrip("/") == PUBLIC:
            continue
        response = await AsyncClient().generic(method, route, b"{}", content_type="application/json")
        assert response.status_code == 401, route
        assert response["WWW-Authenticate"] == "Bearer"
        assert json.loads(response.content)["error"] == "unauthorized"


@pytest.mark.parametrize("token", ["", "nonsense", "agt_" + "x" * 43])
async def test_a_bad_token_is_refused_even_with_a_good_session(user, token):
    client = AsyncClient()
    await client.aforce_login(user)
    response = await client.get("/agent/tools/", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 401


async def test_wrong_methods_are_405_for_those_who_may_enter(client: Client):
    for route in routes("agent"):
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


async def test_a_session_needs_csrf_and_a_token_does_not(user):
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(user)
    body = json.dumps(run_input("Hi"))
    with script(say("Hi")):
        response = await client.post("/agent/", body, content_type="application/json")
        assert response.status_code == 403
        assert json.loads(response.content)["error"] == "forbidden"

        client.cookies["csrftoken"] = token = "a" * 32
        response = await client.post("/agent/", body, content_type="application/json", headers={"X-CSRFToken": token})
        assert (await collect(response))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "threads/t1/cancel/"), ("PATCH", "threads/t1/"), ("DELETE", "threads/t1/"), ("POST", "attachments/")],
)
async def test_every_unsafe_route_needs_csrf_from_a_session(user, method, path):
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(user)
    response = await client.generic(method, f"/agent/{path}", b"{}", content_type="application/json")
    assert response.status_code == 403


async def test_a_form_that_can_not_be_read_is_a_client_error(user):
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(user)
    client.cookies["csrftoken"] = "a" * 32
    response = await client.generic("POST", "/agent/", b"broken", content_type="multipart/form-data")
    assert response.status_code == 400


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_only_json_is_read(client: Client, content_type):
    response = await client.http.post("/agent/", json.dumps(run_input("Hi")), content_type=content_type)
    assert response.status_code == 415


async def test_somebody_elses_thread_is_not_found(client: Client, other_client: Client):
    with script(say("Hi")):
        await client.run("My secret", thread="mine")

    for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", "")]:
        response = await other_client.http.generic(
            method, f"/agent/threads/mine/{path}", b'{"title": "x"}', content_type="application/json"
        )
        assert response.status_code == 404, method
    # What is not there and what is somebody else's look the same.
    for thread in ("mine", "nobodys"):
        assert (await other_client.get(f"threads/{thread}/events/")).status_code == 404
        assert (await other_client.http.post(f"/agent/threads/{thread}/cancel/")).status_code == 404
    assert json.loads((await other_client.get("threads/")).content)["threads"] == []
    with script(say("Hello")) as model:
        await other_client.run("Hi", thread="mine")  # A conversation of their own
    assert "My secret" not in str(model.requests[0].messages)
    for one in (client, other_client):
        assert len((await one.thread("mine"))["messages"]) == 2


async def test_a_run_can_neither_be_followed_nor_stopped_nor_blocked_by_others(client: Client, other_client: Client):
    with script(say("Hi")):
        response = await client.post(run_input("Hi", thread="mine"))
        assert (await other_client.get("threads/mine/events/")).status_code == 404
        assert (await other_client.http.post("/agent/threads/mine/cancel/")).status_code == 404
        assert (await collect(response))[-1]["outcome"] == {"type": "success"}


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_get_user_may_be_a_function_or_a_coroutine(user, asynchronous):
    def from_header(request):
        # A plain function may use the ORM.
        return get_user_model().objects.filter(username=request.headers.get("X-User")).first()

    async def from_header_async(request):
        return await get_user_model().objects.filter(username=request.headers.get("X-User")).afirst()

    hook = from_header_async if asynchronous else from_header
    view = DjangoAGUIView(urls.registry, get_user=hook)
    factory = AsyncRequestFactory()
    assert (await view(factory.get("/", headers={"X-User": "ada"}))).status_code == 405
    assert (await view(factory.get("/", headers={"X-User": "eve"}))).status_code == 401


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_get_user_may_return_djangos_lazy_user(user, settings, asynchronous):
    def lazy(request):
        return request.user

    async def lazy_async(request):
        return request.user

    view = DjangoAGUIView(urls.registry, get_user=lazy_async if asynchronous else lazy)
    request = AsyncRequestFactory().get("/")
    request.user = SimpleLazyObject(lambda: get_user_model().objects.get(pk=user.pk))
    assert (await view(request)).status_code == 405
    request.user = SimpleLazyObject(AnonymousUser)
    assert (await view(request)).status_code == 401


async def test_a_hook_that_returns_a_coroutine_is_awaited_not_believed(user):
    async def nobody(request):
        return None

    view = DjangoAGUIView(urls.registry, get_user=lambda request: nobody(request))
    assert (await view(AsyncRequestFactory().post("/"))).status_code == 401


async def test_a_hook_that_fails_is_an_error_that_says_nothing(user, caplog):
    def hook(request):
        raise RuntimeError("hunter2")

    response = await DjangoAGUIView(urls.registry, get_user=hook)(AsyncRequestFactory().post("/"))
    assert response.status_code == 500
    assert b"hunter2" not in response.content
    assert "hunter2" in caplog.text


async def test_a_database_that_is_away_is_something_to_wait_for(user, caplog):
    def hook(request):
        raise OperationalError("connection to hunter2 failed")

    response = await DjangoAGUIView(urls.registry, get_user=hook)(AsyncRequestFactory().post("/"))
    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert b"hunter2" not in response.content
    assert "hunter2" in caplog.text


async def test_a_hook_may_refuse(user):
    def hook(request):
        raise Unauthorized("The key has expired.")

    response = await DjangoAGUIView(urls.registry, get_user=hook)(AsyncRequestFactory().post("/"))
    assert (response.status_code, json.loads(response.content)["message"]) == (401, "The key has expired.")


async def test_anonymous_visitors_never_share_what_they_have(transactional_db):
    first, second = Client(None, "/open/"), Client(None, "/open/")
    with script(say("Hi")):
        await first.run("My secret", thread="mine")

    # The session exists before the stream starts, so its cookie came with the stream.
    assert first.http.cookies["sessionid"].value
    assert len((await first.thread("mine"))["messages"]) == 2
    assert (await second.get("threads/mine/")).status_code == 404
    with script(say("Hello")) as model:
        await second.run("Hi", thread="mine")  # A conversation of their own
    assert "My secret" not in str(model.requests[0].messages)


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
