"""Actions on a thread: follow its run, cancel its run, fork it."""

import re
from collections.abc import AsyncGenerator
from typing import Any, ClassVar, Self
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext_lazy as _
from pydantic_ai.conversation_store import ConversationConflict

from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.errors import BadRequest, Conflict, NotFound, Unavailable
from agui.events.frames import encode, run_error
from agui.http.bodies import read_object
from agui.http.sse import sse_response
from agui.http.threads import OwnThread, ThreadView, find_address
from agui.http.views import AgentView, DjangoAGUIView
from agui.models import Run
from agui.protocol.run_input import check_thread_id
from agui.runs.live import Follower, live

LAST_EVENT_ID = re.compile("([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9]{1,9})")
OUT_OF_REACH = _("The run is in a process that can't be reached now.")


class ThreadAction(AgentView):
    """An action on a thread, at a path below the thread's own."""

    action: ClassVar[str]

    def __init__(self, thread: ThreadView, **access: Any) -> None:
        super().__init__(**access)
        self.thread = thread

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(ThreadView.mounted(view), **view.access)

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        thread_id = kwargs["thread_id"]
        _, action = find_address(request, thread_id, self.action)
        if not action:
            # The id of the thread itself ends with the name of the action.
            return await self.thread(request, thread_id=f"{thread_id}/{self.action}")
        return await super().__call__(request, **kwargs)


class ThreadEventsView(ThreadAction):
    """The active or last run of a thread, from the event after Last-Event-ID."""

    action = "events"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        thread = OwnThread.open(request, actor, kwargs["thread_id"])
        key, number = read_last_event_id(request)
        log = await live.logs.find(thread.scope, thread.id)
        if log is not None and key == log.key:
            return sse_response(Follower(actor.scope).read(log, number))
        # The reader's run has no log here: its process may have died before another knew the run.
        status = await find_status(thread, key) if key else None
        if status == Run.Status.RUNNING:
            raise Unavailable(OUT_OF_REACH, headers={"Retry-After": "1"})
        if status == Run.Status.INTERRUPTED:
            return sse_response(interruption(key, number + 1))
        if log is None:
            return await nothing_runs(thread)
        # The reader's number belongs to another run: this one is read from its beginning.
        return sse_response(Follower(actor.scope).read(log))


def read_last_event_id(request: HttpRequest) -> tuple[str, int]:
    """Read the key of a run and the number of its last event that the client has, or `("", 0)`."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id", "")
    match = LAST_EVENT_ID.fullmatch(text)
    if match is None:
        return "", 0
    return match[1], int(match[2])


async def find_status(thread: OwnThread, key: str) -> str | None:
    """Read the status of a run; None if the thread has no such run.

    Recovers what dead processes left first, so a run of theirs is interrupted by then.
    """
    await thread.recover()
    statuses = thread.runs().filter(pk=key).values_list("status", flat=True)
    return await in_database(statuses.first)


async def interruption(key: str, number: int) -> AsyncGenerator[bytes]:
    """Yield the end of a run whose process died, for a reader of the events before `number`."""
    yield encode(key, number, run_error("interrupted", key))


class ThreadCancelView(ThreadAction):
    """Stop the active run of a thread; if the body has a `run_id`, only that run."""

    methods = frozenset({"POST"})
    action = "cancel"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread = OwnThread.open(request, actor, kwargs["thread_id"])
        key: str | None = ""  # An empty key stands for any run.
        run_id = read_run_id(request)
        if run_id is not None:
            key = await in_database(find_running, thread, run_id)
        if key is None:
            return await nothing_runs(thread)
        if await live.logs.stop(thread.scope, thread.id, key):
            return HttpResponse(status=202)
        if await thread.recover():
            raise Unavailable(OUT_OF_REACH, headers={"Retry-After": "1"})
        return await nothing_runs(thread)


def read_run_id(request: HttpRequest) -> str | None:
    """Read the run that a client wants to stop; None for any run. Raises BadRequest."""
    if request.content_type != "application/json":
        return None
    run_id = read_object(request).get("run_id")
    if not isinstance(run_id, str | None):
        raise BadRequest("run_id is a text, if it is sent.")
    return run_id


def find_running(thread: OwnThread, run_id: str) -> str | None:
    """Find the key of the active run that a client knows by this id."""
    run = thread.runs().filter(run_id=run_id, status=Run.Status.RUNNING).last()
    return str(run.pk) if run else None


async def nothing_runs(thread: OwnThread) -> HttpResponse:
    """Answer 204: the thread has no run. Raises NotFound if there is no such thread."""
    await thread.find()
    return HttpResponse(status=204)


class ThreadForkView(ThreadAction):
    """Start a new thread with the history of this one, up to a message."""

    methods = frozenset({"POST"})
    action = "fork"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread = OwnThread.open(request, actor, kwargs["thread_id"])
        body = read_object(request)
        message_id = body.get("message_id")
        new_id = body.get("thread_id")
        if not isinstance(message_id, str | None) or not isinstance(new_id, str | None):
            raise BadRequest("message_id and thread_id are texts, if they are sent.")
        if new_id is None:
            new_id = str(uuid4())
        check_thread_id(new_id)
        # This recovers what a dead process left, so the fork has it, too.
        await thread.is_running()
        try:
            was_forked = await thread.store.fork_at(
                thread.id, message_id=message_id, new_conversation_id=new_id, scope=thread.scope
            )
        except ConversationConflict:
            raise Conflict("There is a thread with this id.") from None
        if not was_forked:
            raise NotFound(_("There is no such thread, or no such message in it."))
        row = await thread.store.summary(new_id, scope=thread.scope)
        if row is None:
            raise NotFound(_("The fork was deleted."))
        return JsonResponse(row, status=201)
