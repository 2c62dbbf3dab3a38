"""Nobody sees or changes what is somebody else's: over every route and every verb, as get_urls() has them.

A new route is tried by itself. One with a parameter, or with a body to send, fails here until this file says how
to ask for it: what is tried on others' things has to be what works on one's own. Among them are things of
agui.contrib.dashboard, agui.contrib.mcp and agui.contrib.notifications.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from daily import at_night, by_day
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient
from django.urls import URLPattern, URLResolver

from agui import get_urls
from agui.testing import call, collect, event_types, say, wait
from tests import urls
from tests.conftest import Client, all_models, body_of, decision, run_input, script

MODELS = {model.__name__: model for model in all_models()}
Thread = all_models()[0]

VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
SECRET = "hunter2"
NOBODYS = "6f8a1f0e-0000-4000-8000-000000000000"
QUEUED = "q1"
FILE = "<a file>"
RECORDING = "<a recording>"
# What changes by itself while a run is on, or when a token is used.
RESTLESS = {"last_used_at", "seen_at", "draft", "usage"}


@dataclass
class World:
    """What somebody has."""

    threads: list[str]
    """Ids: of one at rest, one that waits for an answer, one with a run on."""
    attachments: list[str]
    branch: str
    answer: str
    approvals: list[str]
    """Ids of calls that wait for approval."""
    shown: str
    """What a decision about one of them holds for."""


class Form(dict[str, str]):
    """A body that a page of ours sends."""


NOWHERE = World([NOBODYS], [NOBODYS], NOBODYS, NOBODYS, [NOBODYS], "")
# What stands for the parameters of routes.
PARAMETERS: dict[str, Callable[[World], list[str]]] = {
    "<path:thread_id>": lambda world: world.threads,
    "<uuid:attachment_id>": lambda world: world.attachments,
    "<uuid:approval_id>": lambda world: world.approvals,
    "<slug:server>": lambda world: ["shop"],
}
# What there is to send.
BODIES: dict[tuple[str, str], Callable[[World], list[Any]]] = {
    ("agent/", "POST"): lambda world: [
        [run_input("Mine", thread=thread) for thread in world.threads],
        [run_input(thread=thread, resume=[decision("w1")]) for thread in world.threads],
    ],
    ("agent/threads/<path:thread_id>/", "PATCH"): lambda world: [
        {"title": "Mine"},
        {"branch": world.branch},
        {"pinned": True},
        {"archived": True},
    ],
    ("agent/threads/<path:thread_id>/feedback/", "PUT"): lambda world: [{"message_id": world.answer, "value": 1}],
    ("agent/threads/<path:thread_id>/messages/", "POST"): lambda world: [{}],
    ("agent/threads/<path:thread_id>/messages/", "PATCH"): lambda world: [{"message_id": QUEUED, "position": 0}],
    ("agent/threads/<path:thread_id>/messages/", "DELETE"): lambda world: [{"message_id": QUEUED}],
    ("agent/notifications/", "PATCH"): lambda world: [{"mail": True}],
    ("agent/attachments/", "POST"): lambda world: [FILE],
    ("agent/transcribe/", "POST"): lambda world: [RECORDING],
    ("agent/mcp/", "POST"): lambda world: [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}],
    ("agent/mcp/approvals/<uuid:approval_id>/", "POST"): lambda world: [Form(do="deny", shown=world.shown)],
    ("agent/mcp/accounts/", "POST"): lambda world: [Form(do="disconnect", server="shop")],
}


def walk(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern), pattern


# What this project says about itself to servers that take its address as a client id.
PUBLIC = "agent/mcp/accounts/client.json"
HAS_MCP = find_spec("fastmcp") is not None
# With and without the last slash.
ROUTES = dict(walk(get_urls(urls.view)))
if not HAS_MCP:
    ROUTES = {route: pattern for route, pattern in ROUTES.items() if not route.startswith("agent/mcp")}


def methods_of(route: str) -> frozenset[str]:
    view: Any = ROUTES[route].callback
    methods: frozenset[str] = view.methods
    return methods


@dataclass(frozen=True)
class Request:
    """One request to a route."""

    verb: str
    path: str
    body: Any = None

    async def send(self, client: Client, **headers: str) -> Any:
        path, http = self.path.replace("agent", client.prefix.strip("/"), 1), client.http
        if client.user and ("/approvals" in path or "/accounts" in path):
            # These pages take no tokens.
            http = AsyncClient()
            await http.aforce_login(client.user)
        if self.body in (FILE, RECORDING):
            content = b"text" if self.body is FILE else b"OggS"
            return await http.post(f"/{path}", {"file": SimpleUploadedFile("b.txt", content)}, headers=headers)
        if isinstance(self.body, Form):
            return await http.post(f"/{path}", self.body, headers=headers)
        if self.verb == "DELETE" and self.body:
            return await http.delete(f"/{path}?{urlencode(self.body)}", headers=headers)
        data = "" if self.body is None else json.dumps(self.body)
        headers = {"Accept": "application/json, text/event-stream", **headers}
        return await http.generic(self.verb, f"/{path}", data, content_type="application/json", headers=headers)


def requests(route: str, verb: str, world: World) -> list[list[Request]]:
    """All ways to ask for a route with what a world has; of each, one has to work for whom the world belongs to."""
    paths = [route]
    for parameter, values in PARAMETERS.items():
        paths = [path.replace(parameter, value, 1) for path in paths for value in values(world)]
    found = []
    for body in BODIES.get((route.rstrip("/") + "/", verb), lambda _: [None])(world):
        bodies = body if isinstance(body, list) else [body]
        found.append([Request(verb, path, one) for path in dict.fromkeys(paths) for one in bodies])
    return found


def all_requests(world: World) -> Iterator[tuple[str, Request, Request]]:
    """Each route, request, and the same request for what nobody has."""
    for route in ROUTES:
        for verb in VERBS:
            for way, nowhere in zip(requests(route, verb, world), requests(route, verb, NOWHERE), strict=True):
                yield from ((route, request, nowhere[0]) for request in way)


def is_run(route: str, verb: str) -> bool:
    """Whether a request begins a run: with an id that somebody else uses, it is one's own conversation all the same."""
    return route.rstrip("/") == "agent" and verb == "POST"


