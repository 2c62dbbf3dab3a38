"""A request with an API token passes the middleware on the event loop, and its answer is the usual one."""

import asyncio
import json
import logging
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http.cookies import SimpleCookie
from typing import Any
from unittest.mock import Mock

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings as project
from django.contrib.auth import aauthenticate
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, reset_queries
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.deprecation import MiddlewareMixin
from pydantic_ai import Agent

from agui import DjangoAGUIView
from agui.contrib.fast import token_requests
from agui.contrib.fast.closing import close_on_loop
from agui.contrib.fast.token_requests import keep_on_loop
from agui.http.tokens import create_token
from agui.http.views import AgentView
from agui.testing import say
from tests.asking import ask
from tests.conftest import run_input, script, until
from tests.urls import registry
from tests.urls import urlpatterns as usual_patterns


class Template(AgentView):
    async def respond(self, request: HttpRequest, actor: Any, **kwargs: Any) -> HttpResponse:
        return TemplateResponse(request, "registration/logged_out.html")


class Checked(Template):
    """The middleware of CSRF looks at it."""

    csrf_exempt = False


class Closing(AgentView):
    """Notes the thread of its query, which `?without` leaves out, and the one that closes the response."""

    threads: list[threading.Thread] = []
    beside: list[asyncio.Task[None]] = []

    async def respond(self, request: HttpRequest, actor: Any, **kwargs: Any) -> StreamingHttpResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"one"
            if "without" not in request.GET:
                await sync_to_async(self.note)()
            yield b"two"
            if "beside" in request.GET:
                self.beside.append(asyncio.create_task(self.query_at_the_end()))

        response = StreamingHttpResponse(parts())
        close = response.close
        response.close = lambda: (self.note(), close())  # type: ignore[method-assign]
        return response

    async def query_at_the_end(self) -> None:
        """Query after the last byte, but before the response is closed."""
        context = SyncToAsync.thread_sensitive_context.get()
        await until(lambda: SyncToAsync.context_to_thread_executor.get(context))
        await sync_to_async(self.note)()

    def note(self) -> None:
        self.threads.append(threading.current_thread())


async def nobody(request: HttpRequest) -> None:
    """Know no user, so the request gets a session."""


async def by_password(request: HttpRequest) -> Any:
    """Sign in by the token, which is a wrong password."""
    return await aauthenticate(request, username="ada", password="wrong")


urlpatterns = [
    *usual_patterns,
    path("checked/", Checked()),
    path("template/", Template()),
    path("closing/", Closing()),
    path("visitor/", DjangoAGUIView(registry, get_user=nobody, require_authenticated=False)),
    path("password/", DjangoAGUIView(registry, get_user=by_password)),
]


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    yield
    request_started.connect(reset_queries)
    request_started.connect(close_old_connections)


@pytest.fixture
def make(settings) -> Callable[[], tuple[Any, Any]]:
    """Make Django's own application, and one that keeps what it can on the loop."""
    settings.ROOT_URLCONF = __name__

    def make() -> tuple[Any, Any]:
        usual, kept = ASGIHandler(), ASGIHandler()
        keep_on_loop(kept)
        return usual, kept

    return make


@pytest.fixture
def chains(monkeypatch) -> list[str]:
    """Which requests did not use the usual chain."""
    paths: list[str] = []
    is_for_agent = token_requests._is_for_agent
    monkeypatch.setattr(token_requests, "_is_for_agent", lambda one: is_for_agent(one) and not paths.append(one.path))
    return paths


@pytest.fixture
async def token(user) -> str:
    return f"Bearer {(await sync_to_async(create_token)(user))[1]}"


REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "get": ("GET", "/agent/threads/", {}),
    "get without the last slash": ("GET", "/agent/threads", {}),
    "head": ("HEAD", "/agent/tools/", {}),
    "no JSON": ("POST", "/agent/", {"content_type": "application/json"}),
    "wrong token": ("GET", "/agent/threads/", {"authorization": "Bearer agt_wrong"}),
    "bad host": ("GET", "/agent/threads/", {"host": "evil.example"}),
    "https": ("GET", "/agent/threads/", {"scheme": "https"}),
    "unwanted browser": ("GET", "/agent/threads/", {"user_agent": "Unwanted/1.0"}),
    "origin": ("POST", "/agent/", {"origin": "https://evil.example"}),
    "template": ("GET", "/template/", {}),
    "language": ("GET", "/agent/threads/", {"accept_language": "ar-EG,de;q=0.5"}),
    "language, in a page": ("GET", "/template/", {"accept_language": "de"}),
}
USUAL: dict[str, tuple[str, str, dict[str, str]]] = {
    "no token": ("GET", "/agent/threads/", {"authorization": ""}),
    "cookies": ("GET", "/agent/threads/", {"cookie": "a=b"}),
    "unknown": ("GET", "/unknown", {}),
    "slash to append": ("GET", "/template", {}),
    "csrf": ("POST", "/checked/", {}),
}


@pytest.mark.parametrize("name", REQUESTS | USUAL)
async def test_answer_is_the_usual_one(settings, make, chains, token: str, name: str):
    settings.DISALLOWED_USER_AGENTS = [re.compile("Unwanted")]
    settings.SECURE_HSTS_SECONDS = 60
    await compare(make(), token, (REQUESTS | USUAL)[name])
    assert bool(chains) == (name in REQUESTS)


@pytest.mark.parametrize("name", ["get", "bad host"])
@pytest.mark.parametrize("setting", ["SECURE_SSL_REDIRECT", "PREPEND_WWW", "CSRF_USE_SESSIONS", "DEBUG"])
async def test_settings_have_their_usual_effect(settings, make, chains, token: str, name: str, setting: str):
    setattr(settings, setting, True)
    await compare(make(), token, REQUESTS[name])
    assert chains


async def compare(applications: tuple[Any, Any], token: str, request: tuple[str, str, dict[str, str]]) -> None:
    method, target, headers = request
    usual, kept = [
        await ask(application, method, target, **{"authorization": token, **headers}) for application in applications
    ]
    assert usual[:2] == kept[:2]
    assert b"DisallowedHost" in usual[2] or usual[2] == kept[2]  # Under DEBUG that page tells of the chain.


async def test_answer_of_a_run_has_the_usual_headers(make, chains, token: str):
    headers = {"authorization": token, "content_type": "application/json"}
    bodies = [json.dumps(run_input("hi", thread=thread)) for thread in ("t0", "t1")]
    with script(say("Hello"), say("Hello")):
        usual, kept = [
            await ask(application, "POST", "/agent/", body, **headers)
            for application, body in zip(make(), bodies, strict=True)
        ]
    assert usual[:2] == kept[:2]
    assert b"RUN_FINISHED" in kept[2]
    assert chains == ["/agent/"]


async def test_request_starts_no_thread(make, token: str, monkeypatch):
    usual, kept = make()
    started: list[threading.Thread] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread) or start(thread))
    counts = []
    for application in (usual, kept, close_on_loop(kept)):
        started.clear()
        await ask(application, "GET", "/agent/skills/", authorization=token)
        # The threads of the engine's pools stay.
        counts.append(sum(not thread.name.startswith("agui-") for thread in started))
    assert counts == [2, 2, 0]  # A thread that closes the response, and one that waits for its end.


async def test_response_is_closed_where_its_request_was_answered(make, token: str):
    application, here = close_on_loop(make()[1]), threading.current_thread()
    Closing.threads.clear()
    await ask(application, "GET", "/closing/", authorization=token)
    queried, closed = Closing.threads
    assert queried == closed != here
    Closing.threads.clear()
    await ask(application, "GET", "/closing/?without", authorization=token)
    assert Closing.threads == [here]
    # A task of the request may block at its end.
    Closing.threads.clear()
    await ask(application, "GET", "/closing/?without&beside", authorization=token)
    await Closing.beside.pop()
    assert len(Closing.threads) == 2
    assert here not in Closing.threads


