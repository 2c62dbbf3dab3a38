"""The document of everything that the agent keeps of one user or visitor, as JSON.

The rows are read while the document is written, a few at a time. So it fits into memory however
large it is, and no database connection waits for a slow client.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial, reduce
from operator import or_
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet
from django.db.models.fields.files import FieldFile
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelMessage

from agui import clock, parts
from agui.actor import Actor
from agui.models import (
    AbstractConversation,
    ApiToken,
    AuditRecord,
    Message,
    Run,
    get_conversation_model,
)
from agui.namespaces import FIRST_AGENT, all_scopes, split_scope
from agui.part_values import PersonalData
from agui.protocol.interrupts import open_interrupts
from agui.protocol.outbound import to_wire, wire_messages
from agui.stores import codec
from agui.stores.annotations import annotation
from agui.stores.base import ThreadStore

Thread = get_conversation_model()

logger = logging.getLogger("agui.export")

# A message may hold pictures, so only a few rows are in memory at once.
BATCH = 20
CHUNK_CHARS = 64 * 1024
# Fields that the document has elsewhere or in another form, and internal ones: digests, keys and
# revisions.
HIDDEN_FIELDS: dict[type[Model], set[str]] = {
    Thread: {"id", "scope", "owner", "words", "revision", "deferred"},
    Message: {"thread", "words", "data"},
    Run: {"scope", "owner", "process", "seen_at", "revision", "draft"},
    AuditRecord: {"id", "user", "scope", "error"},
    ApiToken: {"id", "user", "digest"},
}

Item = dict[str, Any]
"""An object of the document."""
Items = Iterable[Item]
SaveFile = Callable[[Model, str, FieldFile], str | None]
"""Copies the file of a row, given its owner's name for it. Returns the name of the copy."""


def write_document(
    actor: Actor,
    threads: Items | None = None,
    save_file: SaveFile | None = None,
    *,
    all_agents: bool = False,
) -> Iterator[str]:
    """Write the document of everything that belongs to the actor, in chunks.

    `threads` are those of a store that is not the database; `save_file` copies files and returns
    the names that the document gives them. `all_agents` adds the owner's data with other agents.
    """
    actors = [actor]
    if all_agents:
        actors = [Actor(actor.user, scope) for scope in all_scopes(actor.scope)]
    chunk: list[str] = []
    size = 0
    for text in _document(actors, threads, save_file):
        chunk.append(text)
        size += len(text)
        if size >= CHUNK_CHARS:
            yield "".join(chunk)
            chunk.clear()
            size = 0
    yield "".join(chunk)


def _document(
    actors: list[Actor], threads: Items | None, save_file: SaveFile | None
) -> Iterator[str]:
    head = {"exported_at": clock.now(), "user": _describe(actors[0].user)}
    yield from _object(head, _lists(actors, threads, save_file))
    yield "\n"


def _describe(user: Any) -> Item | None:
    if not user.is_authenticated:
        return None
    return {
        "id": user.pk,
        "username": user.get_username(),
        "name": user.get_full_name(),
        "email": getattr(user, user.get_email_field_name(), ""),
    }


def _lists(
    actors: list[Actor], threads: Items | None, save_file: SaveFile | None
) -> Iterator[tuple[str, Items]]:
    """Yield the lists of the document with their names. The actors are one user's."""
    user = actors[0].user
    scopes = [actor.scope for actor in actors]
    if threads is None:
        rows = Thread.objects.filter(scope__in=scopes).order_by("created_at")
        threads = _read(rows, _dump_thread)
    yield "threads", threads
    runs = Run.objects.filter(scope__in=scopes, owner=user.pk).order_by("started_at")
    yield "runs", _read(runs, _dump_run)
    records = AuditRecord.objects.filter(user=user.pk, scope__in=scopes).order_by("started_at")
    yield "tool_calls", _read(records, _dump)
    tokens = ApiToken.objects.filter(user=user.pk).order_by("created_at")
    yield "tokens", _read(tokens, _dump)
    for part in parts.installed():
        for of_agents in zip(*map(part.personal_data, actors), strict=True):
            data = of_agents[0]
            rows = reduce(or_, (each.rows for each in of_agents))
            yield data.name, _read(rows, partial(_dump_personal, data, save_file))