@asynccontextmanager
async def world_of(client: Client) -> AsyncIterator[World]:
    """Give somebody threads, a file, and a run that is on until the block ends; no other one comes in between."""
    hold, reached = asyncio.Event(), asyncio.Event()
    upload = await client.upload(b"x", f"{SECRET}.txt")
    answers = [say(SECRET), say(SECRET), call("wipe", _id="w1"), [say(f"Wait, {SECRET}"), wait(hold, reached)]]
    with script(*answers, *[say("more")] * 99):
        for text in (SECRET, f"{SECRET} edited"):
            await client.run(thread="at rest", messages=[{"id": "u1", "role": "user", "content": text}])
        await client.run(SECRET, thread="waiting")
        message = {"id": QUEUED, "role": "user", "content": SECRET}
        path = f"{client.prefix}threads/waiting/messages/"
        await client.http.post(path, {"message": message}, content_type="application/json")
        webhook = {"webhook": "https://hooks.invalid/theirs"}
        await client.http.patch(f"{client.prefix}notifications/", webhook, content_type="application/json")
        response = await client.post(run_input(SECRET, thread="busy"))
        await reached.wait()
        approval, shown = await waiting_call(client)
        thread = await client.thread("at%20rest")
        branch, answer = thread["branches"]["u1"][0]["id"], thread["messages"][-1]["id"]
        try:
            files = [json.loads(upload.content)["id"]]
            yield World(["at rest", "waiting", "busy"], files, branch, answer, [approval], shown)
        finally:
            hold.set()
        assert event_types(await collect(response))[-1] in ("RUN_FINISHED", "RUN_ERROR")


