"""The threads of a user: list, read, change, fork, delete; follow and cancel their runs."""

import re
from collections.abc import AsyncGenerator
from typing import Any, ClassVar, Self
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from pydantic_ai.conversation_store import ConversationConflict, ConversationRecord

from agui import parts
from agui.actor import Actor
from agui.blocking.executor import in_database, run_in_thread
from agui.errors import BadRequest, Conflict, NotFound, Unavailable
from agui.events.failures import read_failures
from agui.events.frames import encode, run_error
from agui.http.bodies import read_object
from agui.http.sse import sse_response
from agui.http.views import AgentView, DjangoAGUIView
from agui.models import Run
from agui.protocol.interrupts import frontend_calls, open_interrupts
from agui.protocol.outbound import to_wire, wire_messages
from agui.protocol.run_input import check_thread_id
from agui.runs.live import Follower, live
from agui.runs.recovery import is_on, recover
from agui.stores.annotations import annotation
from agui.stores.base import ThreadStore, open_store

PAGE_SIZE = 30
MAX_PAGE_SIZE = 100
MAX_QUERY_CHARS = 200
MAX_TITLE_CHARS = 255
LAST_EVENT_ID = re.compile("([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9]{1,9})")
OUT_OF_REACH = "The run is in a process that can't be reached now."


class ThreadsView(AgentView):
    """The actor's threads, newest first: `?q=` searches, `?limit=` is how many, `?cursor=` goes on."""

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        q, limit = request.GET.get("q", ""), request.GET.get("limit", str(PAGE_SIZE))
        if len(q) > MAX_QUERY_CHARS:
            raise BadRequest(f"Search for at most {MAX_QUERY_CHARS} characters.")
        if not re.fullmatch("[0-9]{1,3}", limit) or not 0 < int(limit) <= MAX_PAGE_SIZE:
            raise BadRequest(f"The limit is a number from 1 to {MAX_PAGE_SIZE}.")
        rows, following = await open_store(request, actor.scope).summaries(
            actor.scope, q=q, cursor=request.GET.get("cursor"), limit=int(limit)
        )
        running = await in_database(
            running_threads, actor.scope, [row["thread_id"] for row in rows]
        )
        threads = [{**row, "running": row["thread_id"] in running} for row in rows]
        return JsonResponse({"threads": threads, "next": following})


def find_address(request: HttpRequest, thread_id: str, action: str = "") -> tuple[str, str]:
    """Tell which thread a path names, and what of it, by the path as it was sent: a slash of an id
    is %2F there.

    A server or a proxy that does not pass it on leaves what Django has found, which takes every
    slash for one of ours.
    """
    path = getattr(request, "scope", {}).get("raw_path", b"").decode("ascii", "replace")
    if not path or (action and path.removesuffix("/").endswith(f"/{action}")):
        return thread_id, action
    whole = f"{thread_id}/{action}" if action else thread_id
    route = request.resolver_match.route if request.resolver_match else ""
    return whole + ("/" if route.endswith("/") and not path.endswith("/") else ""), ""


