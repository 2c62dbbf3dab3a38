"""The threads of a user: list, read, rename, mark, switch to a branch, delete."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext_lazy as _
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationRecord
from pydantic_ai.messages import ModelMessage

from agui import parts
from agui.actor import Actor
from agui.blocking.executor import in_database, run_in_thread
from agui.errors import BadRequest, Conflict, NotFound
from agui.events.failures import read_failures
from agui.http.bodies import read_object
from agui.http.excerpts import NO_HIT, find_hits
from agui.http.views import AgentView
from agui.models import Run
from agui.protocol.interrupts import frontend_calls, open_interrupts
from agui.protocol.outbound import to_wire, wire_messages
from agui.protocol.run_input import check_thread_id
from agui.runs.live import live
from agui.runs.recovery import recover, still_on
from agui.sentences import fill_lazy
from agui.stores.annotations import annotation, times_of
from agui.stores.base import ThreadStore, open_store, search_words

PAGE_SIZE = 30
MAX_PAGE_SIZE = 100
MAX_QUERY_CHARS = 200
MAX_TITLE_CHARS = 255
CHANGES = ("title", "branch", "unread", "pinned", "archived")
NO_THREAD = _("There is no such thread.")


@dataclass(frozen=True)
class OwnThread:
    """A thread that its owner names, and the store that it is in. The thread may not exist."""

    id: str
    scope: str
    store: ThreadStore

    @classmethod
    def open(cls, request: HttpRequest, actor: Actor, thread_id: str) -> Self:
        """Open the store. Raises BadRequest for an id that no thread can have."""
        check_thread_id(thread_id)
        return cls(thread_id, actor.scope, open_store(request, actor.scope))

    async def find(self) -> ConversationRecord:
        """Read the thread's record. Raises NotFound."""
        record = await self.store.find(self.id, self.scope)
        if record is None:
            raise NotFound(NO_THREAD)
        return record

    def runs(self) -> QuerySet[Run]:
        return Run.objects.filter(scope=self.scope, thread_id=self.id)

    async def is_running(self) -> bool:
        """Whether any process executes a run of the thread. Recovers what dead processes left."""
        if await live.logs.is_active(self.scope, self.id):
            return True
        return await self.recover()

    async def recover(self) -> bool:
        """Recover what dead processes left. Returns whether a live one executes a run."""
        return await recover(self.store, self.scope, self.id)


class ThreadsView(AgentView):
    """The actor's threads, pinned ones and then the newest first.

    `?q=` searches, `?limit=` and `?cursor=` page, `?archived=true` lists what is archived instead.
    """

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        q = request.GET.get("q", "")
        limit = request.GET.get("limit", str(PAGE_SIZE))
        if len(q) > MAX_QUERY_CHARS:
            raise BadRequest(
                fill_lazy(_("Search for at most {limit} characters."), limit=MAX_QUERY_CHARS)
            )
        if not re.fullmatch("[0-9]{1,3}", limit) or not 0 < int(limit) <= MAX_PAGE_SIZE:
            raise BadRequest(f"The limit is a number from 1 to {MAX_PAGE_SIZE}.")
        archived = request.GET.get("archived", "false")
        if archived not in ("false", "true"):
            raise BadRequest("archived is true or false.")
        store = open_store(request, actor.scope)
        summaries, next_cursor = await store.summaries(
            actor.scope,
            q=q,
            cursor=request.GET.get("cursor"),
            limit=int(limit),
            archived=archived == "true",
        )
        ids = [summary["thread_id"] for summary in summaries]
        running, waiting = await in_database(open_threads, actor.scope, ids)
        threads = []
        for summary, thread_id in zip(summaries, ids, strict=True):
            marks = {"running": thread_id in running, "waiting": thread_id in waiting}
            threads.append({**summary, **marks})
        if q.strip():
            await add_hits(store, threads, q, actor.scope)
        return JsonResponse({"threads": threads, "next": next_cursor})


async def add_hits(store: ThreadStore, threads: list[dict[str, Any]], q: str, scope: str) -> None:
    """Add to each row of a search where its thread has the words."""
    ids = [thread["thread_id"] for thread in threads]
    matches = await store.matches(ids, q, scope=scope)
    hits = await run_in_thread(find_hits, matches, search_words(q), pool="reading")
    for thread, thread_id in zip(threads, ids, strict=True):
        thread.update(hits.get(thread_id, NO_HIT))


def find_address(request: HttpRequest, thread_id: str, action: str = "") -> tuple[str, str]:
    """Find the thread and the action that a path names.

    The path counts as the client sent it, in which a slash of an id is %2F. Some servers and
    proxies don't pass it on. Then the result is what Django found, which takes every slash for a
    separator.
    """
    raw_path = getattr(request, "scope", {}).get("raw_path", b"")
    path = raw_path.decode("ascii", "replace")
    if not path or (action and path.removesuffix("/").endswith(f"/{action}")):
        return thread_id, action
    if action:
        thread_id = f"{thread_id}/{action}"
    route = request.resolver_match.route if request.resolver_match else ""
    if route.endswith("/") and not path.endswith("/"):
        thread_id += "/"
    return thread_id, ""


