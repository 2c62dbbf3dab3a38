"""The threads of a user: list, read, rename, delete; follow and cancel their runs."""

import asyncio
import json
import re
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from pydantic_ai.conversation_store import ConversationConflict, ConversationRecord

from agui import runs
from agui.auth import Actor
from agui.errors import BadRequest, Conflict, NotFound
from agui.interrupts import open_interrupts
from agui.models import Run
from agui.protocol import annotation, to_wire, wire_messages
from agui.stores import ThreadStore, open_store
from agui.stream import sse_response
from agui.views import AgentView

PAGE_SIZE = 30
MAX_TITLE_CHARS = 255


class ThreadsView(AgentView):
    """The actor's threads, newest first: `?q=` searches, `?cursor=` goes on."""

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        rows, following = await open_store(request).summaries(
            actor.scope, q=request.GET.get("q", ""), cursor=request.GET.get("cursor"), limit=PAGE_SIZE
        )
        return JsonResponse({"threads": rows, "next": following})


class ThreadView(AgentView):
    """One thread."""

    methods = frozenset({"GET", "PATCH", "DELETE"})

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread_id: str = kwargs["thread_id"]
        if request.method == "PATCH":
            return await self.rename(request, actor, thread_id)
        if request.method == "DELETE":
            return await self.delete(request, actor, thread_id)
        return await self.read(request, actor, thread_id)

    async def read(self, request: HttpRequest, actor: Actor, thread_id: str) -> HttpResponse:
        # First: a run that ends in between then shows as running, and following it brings the rest.
        running = runs.logs.active(actor.scope, thread_id) is not None
        store = open_store(request)
        summary = await store.summary(thread_id, scope=actor.scope)
        conversation = await store.load(thread_id, scope=actor.scope)
        if summary is None or conversation is None:
            raise NotFound("There is no such thread.")
        states = (annotation(message, "state") for message in reversed(conversation.messages))
        return JsonResponse(
            {
                **summary,
                "messages": await asyncio.to_thread(wire_messages, conversation.messages),
                "state": next((state for state in states if state is not None), {}),
                "pending": [to_wire(one.interrupt) for one in open_interrupts(conversation.deferred_tool_requests)],
                "running": running,
            },
            headers={"Cache-Control": "no-store"},
        )

    async def rename(self, request: HttpRequest, actor: Actor, thread_id: str) -> HttpResponse:
        try:
            title = json.loads(request.read(10_000))["title"]
        except (ValueError, KeyError, TypeError, RecursionError):
            title = None
        if not isinstance(title, str) or not 0 < len(title.strip()) <= MAX_TITLE_CHARS:
            raise BadRequest(f"Send a title of 1 to {MAX_TITLE_CHARS} characters.")
        row = await open_store(request).rename(thread_id, title.strip(), scope=actor.scope)
        if row is None:
            raise NotFound("There is no such thread.")
        return JsonResponse(row)

    async def delete(self, request: HttpRequest, actor: Actor, thread_id: str) -> HttpResponse:
        store = open_store(request)
        await find_thread(store, actor, thread_id)
        runs.logs.forget(actor.scope, thread_id)
        try:
            await store.delete(thread_id, scope=actor.scope)
        except ConversationConflict:
            raise Conflict("The conversation was changed meanwhile. Try again.") from None
        await Run.objects.filter(scope=actor.scope, thread_id=thread_id).adelete()
        return HttpResponse(status=204)


class ThreadEventsView(AgentView):
    """The active or last run of a thread, from the event after Last-Event-ID."""

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        log = runs.logs.last(actor.scope, kwargs["thread_id"])
        if log is None:
            return await nothing_runs(request, actor, kwargs["thread_id"])
        last = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id", "")
        key, _, number = last.rpartition(":")
        # The number of an event of another run says nothing about this one: it starts at the beginning.
        after = int(number) if key == log.key and re.fullmatch(r"[0-9]{1,9}", number) else 0
        return sse_response(runs.Follower(log, after))


async def nothing_runs(request: HttpRequest, actor: Actor, thread_id: str) -> HttpResponse:
    """Answer 204 for a thread of the actor's without a run. Raises NotFound for any other."""
    await find_thread(open_store(request), actor, thread_id)
    return HttpResponse(status=204)


async def find_thread(store: ThreadStore, actor: Actor, thread_id: str) -> ConversationRecord:
    """Read the record of one of the actor's threads. Raises NotFound, also for somebody else's."""
    record = await store.read_record(thread_id)
    if record is None or record.scope != actor.scope:
        raise NotFound("There is no such thread.")
    return record


class ThreadCancelView(AgentView):
    """Stop the active run of a thread."""

    methods = frozenset({"POST"})

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        log = runs.logs.active(actor.scope, kwargs["thread_id"])
        if log is None:
            return await nothing_runs(request, actor, kwargs["thread_id"])
        log.token.cancel()
        return HttpResponse(status=202)
