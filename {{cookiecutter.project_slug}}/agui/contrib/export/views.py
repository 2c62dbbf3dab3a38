"""Everything that is kept of somebody, as one JSON document: for himself, or for whoever has to
answer him.

It is written as it is read, a few rows at a time: it fits into memory however much there is, and no
database connection waits for a slow client.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet
from django.db.models.fields.files import FieldFile
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelMessage

from agui import parts
from agui.actor import Actor
from agui.blocking.executor import in_database, owner, release_connections
from agui.http.views import AgentView
from agui.models import ApiToken, AuditRecord, Message, Run, Thread
from agui.parts import PersonalData
from agui.protocol.interrupts import open_interrupts
from agui.protocol.outbound import to_wire, wire_messages
from agui.stores import codec
from agui.stores.annotations import annotation
from agui.stores.base import ThreadStore, open_store
from agui.stores.model import ModelConversationStore

logger = logging.getLogger("agui.export")

# Few: a message may hold pictures.
BATCH = 20
CHUNK_CHARS = 64 * 1024
# What the document says once or in another form, and what is nobody's business but ours: digests,
# keys, revisions.
UNTOLD: dict[type[Model], set[str]] = {
    Thread: {"id", "scope", "owner", "words", "revision", "deferred"},
    Message: {"thread", "words", "data"},
    Run: {"scope", "owner", "process", "seen_at", "revision", "draft", "order", "attempts"},
    AuditRecord: {"id", "user", "scope", "error"},
    ApiToken: {"id", "user", "digest"},
}

Told = dict[str, Any]
SaveFile = Callable[[Model, str, FieldFile], str | None]
"""Keeps the file of a row, given its owner's name for it, and answers its name beside the document."""


class ExportView(AgentView):
    """GET all that is kept of the actor, as a download."""

    async def respond(
        self, request: HttpRequest, actor: Actor, **kwargs: Any
    ) -> StreamingHttpResponse:
        store = open_store(request, actor.scope)
        threads = (
            None if isinstance(store, ModelConversationStore) else await read_threads(store, actor)
        )
        headers = {
            "Content-Type": "application/json",
            "Content-Disposition": f'attachment; filename="agent-data-{timezone.now():%Y-%m-%d}.json"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
            # Slow readers wait at the proxy: daphne would hold the rest in memory
            "X-Accel-Buffering": "yes",
        }
        return StreamingHttpResponse(
            _stream(actor, write_document(actor, threads)), headers=headers
        )


async def _stream(actor: Actor, chunks: Iterator[str]) -> AsyncIterator[str]:
    owner.set(actor.scope)  # A middleware may have had the view called in another context
    await release_connections()
    while (chunk := await in_database(next, chunks, None, pool="reading")) is not None:
        yield chunk


def write_document(
    actor: Actor, threads: Iterable[Told] | None = None, save_file: SaveFile | None = None
) -> Iterator[str]:
    """Write the document of everything that is the actor's, in chunks.

    `threads` are those of a store that is not the database; `save_file` keeps a file beside the
    document and answers its name there.
    """
    chunk, size = [], 0
    for piece in _document(actor, threads, save_file):
        chunk.append(piece)
        size += len(piece)
        if size >= CHUNK_CHARS:
            yield "".join(chunk)
            chunk, size = [], 0
    yield "".join(chunk)


def _document(
    actor: Actor, threads: Iterable[Told] | None, save_file: SaveFile | None
) -> Iterator[str]:
    user = actor.user
    who = (
        {
            "id": user.pk,
            "username": user.get_username(),
            "name": user.get_full_name(),
            "email": _email(user),
        }
        if user.is_authenticated
        else None
    )
    yield from _object(
        {"exported_at": timezone.now(), "user": who}, _tables(actor, threads, save_file)
    )
    yield "\n"


def _email(user: Any) -> Any:
    return getattr(user, user.get_email_field_name(), "")


def _tables(
    actor: Actor, threads: Iterable[Told] | None, save_file: SaveFile | None
) -> Iterator[tuple[str, Iterable[Told]]]:
    scope, owner = actor.scope, actor.user.pk
    own = Thread.objects.filter(scope=scope)
    yield "threads", _read(own.order_by("created_at"), _tell_thread) if threads is None else threads
    yield (
        "runs",
        _read(Run.objects.filter(scope=scope, owner=owner).order_by("started_at"), _tell_run),
    )
    yield "tool_calls", _read(_audit_records(actor).order_by("started_at"), _tell)
    yield "tokens", _read(ApiToken.objects.filter(user=owner).order_by("created_at"), _tell)
    for part in parts.installed():
        for kept in part.personal_data(actor):
            yield kept.name, _read(kept.rows, partial(_tell_row, kept, save_file))


