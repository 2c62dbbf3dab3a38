"""Who may do what: every route is closed, another user's things don't exist, cookies need CSRF."""

import json
from importlib.util import find_spec

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.handlers.exception import response_for_exception
from django.db import OperationalError
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from django.test import AsyncClient, AsyncRequestFactory, RequestFactory
from django.utils.functional import SimpleLazyObject

from agui import DjangoAGUIView
from agui.errors import Unauthorized
from agui.testing import collect, say
from tests import urls
from tests.conftest import run_input, script


@pytest.mark.parametrize("token", ["", "nonsense", "agt_" + "x" * 43])
async def test_a_bad_token_is_refused_even_with_a_good_session(user, token):
    client = AsyncClient()
    await client.aforce_login(user)
    response = await client.get("/agent/tools/", headers={"Authorization": f"Bearer {token}"})
    assert (response.status_code, response.json()["error"]) == (401, "unauthorized")


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


async def answer_to(hook):
    """What is answered to a request whose user this hook looks for."""
    return await DjangoAGUIView(urls.registry, get_user=hook)(AsyncRequestFactory().post("/"))


def raising(error):
    def hook(request):
        raise error

    return hook


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("hunter2"), 500, "internal_error"),
        (OperationalError("connection to hunter2 failed"), 503, "unavailable"),
        (TimeoutError("hunter2"), 503, "unavailable"),
        (Unauthorized("The key has expired."), 401, "unauthorized"),
    ],
)
async def test_a_hook_may_refuse_and_a_failure_says_nothing(user, caplog, error, status, code):
    response = await answer_to(raising(error))
    told = json.loads(response.content)
    assert (response.status_code, told["error"]) == (status, code)
    assert response.headers.get("Retry-After") == ("1" if status == 503 else None)
    if status == 401:
        assert told["message"] == "The key has expired."
    else:
        assert b"hunter2" not in response.content
        assert "hunter2" in caplog.text


# What a hook may raise, as any view may.
OF_DJANGO = Http404, PermissionDenied, SuspiciousOperation, BadRequest, MultiPartParserError, RequestDataTooBig


def raised_by_rest_framework():
    if find_spec("rest_framework") is None:
        return
    from rest_framework import exceptions

    payment = exceptions.APIException("Pay first.")
    payment.status_code = 402
    yield from (payment, exceptions.APIException("Something is odd."), exceptions.NotAuthenticated())
    yield from (exceptions.AuthenticationFailed("The key is wrong."), exceptions.PermissionDenied("Not on Sundays."))
    yield from (exceptions.NotFound(), exceptions.Throttled(wait=2.5), exceptions.UnsupportedMediaType("a/b"))
    yield from (exceptions.ValidationError({"name": ["Too long."]}), exceptions.MethodNotAllowed("POST"))


def answer_of_a_plain_view(error):
    """What Django answers, or REST framework."""
    request = RequestFactory().post("/")
    if type(error).__module__.startswith("django."):
        return response_for_exception(request, error)
    from rest_framework.decorators import api_view

    def view(request):
        raise error

    return api_view(["POST"])(view)(request)


@pytest.mark.parametrize(
    "error",
    [*(kind("hunter2") for kind in OF_DJANGO), *raised_by_rest_framework()],
    ids=lambda error: type(error).__name__,
)
async def test_what_a_hook_raises_means_what_it_means_in_any_view(user, caplog, error):
    # A view of REST framework without a way to authenticate turns 401 into 403.
    own = getattr(error, "status_code", None)
    response = await answer_to(raising(error))
    usual = await sync_to_async(answer_of_a_plain_view)(error)
    told = json.loads(response.content)
    assert response.status_code == (own or usual.status_code)
    assert response.headers.get("Retry-After") == usual.headers.get("Retry-After")
    assert ("WWW-Authenticate" in response.headers) == (response.status_code == 401)
    assert b"hunter2" not in response.content
    if detail := getattr(error, "detail", None):
        assert detail in (told["message"], told.get("detail"))
    has_traceback = any(record.exc_info for record in caplog.records if record.name.startswith("agui"))
    assert has_traceback == (response.status_code == 500)


async def test_row_that_a_hook_does_not_find_is_a_wrong_token(user, caplog):
    def hook(request):
        return get_user_model().objects.get(username="nobody")

    response = await answer_to(hook)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert not caplog.records


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