class ThreadView(AgentView):
    """One thread."""

    methods = frozenset({"GET", "PATCH", "DELETE"})

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        thread_id, _ = find_address(request, **kwargs)
        return await super().__call__(request, thread_id=thread_id)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread_id: str = kwargs["thread_id"]
        check_thread_id(thread_id)
        store = open_store(request, actor.scope)
        if request.method == "PATCH":
            return await self.change(request, store, actor, thread_id)
        if request.method == "DELETE":
            return await self.delete(store, actor, thread_id)
        return await self.read(store, actor, thread_id)

    async def read(self, store: ThreadStore, actor: Actor, thread_id: str) -> HttpResponse:
        # First: a run that ends in between then shows as running, and following it brings the rest.
        running = await is_running(store, actor, thread_id)
        summary = await store.summary(thread_id, scope=actor.scope)
        conversation = await store.load(thread_id, scope=actor.scope)
        if summary is None or conversation is None:
            raise NotFound("There is no such thread.")
        states = (annotation(message, "state") for message in reversed(conversation.messages))
        return JsonResponse(
            {
                **summary,
                **await in_database(read_details, thread_id, actor.scope),
                "messages": await run_in_thread(
                    wire_messages, conversation.messages, pool="reading"
                ),
                "branches": await store.branches(thread_id, scope=actor.scope),
                "state": next((state for state in states if state is not None), {}),
                "pending": [
                    to_wire(one.interrupt)
                    for one in open_interrupts(conversation.deferred_tool_requests)
                ],
                "pending_calls": list(frontend_calls(conversation.deferred_tool_requests)),
                "running": running,
            },
        )

    async def change(
        self, request: HttpRequest, store: ThreadStore, actor: Actor, thread_id: str
    ) -> HttpResponse:
        sent = read_object(request)
        match [(key, sent[key]) for key in ("title", "branch", "unread") if key in sent]:
            case [("branch", str(branch))]:
                return await self.switch(store, actor, thread_id, branch)
            case [("title", str(title))] if 0 < len(title.strip()) <= MAX_TITLE_CHARS:
                row = await store.rename(thread_id, title.strip(), scope=actor.scope)
            case [("unread", bool(unread))]:
                row = await store.mark(thread_id, unread=unread, scope=actor.scope)
            case _:
                raise BadRequest(
                    f"Send a title of 1 to {MAX_TITLE_CHARS} characters, a branch, or whether it is unread."
                )
        if row is None:
            raise NotFound("There is no such thread.")
        return JsonResponse(row)

    async def switch(
        self, store: ThreadStore, actor: Actor, thread_id: str, branch: str
    ) -> HttpResponse:
        record = await find_thread(store, actor, thread_id)
        if await is_running(store, actor, thread_id):
            raise Conflict
        try:
            # Should a run have begun in between, the revision is another.
            if not await store.switch(
                thread_id, branch, expected_revision=record.revision, scope=actor.scope
            ):
                raise NotFound("There is no such thread, or no such branch of it.")
        except ConversationConflict:
            raise Conflict("The conversation was changed meanwhile. Reload it.") from None
        return await self.read(store, actor, thread_id)

    async def delete(self, store: ThreadStore, actor: Actor, thread_id: str) -> HttpResponse:
        await find_thread(store, actor, thread_id)
        await live.logs.forget(actor.scope, thread_id)
        await store.delete(thread_id, scope=actor.scope)
        return HttpResponse(status=204)


class ThreadAction(AgentView):
    """What is done with a thread, at a path below its own."""

    action: ClassVar[str]

    def __init__(self, thread: ThreadView, **access: Any) -> None:
        super().__init__(**access)
        self.thread = thread

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(
            ThreadView.mounted(view),
            get_user=view.get_user,
            require_authenticated=view.require_authenticated,
        )

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        _, action = find_address(request, kwargs["thread_id"], self.action)
        if not action:
            # The thread's own id ends like this.
            return await self.thread(request, thread_id=f"{kwargs['thread_id']}/{self.action}")
        return await super().__call__(request, **kwargs)


class ThreadEventsView(ThreadAction):
    """The active or last run of a thread, from the event after Last-Event-ID."""

    action = "events"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        thread_id: str = kwargs["thread_id"]
        check_thread_id(thread_id)
        last = LAST_EVENT_ID.fullmatch(
            request.headers.get("Last-Event-ID") or request.GET.get("last_event_id", "")
        )
        key, number = (last[1], int(last[2])) if last else ("", 0)
        log = await live.logs.find(actor.scope, thread_id)
        if log is not None and key == log.key:
            return sse_response(Follower(actor.scope).read(log, number))
        # Of the reader's own run there is no log: its process may have died before any other heard
        # of it.
        status = (
            await find_status(open_store(request, actor.scope), actor, thread_id, key)
            if key
            else None
        )
        if status == Run.Status.RUNNING:
            raise Unavailable(OUT_OF_REACH, headers={"Retry-After": "1"})
        if status == Run.Status.INTERRUPTED:
            return sse_response(interruption(key, number + 1))
        # The number of an event of another run says nothing about this one: it starts at the
        # beginning.
        return (
            sse_response(Follower(actor.scope).read(log))
            if log
            else await nothing_runs(request, actor, thread_id)
        )


async def find_status(store: ThreadStore, actor: Actor, thread_id: str, key: str) -> str | None:
    """How a run of the thread is or was, after what dead processes left is taken up; None if there is no such run."""
    await recover(store, actor.scope, thread_id)
    found = Run.objects.filter(pk=key, scope=actor.scope, thread_id=thread_id).values_list(
        "status", flat=True
    )
    return await in_database(found.first)


