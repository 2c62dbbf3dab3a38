"""A request changes threads as seldom as it can."""

import asyncio

from django.conf import settings as project
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient
from django.urls import path
from django.utils.deprecation import MiddlewareMixin


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
