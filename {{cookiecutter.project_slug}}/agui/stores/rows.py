"""The rows of conversations: what ModelConversationStore asks and writes, each as one function for one thread."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connections, router, transaction
from django.db.models import Case, F, QuerySet, TextField, Value, When
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage

from agui.models import Message, Thread
from agui.stores import codec
from agui.stores.branches import Link, prompt_id
from agui.stores.summary import ends_in_an_answer, fold, preview_of, title_of, words_of
from agui.stores.traces import delete_traces

Note = Callable[[str], None]
"""Writes what goes with a save, in its transaction: called with the new revision."""
NO_LIMIT = 2**31 - 1
BATCH = 500

# Written out: Django takes longer to make some of these queries than the database to answer them.
OPEN_RUN = (
    "SELECT 1 FROM agui_run WHERE thread_id = %s AND scope = %s AND status = 'running' LIMIT 1"
)
THREAD = "SELECT * FROM agui_thread WHERE thread_id = %s AND scope = %s"
THREADS = "SELECT * FROM agui_thread WHERE thread_id = %s LIMIT 2"

# A whole history: from its newest message along the parents, oldest last.
HISTORY = """
WITH RECURSIVE history (id, parent, data, depth) AS (
    SELECT id, parent, data, 1 FROM agui_message WHERE id = %s
    UNION ALL
    SELECT m.id, m.parent, m.data, h.depth + 1 FROM agui_message m JOIN history h ON m.id = h.parent WHERE h.depth < %s
)
SELECT id, parent, data FROM history ORDER BY depth DESC
"""

# All lines that end at some messages, each message once.
LINKS = """
WITH RECURSIVE links (id, parent, prompt_id) AS (
    SELECT id, parent, prompt_id FROM agui_message WHERE id IN ({})
    UNION
    SELECT m.id, m.parent, m.prompt_id FROM agui_message m JOIN links ON m.id = links.parent
)
SELECT id, parent, prompt_id FROM links
"""


@dataclass
class Row(ConversationRecord):
    """A record, and what else its row says."""

    pk: int = 0
    is_titled: bool = False


class Loaded(NamedTuple):
    """All that a turn begins with."""

    row: Row | None
    entries: list[ConversationEntry]
    has_open_run: bool


def read_thread(conversation_id: str, scope: str, limit: int | None) -> Loaded:
    """Read a thread, its last messages, and whether a run on it has not ended.

    Raises LookupError when a message of it is gone.
    """
    has_open_run = bool(_fetch(OPEN_RUN, [conversation_id, scope]))
    row = find_row(conversation_id, scope)
    return Loaded(
        row, read_entries(row.head_id, limit) if row and row.head_id else [], has_open_run
    )


def find_row(conversation_id: str, scope: str | None) -> Row | None:
    """Read the row of a thread. Raises UserError without a scope if several owners use the id."""
    if scope is None:
        threads = list(Thread.objects.raw(THREADS, [conversation_id]))
    else:
        threads = list(Thread.objects.raw(THREAD, [conversation_id, scope]))
    if len(threads) > 1:
        raise UserError(
            f"Several owners have a conversation {conversation_id!r}: pass the scope of the one you mean."
        )
    return _to_row(threads[0]) if threads else None


def find_rows(scope: str | None, limit: int | None) -> list[Row]:
    threads = Thread.objects.all() if scope is None else Thread.objects.filter(scope=scope)
    return [_to_row(thread) for thread in threads[:limit]]


def _to_row(thread: Thread) -> Row:
    return Row(
        pk=thread.pk,
        is_titled=bool(thread.title),
        conversation_id=thread.thread_id,
        head_id=thread.head,
        usage=codec.load(codec.USAGE, thread.usage),
        deferred_tool_requests=None
        if thread.deferred is None
        else codec.load(codec.DEFERRED, thread.deferred),
        scope=thread.scope or None,
        forked_from=thread.forked_from or None,
        forked_at=thread.forked_at or None,
        branches=thread.branches,
        revision=thread.revision,
        updated_at=thread.updated_at,
    )


def _to_fields(record: ConversationRecord) -> dict[str, Any]:
    """What changes with a save."""
    deferred = record.deferred_tool_requests
    return {
        "head": record.head_id,
        "usage": codec.dump(codec.USAGE, record.usage),
        "deferred": None if deferred is None else codec.dump(codec.DEFERRED, deferred),
        "branches": record.branches,
        "revision": record.revision,
        "updated_at": record.updated_at,
    }


def read_entries(head_id: str, limit: int | None = None) -> list[ConversationEntry]:
    """Read a history up to `head_id`, oldest first, or its last `limit` messages.

    Raises LookupError when a message of it is gone.
    """
    rows = _fetch(HISTORY, [head_id, limit or NO_LIMIT])
    if not rows or (rows[0][1] is not None and len(rows) != limit):
        raise LookupError(f"The history up to message {head_id!r} is not complete.")
    messages = codec.load_messages([data for *_, data in rows])
    return [
        ConversationEntry(id=one, parent_id=parent, message=message)
        for (one, parent, _), message in zip(rows, messages, strict=True)
    ]


def read_links(heads: Sequence[str]) -> dict[str, Link]:
    rows = _fetch(LINKS.format(", ".join(["%s"] * len(heads))), heads)
    return {one: Link(one, parent, prompt_id) for one, parent, prompt_id in rows}


def read_messages(ids: Collection[str]) -> dict[str, ModelMessage]:
    rows = dict(Message.objects.filter(pk__in=ids).values_list("pk", "data"))
    return dict(zip(rows, codec.load_messages(list(rows.values())), strict=True))


def _fetch(sql: str, params: Sequence[Any]) -> list[Any]:
    with connections[router.db_for_read(Thread)].cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def write(
    record: ConversationRecord,
    new_entries: Sequence[ConversationEntry],
    expected_revision: str | None,
    row: Row | None = None,
    note: Note | None = None,
) -> Row:
    """Write a record and its new messages. Raises ConversationConflict, and has then written nothing."""
    try:
        return _write(record, new_entries, expected_revision, row, note)
    except ConversationConflict:
        found = find_row(record.conversation_id, record.scope or "")
        if found is None or (found.revision, found.head_id) != (record.revision, record.head_id):
            raise
        return found  # Asked again, because the answer of the database was lost


def _write(
    record: ConversationRecord,
    new_entries: Sequence[ConversationEntry],
    expected_revision: str | None,
    row: Row | None,
    note: Note | None,
) -> Row:
    messages = [entry.message for entry in new_entries]
    data = codec.dump_messages(messages)
    fields = _to_fields(record)
    if messages:
        fields["unread"] = ends_in_an_answer(messages)
    title, preview = title_of(messages), preview_of(messages)
    try:
        with transaction.atomic(using=router.db_for_write(Thread)):
            if expected_revision is None:
                pk = _insert(record, fields, title, preview)
            else:
                title = "" if row is not None and row.is_titled else title
                if row is not None and row.branches == record.branches:
                    del fields["branches"]
                _update(record, fields, title, preview, expected_revision)
                pk = row.pk if row else _threads_of(record).values_list("pk", flat=True).get()
            if record.head_id is not None and record.head_id not in {
                entry.id for entry in new_entries
            }:
                _hold(record)
            Message.objects.bulk_create(
                Message(
                    id=entry.id,
                    parent=entry.parent_id,
                    thread_id=pk,
                    prompt_id=prompt_id(entry.message),
                    data=row_data,
                    words=words_of(entry.message),
                )
                for entry, row_data in zip(new_entries, data, strict=True)
            )
            if note is not None:
                note(record.revision)
    except IntegrityError as error:
        # The id is taken, or the thread's owner is gone.
        raise ConversationConflict(record.conversation_id) from error
    return Row(
        **{
            **vars(record),
            "pk": pk,
            "is_titled": bool(title) or (row is not None and row.is_titled),
        }
    )


def _insert(record: ConversationRecord, fields: dict[str, Any], title: str, preview: str) -> int:
    if record.forked_from and not title:
        sources = Thread.objects.filter(thread_id=record.forked_from, scope=record.scope or "")
        source = sources.only("title", "preview").first()
        title, preview = (source.title, source.preview) if source else ("", "")
    kind, _, pk = (record.scope or "").partition(":")
    thread = Thread.objects.create(
        thread_id=record.conversation_id,
        scope=record.scope or "",
        owner_id=get_user_model()._meta.pk.to_python(pk) if kind == "user" else None,
        title=title,
        words=fold(title),
        preview=preview,
        forked_from=record.forked_from or "",
        forked_at=record.forked_at or "",
        **fields,
    )
    return thread.pk


def _update(
    record: ConversationRecord,
    fields: dict[str, Any],
    title: str,
    preview: str,
    expected_revision: str,
) -> None:
    if title:
        # Only an empty one: a title that somebody gave stays.
        fields["title"] = Case(When(title="", then=Value(title)), default=F("title"))
        fields["words"] = Case(
            When(title="", then=Value(fold(title))), default=F("words"), output_field=TextField()
        )
    if preview:
        fields["preview"] = preview
    if not _threads_of(record).filter(revision=expected_revision).update(**fields):
        raise ConversationConflict(record.conversation_id)


def _threads_of(record: ConversationRecord) -> QuerySet[Thread]:
    return Thread.objects.filter(thread_id=record.conversation_id, scope=record.scope or "")


def _hold(record: ConversationRecord) -> None:
    """Keep the thread that has the head from being deleted until this transaction ends."""
    if not list(
        Thread.objects.select_for_update().filter(messages=record.head_id).values_list("pk")
    ):
        raise ConversationConflict(record.conversation_id)


def delete_thread(thread_id: str, scope: str | None, expected_revision: str | None = None) -> None:
    """Delete a thread, in whatever revision by default, and those of its messages that no fork uses.

    Without a scope the revision tells which one is meant: two threads have none in common.
    """
    whose = {"revision": expected_revision} if scope is None else {"scope": scope}
    try:
        with transaction.atomic(using=router.db_for_write(Thread)):
            thread = Thread.objects.select_for_update().filter(thread_id=thread_id, **whose).first()
            if thread is None or expected_revision not in (None, thread.revision):
                raise ConversationConflict(thread_id)
            _hand_over(thread)
            thread.delete()
            delete_traces(thread_id, thread.scope)
    except IntegrityError as error:
        # A fork that was to have its messages is being deleted, too.
        raise ConversationConflict(thread_id) from error


def _hand_over(thread: Thread) -> None:
    """Give what forks of a thread use of its messages to them."""
    own = Message.objects.filter(thread=thread)
    others = Message.objects.exclude(thread=thread).filter(parent__in=own.values("id"))
    # Not empty: so that the partial index serves.
    forks = (
        Thread.objects.exclude(pk=thread.pk)
        .exclude(forked_at="")
        .filter(forked_at__in=own.values("id"))
    )
    used = [*others.values_list("parent", "thread_id"), *forks.values_list("forked_at", "pk")]
    if not used:
        return
    parents = dict(own.values_list("id", "parent"))
    heirs: dict[int, list[str]] = {}
    for message_id, heir in used:
        while message_id in parents:
            heirs.setdefault(heir, []).append(message_id)
            message_id = parents.pop(message_id)
    for heir, ids in heirs.items():
        for start in range(0, len(ids), BATCH):
            own.filter(pk__in=ids[start : start + BATCH]).update(thread_id=heir)