async def test_receivers_of_the_project_may_block(make, token: str):
    application = close_on_loop(make()[1])
    found: list[int] = []

    def count_sessions(**kwargs: Any) -> None:
        found.append(Session.objects.count())
        connection.close()  # Django's own receivers have been called before.

    request_finished.connect(count_sessions)
    try:
        await ask(application, "GET", "/agent/skills/", authorization=token)
    finally:
        request_finished.disconnect(count_sessions)
    assert found == [0]


async def test_client_reads_the_start_of_a_run_before_the_agent_is_set_up(make, token: str, intercept):
    sent: list[Mapping[str, Any]] = []
    sent_before: list[str] = []
    intercept(Agent, "iter", before=lambda *_: sent_before.append(str(sent)))
    headers = {"authorization": token, "content_type": "application/json"}
    with script(say("Hello")):
        await ask(make()[1], "POST", "/agent/", json.dumps(run_input("hi")), hear=sent.append, **headers)
    assert "RUN_STARTED" in sent_before[0]


async def test_session_of_a_visitor_is_saved(make, chains, transactional_db):
    for application in make():
        status, headers, _ = await ask(application, "GET", "/visitor/", authorization="Bearer none")
        assert status == 405
        cookie = SimpleCookie(dict(headers)["Set-Cookie"])["sessionid"].value
        assert await Session.objects.filter(pk=cookie).aexists()
        assert "Cookie" in dict(headers)["Vary"]
    assert chains == ["/visitor/"]


async def test_lockout_is_answered(settings, make, chains, user):
    settings.AXES_FAILURE_LIMIT = 1
    answers = [await ask(application, "GET", "/password/", authorization="Bearer none") for application in make()]
    assert [status for status, _, _ in answers] == [429, 429]
    assert [name for name, _ in answers[0][1]] == [name for name, _ in answers[1][1]]
    assert chains == ["/password/"]


class Own(MiddlewareMixin):
    """A middleware of the project's own, which may wait."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response["X-Users"] = str(Session.objects.count())
        return response


async def test_unknown_middleware_is_run_and_the_projects_own_is_known(settings, make, chains, token: str, caplog):
    with caplog.at_level(logging.INFO, "agui.fast"):
        _, kept = make()
        assert not caplog.text
        assert kept._middleware_chain.__name__ == "choose"
        settings.MIDDLEWARE = [*project.MIDDLEWARE[:-1], f"{__name__}.Own", project.MIDDLEWARE[-1]]
        _, kept = make()
    assert f"{__name__}.Own" in caplog.text
    _, headers, _ = await ask(kept, "GET", "/agent/threads/", authorization=token)
    assert dict(headers)["X-Users"] == "0"
    assert not chains


@pytest.mark.parametrize("change", ["process_view", "process_exception", "process_template_response", "__call__"])
def test_library_that_has_changed_is_used_as_usual(make, monkeypatch, caplog, change: str):
    monkeypatch.setattr(XFrameOptionsMiddleware, change, lambda self, request, *args: None, raising=False)
    with caplog.at_level(logging.INFO, "agui.fast"):
        _, kept = make()
    assert "XFrameOptionsMiddleware" in caplog.text
    assert kept._middleware_chain.__name__ != "choose"


@pytest.mark.parametrize("error", [PermissionDenied, SuspiciousOperation, ValueError])
async def test_hook_that_fails_is_answered_as_usual(make, chains, token: str, monkeypatch, error):
    monkeypatch.setattr(XFrameOptionsMiddleware, "process_response", Mock(side_effect=error))
    await compare(make(), token, REQUESTS["get"])
    assert chains