class ThreadView(AgentView):
    """One thread."""

    methods = frozenset({"GET", "PATCH", "DELETE"})

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        thread_id, _ = find_address(request, **kwargs)
        return await super().__call__(request, thread_id=thread_id)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread = OwnThread.open(request, actor, kwargs["thread_id"])
        if request.method == "PATCH":
            return await self.change(thread, read_object(request))
        if request.method == "DELETE":
            return await self.delete(thread)
        return await self.read(thread)

    async def read(self, thread: OwnThread) -> HttpResponse:
        # This comes first: a run that ends before the messages are read then counts as running, and
        # a client that follows it gets the rest.
        running = await thread.is_running()
        summary = await thread.store.summary(thread.id, scope=thread.scope)
        conversation = await thread.store.load(thread.id, scope=thread.scope)
        if summary is None or conversation is None:
            raise NotFound(NO_THREAD)
        details = await in_database(read_details, thread.id, thread.scope)
        branches = await thread.store.branches(thread.id, scope=thread.scope)
        about = {**summary, **details, "branches": branches}
        return await run_in_thread(write_thread, about, conversation, running, pool="reading")

    async def change(self, thread: OwnThread, body: dict[str, Any]) -> HttpResponse:
        match [(key, body[key]) for key in CHANGES if key in body]:
            case [("branch", str(branch))]:
                return await self.switch(thread, branch)
            case [("title", str(title))] if 0 < len(title.strip()) <= MAX_TITLE_CHARS:
                row = await thread.store.rename(thread.id, title.strip(), scope=thread.scope)
            case [("unread", bool(unread))]:
                row = await thread.store.mark(thread.id, unread=unread, scope=thread.scope)
            case [("pinned", bool(pinned))]:
                row = await thread.store.mark(thread.id, pinned=pinned, scope=thread.scope)
            case [("archived", bool(archived))]:
                row = await thread.store.mark(thread.id, archived=archived, scope=thread.scope)
            case _:
                raise BadRequest(
                    f"Send one change: a title of 1 to {MAX_TITLE_CHARS} characters, a branch, or "
                    "whether it is unread, pinned or archived."
                )
        if row is None:
            raise NotFound(NO_THREAD)
        return JsonResponse(row)

    async def switch(self, thread: OwnThread, branch: str) -> HttpResponse:
        record = await thread.find()
        if await thread.is_running():
            raise Conflict
        try:
            # A run that has begun since has changed the revision.
            was_switched = await thread.store.switch(
                thread.id, branch, expected_revision=record.revision, scope=thread.scope
            )
        except ConversationConflict:
            raise Conflict(_("The conversation was changed meanwhile. Reload it.")) from None
        if not was_switched:
            raise NotFound(_("There is no such thread, or no such branch of it."))
        return await self.read(thread)

    async def delete(self, thread: OwnThread) -> HttpResponse:
        await thread.find()
        await live.logs.forget(thread.scope, thread.id)
        await thread.store.delete(thread.id, scope=thread.scope)
        return HttpResponse(status=204)


def open_threads(scope: str, thread_ids: list[str]) -> tuple[set[str], set[str]]:
    """Find those of the threads that have an active run, and those that wait for their user."""
    runs = Run.objects.filter(scope=scope, thread_id__in=thread_ids).order_by()
    active = runs.filter(status=Run.Status.RUNNING).defer("draft")
    later = Run.objects.filter(
        scope=scope, thread_id=OuterRef("thread_id"), started_at__gt=OuterRef("started_at")
    )
    paused = runs.filter(~Exists(later), status=Run.Status.PAUSED)
    running = {run.thread_id for run in still_on(active)}
    return running, set(paused.values_list("thread_id", flat=True))


def write_thread(about: dict[str, Any], conversation: Conversation, running: bool) -> HttpResponse:
    """Write a thread as clients get it. A long one takes a while."""
    messages = wire_messages(conversation.messages)
    times = times_of(conversation.messages)
    requests = conversation.deferred_tool_requests
    payload = {
        **about,
        "messages": messages,
        "times": {sent["id"]: times[sent["id"]] for sent in messages if sent["id"] in times},
        "state": last_state(conversation.messages),
        "pending": [to_wire(question.interrupt) for question in open_interrupts(requests)],
        "pending_calls": list(frontend_calls(requests)),
        "running": running,
    }
    return JsonResponse(payload)


def last_state(messages: Sequence[ModelMessage]) -> Any:
    """Return the newest shared state that messages have."""
    for message in reversed(messages):
        state = annotation(message, "state")
        if state is not None:
            return state
    return {}


def read_details(thread_id: str, scope: str) -> dict[str, Any]:
    """Read what clients learn about a thread beside its messages."""
    details: dict[str, Any] = {"failures": read_failures(thread_id, scope)}
    for part in parts.installed():
        details |= part.thread_details(thread_id, scope)
    return details