def _audit_records(actor: Actor) -> QuerySet[AuditRecord]:
    owner = (
        {"user": actor.user}
        if actor.user.is_authenticated
        else {"user": None, "scope": actor.scope}
    )
    return AuditRecord.objects.filter(**owner)


def _read(rows: QuerySet[Any], tell: Callable[[Any], Told]) -> Iterator[Told]:
    """Read rows by their keys: no cursor stays open."""
    pks = list(rows.values_list("pk", flat=True))
    for start in range(0, len(pks), BATCH):
        batch = pks[start : start + BATCH]
        found = rows.order_by().in_bulk(batch)
        yield from (tell(found[pk]) for pk in batch if pk in found)


def _tell_personal(data: PersonalData, row: Model) -> Told:
    return {**_fields(row, data.hidden), **data.extra(row)}  # noqa: S610 # Not a queryset


def _tell(row: Model) -> Told:
    return _fields(row, UNTOLD[type(row)])


def _tell_row(kept: PersonalData, save_file: SaveFile | None, row: Model) -> Told:
    told = {**_fields(row, kept.hidden), **kept.extra(row)}  # noqa: S610 (not a queryset)
    file = kept.file(row) if save_file else None
    return {**told, "file": save_file(row, *file)} if save_file and file else told


def _fields(row: Model, hidden: Collection[str]) -> Told:
    return {
        field.name: field.value_from_object(row)
        for field in row._meta.concrete_fields
        if field.name not in hidden
    }


def _tell_thread(thread: Thread) -> Told:
    requests = None if thread.deferred is None else codec.load(codec.DEFERRED, thread.deferred)
    entries = Message.objects.filter(thread=thread).order_by("created_at", "pk")
    return {
        **_tell(thread),
        "pending": _tell_pending(requests),
        "entries": _read(entries, _tell_entry),
    }


def _tell_pending(requests: DeferredToolRequests | None) -> list[Told]:
    return [to_wire(one.interrupt) for one in open_interrupts(requests)]


def _tell_entry(entry: Message) -> Told:
    try:
        return {**_tell(entry), **_tell_messages(codec.load_messages([entry.data]))}
    except Exception:
        # The rest of the document is worth having.
        logger.exception("Message %s can't be exported", entry.pk)
        return {**_tell(entry), "unreadable": True}


def _tell_messages(messages: list[ModelMessage]) -> Told:
    states = [state for message in messages if (state := annotation(message, "state")) is not None]
    return {"messages": wire_messages(messages), **({"state": states[-1]} if states else {})}


def _tell_run(run: Run) -> Told:
    return {**_tell(run), **(_tell_messages(codec.load_messages(run.draft)) if run.draft else {})}


async def read_threads(store: ThreadStore, actor: Actor) -> list[Told]:
    """Read the conversations of any store: all at once, for a session holds little."""
    told = []
    for record in await store.read_records(scope=actor.scope):
        lines = [await store.read_history(head) for head in (*record.branches, record.head_id)]
        entries = {entry.id: entry for line in lines for entry in line}
        about = {
            **await store.describe(record),
            "usage": codec.dump(codec.USAGE, record.usage),
            "head": record.head_id,
            "branches": record.branches,
            "pending": _tell_pending(record.deferred_tool_requests),
        }
        rows = [
            {"id": e.id, "parent": e.parent_id, **_tell_messages([e.message])}
            for e in entries.values()
        ]
        told.append({**about, "entries": rows})
    return told


def _object(members: Told, lists: Iterable[tuple[str, Iterable[Told]]]) -> Iterator[str]:
    """Write an object whose last members are lists that may be long."""
    yield _json(members)[:-1]
    for name, items in lists:
        yield f",\n{_json(name)}: ["
        for number, item in enumerate(items):
            yield ",\n" if number else "\n"
            yield from _item(item)
        yield "\n]"
    yield "}"


def _item(item: Told) -> Iterator[str]:
    entries = item.pop("entries", None)
    yield from [_json(item)] if entries is None else _object(item, [("entries", entries)])


def _json(value: Any) -> str:
    text = json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
    return text if codec.is_utf8(text) else json.dumps(value, cls=DjangoJSONEncoder)