async def interruption(key: str, number: int) -> AsyncGenerator[bytes]:
    """The end of a run whose process died, for who has read the events before this number."""
    yield encode(key, number, run_error("interrupted", key))


class ThreadCancelView(ThreadAction):
    """Stop the active run of a thread, or only the one that the body names with `run_id`."""

    methods = frozenset({"POST"})
    action = "cancel"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread_id = kwargs["thread_id"]
        check_thread_id(thread_id)
        is_json = request.content_type == "application/json"
        run_id = read_object(request).get("run_id") if is_json else None
        if not isinstance(run_id, str | None):
            raise BadRequest("run_id is a text, if it is sent.")
        key = (
            ""
            if run_id is None
            else await in_database(find_running, actor.scope, thread_id, run_id)
        )
        if key is None:
            return await nothing_runs(request, actor, thread_id)
        if await live.logs.stop(actor.scope, thread_id, key):
            return HttpResponse(status=202)
        if await recover(open_store(request, actor.scope), actor.scope, thread_id):
            raise Unavailable(OUT_OF_REACH, headers={"Retry-After": "1"})
        return await nothing_runs(request, actor, thread_id)


class ThreadForkView(ThreadAction):
    """Start a new thread with the history of this one, up to a message."""

    methods = frozenset({"POST"})
    action = "fork"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        check_thread_id(kwargs["thread_id"])
        wanted = {"message_id": None, "thread_id": None, **read_object(request)}
        message_id, new_id = wanted["message_id"], wanted["thread_id"]
        if not isinstance(message_id, str | None) or not isinstance(new_id, str | None):
            raise BadRequest("message_id and thread_id are texts, if they are sent.")
        new_id = str(uuid4()) if new_id is None else new_id
        check_thread_id(new_id)
        store = open_store(request, actor.scope)
        await is_running(store, actor, kwargs["thread_id"])  # Takes up what a dead process left
        try:
            forked = await store.fork_at(
                kwargs["thread_id"],
                message_id=message_id,
                new_conversation_id=new_id,
                scope=actor.scope,
            )
        except ConversationConflict:
            raise Conflict("There is a thread with this id.") from None
        if not forked:
            raise NotFound("There is no such thread, or no such message in it.")
        row = await store.summary(new_id, scope=actor.scope)
        if row is None:
            raise NotFound("The fork was deleted.")
        return JsonResponse(row, status=201)


def read_details(thread_id: str, scope: str) -> dict[str, Any]:
    """Read what is told of a thread beside its messages."""
    details: dict[str, Any] = {"failures": read_failures(thread_id, scope)}
    for part in parts.installed():
        details |= part.thread_details(thread_id, scope)
    return details


async def is_running(store: ThreadStore, actor: Actor, thread_id: str) -> bool:
    """Whether a run is on, in any process. What dead ones left is taken up before."""
    return await live.logs.is_active(actor.scope, thread_id) or await recover(
        store, actor.scope, thread_id
    )


def running_threads(scope: str, thread_ids: list[str]) -> set[str]:
    """Which of these threads have a run on."""
    runs_on = Run.objects.filter(scope=scope, thread_id__in=thread_ids, status=Run.Status.RUNNING)
    return {run.thread_id for run in runs_on.defer("draft") if is_on(run)}


def find_running(scope: str, thread_id: str, run_id: str) -> str | None:
    """Find the key of the active run that a client knows by this id."""
    running = Run.objects.filter(
        scope=scope, thread_id=thread_id, status=Run.Status.RUNNING, run_id=run_id
    )
    run = running.last()
    return str(run.pk) if run else None


async def nothing_runs(request: HttpRequest, actor: Actor, thread_id: str) -> HttpResponse:
    """Answer 204 for a thread of the actor's without a run. Raises NotFound for any other."""
    await find_thread(open_store(request, actor.scope), actor, thread_id)
    return HttpResponse(status=204)


async def find_thread(store: ThreadStore, actor: Actor, thread_id: str) -> ConversationRecord:
    """Read the record of one of the actor's threads. Raises NotFound."""
    record = await store.find(thread_id, actor.scope)
    if record is None:
        raise NotFound("There is no such thread.")
    return record