def _read(rows: QuerySet[Any], dump: Callable[[Any], Item]) -> Iterator[Item]:
    """Read rows by their keys, so that no cursor stays open."""
    pks = list(rows.values_list("pk", flat=True))
    for start in range(0, len(pks), BATCH):
        batch = pks[start : start + BATCH]
        row_by_pk = rows.order_by().in_bulk(batch)
        for pk in batch:
            if pk in row_by_pk:
                yield dump(row_by_pk[pk])


def _dump(row: Model) -> Item:
    return _fields(row, HIDDEN_FIELDS[type(row)])


def _dump_personal(data: PersonalData, save_file: SaveFile | None, row: Model) -> Item:
    item = _fields(row, data.hidden)
    item.update(data.extra(row))  # noqa: S610 (not a queryset)
    file = data.file(row) if save_file else None
    if save_file and file:
        item["file"] = save_file(row, *file)
    return item


def _fields(row: Model, hidden: Collection[str]) -> Item:
    item = {}
    for field in row._meta.concrete_fields:
        if field.name not in hidden:
            item[field.name] = field.value_from_object(row)
    namespace, _ = split_scope(getattr(row, "scope", ""))
    if namespace != FIRST_AGENT:
        item["agent"] = namespace
    return item


def _dump_thread(thread: AbstractConversation) -> Item:
    item = _dump(thread)
    requests = None
    if thread.deferred is not None:
        requests = codec.load(codec.DEFERRED, thread.deferred)
    item["pending"] = _dump_pending(requests)
    entries = Message.objects.filter(thread=thread.pk).order_by("created_at", "pk")
    item["entries"] = _read(entries, _dump_entry)
    return item


def _dump_pending(requests: DeferredToolRequests | None) -> list[Item]:
    return [to_wire(opened.interrupt) for opened in open_interrupts(requests)]


def _dump_entry(entry: Message) -> Item:
    item = _dump(entry)
    try:
        messages = codec.load_messages([entry.data])
        item.update(_dump_messages(messages))
    except Exception:
        # Its owner gets the rest of the document all the same.
        logger.exception("Exporting message %s failed; exporting the rest", entry.pk)
        item["unreadable"] = True
    return item


def _dump_messages(messages: list[ModelMessage]) -> Item:
    item: Item = {"messages": wire_messages(messages)}
    for message in messages:
        state = annotation(message, "state")
        if state is not None:
            item["state"] = state
    return item


def _dump_run(run: Run) -> Item:
    item = _dump(run)
    if run.draft:
        item.update(_dump_messages(codec.load_messages(run.draft)))
    return item


async def read_threads(store: ThreadStore, actor: Actor) -> list[Item]:
    """Read the threads of a store other than the database, all at once: a session is small."""
    threads = []
    for record in await store.read_records(scope=actor.scope):
        entries: dict[str, Item] = {}
        for head in (*record.branches, record.head_id):
            for entry in await store.read_history(head):
                item = {"id": entry.id, "parent": entry.parent_id}
                entries[entry.id] = item | _dump_messages([entry.message])
        thread = {
            **await store.describe(record),
            "usage": codec.dump(codec.USAGE, record.usage),
            "head": record.head_id,
            "branches": record.branches,
            "pending": _dump_pending(record.deferred_tool_requests),
            "entries": list(entries.values()),
        }
        threads.append(thread)
    return threads


def _object(members: Item, lists: Iterable[tuple[str, Items]]) -> Iterator[str]:
    """Write an object whose last members are lists that may be long."""
    yield _json(members)[:-1]
    for name, items in lists:
        yield f",\n{_json(name)}: ["
        for index, item in enumerate(items):
            yield ",\n" if index else "\n"
            yield from _item(item)
        yield "\n]"
    yield "}"


def _item(item: Item) -> Iterator[str]:
    if "entries" in item:
        entries = item.pop("entries")
        yield from _object(item, [("entries", entries)])
    else:
        yield _json(item)


def _json(value: Any) -> str:
    text = json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
    if codec.is_utf8(text):
        return text
    return json.dumps(value, cls=DjangoJSONEncoder)