async def waiting_call(client: Client) -> tuple[str, str]:
    """The id of a call that waits for the approval of a user, and what the page shows of it."""
    if not HAS_MCP or client.user is None:
        return NOBODYS, ""
    called = {"name": "wipe", "arguments": {"what": SECRET}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
    response = await Request("POST", "agent/mcp/", body).send(client)
    await MODELS["RemoteAccount"].objects.aget_or_create(user=client.user, server="shop", is_over=True)
    approval = json.loads(response.content)["result"]["structuredContent"]["approval"]["id"]
    page = await Request("GET", f"agent/mcp/approvals/{approval}/").send(client)
    return approval, page.content.decode().partition('name="shown" value="')[2][:16]


@sync_to_async
def all_rows() -> dict[str, list[Any]]:
    """All that the engine keeps."""
    kept = {}
    for model in MODELS.values():
        if model.__name__ == "RunSpan":
            continue  # The run is nobody's, and counted beside those of the users.
        names = [field.name for field in model._meta.concrete_fields if field.name not in RESTLESS]
        kept[model.__name__] = sorted(model._default_manager.values_list(*names), key=repr)
    return kept


async def status(client: Client, request: Request, **headers: str) -> int:
    response = await request.send(client, **headers)
    response.close()
    return int(response.status_code)


async def read(response: Any) -> bytes:
    if response.streaming and response.is_async:  # Not after a HEAD
        return await body_of(response)
    return b"" if response.streaming else bytes(response.content)


async def all_rows_of_others(attacker: Client) -> Any:
    """All rows, without what is the attacker's at each agent: how they are told, and accounts at other services."""
    found = await all_rows()
    for name in ("NotificationChoice", "RemoteAccount"):
        own = {repr(row[0]) async for row in MODELS[name].objects.filter(user=attacker.user).values_list()}
        found[name] = [row for row in found[name] if repr(row[0]) not in own]
    return found


async def attack(attacker: Client, world: World, refuse_cookies: bool = False) -> None:
    """Ask for all that a world has, as somebody else."""
    before = await all_rows_of_others(attacker)
    for route, of_route in groupby(all_requests(world), itemgetter(0)):
        for _, request, nowhere in of_route:
            if is_run(route, request.verb):
                continue
            if refuse_cookies:
                attacker.http.cookies.clear()
            response = await request.send(attacker)
            told = await read(response)
            secrets = (SECRET, *world.threads, *world.attachments, *world.approvals)
            assert not [one for one in secrets if one in told.decode()], request
            if "<" in route:
                # Only who has an account can have calls that wait, and accounts elsewhere.
                is_page = "approval" in route or "account" in route
                codes = (401, 404, 405) if is_page and attacker.user is None else (404, 405)
                assert response.status_code in codes, request
                other = await nowhere.send(attacker)
                assert (response.status_code, told) == (other.status_code, await read(other)), request
        after = await all_rows_of_others(attacker)
        if "<" in route:
            assert after == before, route
        assert nothing_is_gone(before, after), route
        before = after


def nothing_is_gone(before: Any, after: Any) -> bool:
    return all(set(map(repr, before[name])) <= set(map(repr, after[name])) for name in before)


async def use_the_ids(attacker: Client, world: World) -> None:
    """Begin runs under the ids of a world's threads: nobody can tell from the answers that others have them."""
    for request in (one for route, one, _ in all_requests(world) if is_run(route, one.verb)):
        before = await all_rows()
        del before["Spending"]  # The attacker's own grows
        nowhere = Request(request.verb, request.path, {**request.body, "threadId": str(uuid4())})
        answers = [await one.send(attacker) for one in (request, nowhere)]
        assert [one.status_code for one in answers] == [200, 200], request
        found, expected = [await collect(one) for one in answers]
        assert event_types(found) == event_types(expected), request
        assert [one.get("code") for one in found] == [one.get("code") for one in expected], request
        assert SECRET not in json.dumps(found)
        assert nothing_is_gone(before, await all_rows()), request
        if found[-1]["type"] == "RUN_FINISHED":
            path = f"{attacker.prefix}threads/{quote(request.body['threadId'])}/"
            own = json.loads((await attacker.http.get(path)).content)
            assert [one["content"] for one in own["messages"]] == ["Mine", "more"]
            assert (await attacker.http.delete(path)).status_code == 204
            assert nothing_is_gone(before, await all_rows()), request


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path
    voice = {"BACKEND": "tests.test_voice.Parrot"}
    # No name ends like this.
    notifications = {"MAIL": "opt_in", "WEBHOOK_HOSTS": ["hooks.invalid"]}
    parts = {"VOICE": voice, "MCP": {"ENDPOINT": HAS_MCP}, "NOTIFICATIONS": notifications}
    if HAS_MCP:
        # Nobody asks this server: its only account has no tokens.
        servers = settings.MEDIA_ROOT / "mcp.json"
        servers.write_text(json.dumps({"mcpServers": {"shop": {"url": "https://shop.invalid/mcp", "auth": "oauth"}}}))
        parts["MCP"]["CONFIG"] = servers
    settings.AGUI = {**settings.AGUI, **parts}


@pytest.fixture
def visitor(transactional_db: None) -> Client:
    return Client(None, "/open/")


def test_every_route_is_tried():
    assert {"agent", "agent/", "agent/threads/<path:thread_id>/fork", "agent/export/"} <= ROUTES.keys()
    for route, request, _ in all_requests(NOWHERE):
        assert "<" not in request.path, f"{route} has a parameter: say in PARAMETERS what stands for it."


async def test_wrong_methods_are_405_for_those_who_may_enter(client: Client):
    for path in {request.path for _, request, _ in all_requests(NOWHERE)}:
        response = await client.http.generic("TRACE", f"/{path}", b"{}", content_type="application/json")
        assert response.status_code == 405, path
        assert response["Allow"], path


# Routes of another server are tried in test_mcp_accounts.py and test_mcp_apps.py.
TRIED = [route for route in ROUTES if route.endswith("/") and not re.search("<slug:server>|mcp/apps", route)]


@pytest.mark.parametrize("route", by_day(TRIED))
async def test_what_is_tried_on_others_works_on_ones_own(client: Client, route: str):
    works = set()
    for verb in sorted(methods_of(route), key=VERBS.index):
        async with world_of(client) as world:
            for way in requests(route, verb, world):
                statuses = {await status(client, request) for request in way}
                if statuses != {405}:
                    works.add(verb)
                    assert min(statuses) < 400, f"{verb} {route} answers {statuses}: say in BODIES what to send."
        for pk in [pk async for pk in Thread.objects.values_list("thread_id", flat=True)]:
            await client.http.delete(f"/agent/threads/{pk}/")
    assert works


async def test_what_is_anothers_does_not_exist(client: Client, other_client: Client, other: Any):
    other.is_superuser = other.is_staff = True
    await other.asave()
    async with world_of(client) as world:
        await attack(other_client, world)


async def test_an_id_that_is_anothers_is_an_unknown_id_to_begin_with(client: Client, other_client: Client):
    async with world_of(client) as world:
        await use_the_ids(other_client, world)


@pytest.mark.nightly
async def test_an_id_that_is_a_visitors_is_an_unknown_id_to_begin_with(visitor: Client):
    async with world_of(visitor) as world:
        await use_the_ids(Client(None, "/open/"), world)


@pytest.mark.parametrize("refuse_cookies", [False, *at_night(True)])
async def test_a_visitors_things_do_not_exist_for_another_one(visitor: Client, refuse_cookies: bool):
    async with world_of(visitor) as world:
        await attack(Client(None, "/open/"), world, refuse_cookies)


async def test_nobody_gets_in_without_a_name(client: Client):
    async with world_of(client) as world:
        before = await all_rows()
        for route, request, _ in all_requests(world):
            if route.rstrip("/") == PUBLIC:
                continue
            response = await request.send(Client(None))
            assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer"), request
        assert await all_rows() == before


async def test_another_sites_page_gets_nothing_done_with_a_users_cookies(client: Client, user: Any):
    browser = Client(None, http=AsyncClient(enforce_csrf_checks=True))
    await browser.http.aforce_login(user)
    async with world_of(client) as world:
        before = await all_rows()
        unsafe = [(route, one) for route, one, _ in all_requests(world) if one.verb not in ("GET", "HEAD", "OPTIONS")]
        for route, request in unsafe:
            if request.verb in methods_of(route):
                assert await status(browser, request) == 403, request
                assert await status(browser, request, **{"X-CSRFToken": "x" * 32}) == 403, request
        assert await all_rows() == before
        browser.http.cookies["csrftoken"] = "x" * 32
        for _, request in unsafe:
            assert await status(browser, request, **{"X-CSRFToken": "x" * 32}) != 403, request


async def test_a_visitor_has_a_session_before_the_stream_starts(visitor: Client):
    for number in range(2):
        visitor.http.cookies.clear()
        with script(say("Hi")):
            response = await visitor.post(run_input("Hi", thread=f"t{number}"))
            key = response.cookies["sessionid"].value
            assert await Session.objects.filter(pk=key).aexists()
            await collect(response)
        assert (await Thread.objects.aget(thread_id=f"t{number}")).scope == f"session:{key}"
        [listed] = json.loads((await visitor.get("threads/")).content)["threads"]
        assert listed["thread_id"] == f"t{number}"
    assert await Session.objects.acount() == 2
