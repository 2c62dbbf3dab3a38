"""The engine beside the middleware of a project, and its own."""

import asyncio

from django.conf import settings as project
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient
from django.urls import get_resolver, path
from django.utils.deprecation import MiddlewareMixin

from agui.http.views import AgentView


async def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


urlpatterns = [path("", view)]


class Usual(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> None: ...

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        return response


async def test_more_middleware_changes_threads_no_more_often(settings, monkeypatch):
    settings.ROOT_URLCONF = __name__
    loop, changes = asyncio.get_running_loop(), []
    change = loop.run_in_executor
    monkeypatch.setattr(loop, "run_in_executor", lambda *args: changes.append(args) or change(*args))
    counts = set()
    for number in (1, 5):
        settings.MIDDLEWARE = [f"{__name__}.Usual"] * number + ["agui.server.middleware.in_one_thread"]
        changes.clear()
        assert (await AsyncClient().get("/")).content == b"hello"
        counts.add(len(changes))
    assert len(counts) == 1
    assert 0 not in counts


def test_the_projects_middleware_ends_with_it():
    assert project.MIDDLEWARE[-1] == "agui.server.middleware.in_one_thread"


def views(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from views(pattern.url_patterns)
        else:
            yield pattern.callback


def test_other_middleware_finds_a_name_on_each_view():
    """As on a function: bugsink counts requests by `view_func.__name__`."""
    names = {view.__name__ for view in views(get_resolver().url_patterns) if isinstance(view, AgentView)}
    assert {"DjangoAGUIView", "ThreadsView", "AttachmentView"} <= names
