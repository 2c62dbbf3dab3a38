"""Keep conversations in the database: one row a thread, one row a message, appended and never changed.

Every primitive is one function on one thread, and costs the same number of queries however long the
thread is. A revision that must still be the stored one lets exactly one of two writers win.
"""

from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.db import IntegrityError, router, transaction
from django.db.models import Case, F, Q, Value, When
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord

from agui.models import Message, Thread
from agui.stores import ThreadStore, codec
from agui.stores.summary import ThreadSummary, clean, preview_of, read_cursor, summarize, title_of, write_cursor

NO_LIMIT = 2**31 - 1
BATCH = 500

# One query for a whole history: from its newest message along the parents, oldest last.
HISTORY = """
WITH RECURSIVE history (id, parent, data, depth) AS (
    SELECT {id}, {parent}, {data}, 1 FROM {messages} WHERE {id} = %s
    UNION ALL
    SELECT m.{id}, m.{parent}, m.{data}, h.depth + 1
    FROM {messages} m JOIN history h ON m.{id} = h.parent
    WHERE h.depth < %s
)
SELECT id AS {id}, parent AS {parent}, data AS {data} FROM history ORDER BY depth DESC
"""


class ModelConversationStore(ThreadStore):
    """Conversations in agui.models: the default.

    Deleting one deletes its messages, but for those that a fork of it still uses: they become the
    fork's. Deleting a user deletes his conversations.
    """

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await sync_to_async(_find_record)(conversation_id)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        return await sync_to_async(_find_records)(scope, limit)

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        if head_id is None or limit == 0:
            return []
        return await sync_to_async(read_entries)(head_id, limit)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return (await self.read_history(entry_id, limit=1))[0]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        await sync_to_async(_write)(record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await sync_to_async(delete_thread)(conversation_id, expected_revision)

    async def rename(self, conversation_id: str, title: str, *, scope: str | None) -> ThreadSummary | None:
        rows = Thread.objects.filter(thread_id=conversation_id, scope=scope or "")
        # Not the revision: a run that is under way may still save.
        renamed = await rows.aupdate(title=clean(title)[:255])
        return await self.summary(conversation_id, scope=scope) if renamed else None

    async def summary(self, conversation_id: str, *, scope: str | None) -> ThreadSummary | None:
        rows = Thread.objects.filter(thread_id=conversation_id, scope=scope or "")
        row = await rows.values_list("thread_id", "title", "preview", "updated_at").afirst()
        return summarize(*row) if row else None

    async def summaries(
        self, scope: str, q: str = "", cursor: str | None = None, limit: int = 30
    ) -> tuple[list[ThreadSummary], str | None]:
        rows = Thread.objects.filter(scope=scope)
        if q := clean(q):
            rows = rows.filter(Q(title__icontains=q) | Q(preview__icontains=q))
        if cursor:
            updated_at, pk = read_cursor(cursor, _to_key)
            rows = rows.filter(updated_at__lte=updated_at).exclude(updated_at=updated_at, pk__gte=pk)
        found = [row async for row in rows.only("thread_id", "title", "preview", "updated_at")[: limit + 1]]
        page = [summarize(row.thread_id, row.title, row.preview, row.updated_at) for row in found[:limit]]
        return page, write_cursor(found[limit - 1].updated_at, found[limit - 1].pk) if len(found) > limit else None


def _to_key(text: str) -> int:
    key = int(text)
    if not 0 <= key < 2**63:
        raise ValueError("No row has this key.")
    return key


def _find_record(conversation_id: str) -> ConversationRecord | None:
    thread = Thread.objects.filter(thread_id=conversation_id).first()
    return None if thread is None else _to_record(thread)


def _find_records(scope: str | None, limit: int | None) -> list[ConversationRecord]:
    threads = Thread.objects.all() if scope is None else Thread.objects.filter(scope=scope)
    return [_to_record(thread) for thread in threads[:limit]]


def _to_record(thread: Thread) -> ConversationRecord:
    return ConversationRecord(
        conversation_id=thread.thread_id,
        head_id=thread.head,
        usage=codec.load(codec.USAGE, thread.usage),
        deferred_tool_requests=None if thread.deferred is None else codec.load(codec.DEFERRED, thread.deferred),
        scope=thread.scope or None,
        forked_from=thread.forked_from or None,
        forked_at=thread.forked_at or None,
        branches=thread.branches,
        revision=thread.revision,
        updated_at=thread.updated_at,
    )


def _to_fields(record: ConversationRecord) -> dict[str, Any]:
    deferred = record.deferred_tool_requests
    kind, _, pk = (record.scope or "").partition(":")
    return {
        "head": record.head_id,
        "usage": codec.dump(codec.USAGE, record.usage),
        "deferred": None if deferred is None else codec.dump(codec.DEFERRED, deferred),
        "scope": record.scope or "",
        "owner_id": get_user_model()._meta.pk.to_python(pk) if kind == "user" else None,
        "forked_from": record.forked_from or "",
        "forked_at": record.forked_at or "",
        "branches": record.branches,
        "revision": record.revision,
        "updated_at": record.updated_at,
    }


def read_entries(head_id: str, limit: int | None = None) -> list[ConversationEntry]:
    """Read a history up to `head_id`, oldest first, or its last `limit` messages.

    Raises LookupError when a message of it is gone.
    """
    quote = transaction.get_connection(router.db_for_read(Message)).ops.quote_name
    columns = {field.name: quote(field.column) for field in Message._meta.concrete_fields}
    sql = HISTORY.format(messages=quote(Message._meta.db_table), **columns)
    rows = list(Message.objects.raw(sql, [head_id, limit or NO_LIMIT]))
    if not rows or (rows[0].parent is not None and len(rows) != limit):
        raise LookupError(f"The history up to message {head_id!r} is not complete.")
    messages = codec.load_messages([row.data for row in rows])
    return [
        ConversationEntry(id=row.id, parent_id=row.parent, message=message)
        for row, message in zip(rows, messages, strict=True)
    ]


def _write(record: ConversationRecord, new_entries: Sequence[ConversationEntry], expected_revision: str | None) -> None:
    messages = [entry.message for entry in new_entries]
    data = codec.dump_messages(messages)
    fields = _to_fields(record)
    title, preview = title_of(messages), preview_of(messages)
    try:
        with transaction.atomic(using=router.db_for_write(Thread)):
            if expected_revision is None:
                thread_pk = _insert(record, fields, title, preview)
            else:
                thread_pk = _update(record, fields, title, preview, expected_revision)
            if record.head_id is not None and record.head_id not in {entry.id for entry in new_entries}:
                _hold(record)
            Message.objects.bulk_create(
                Message(id=entry.id, parent=entry.parent_id, thread_id=thread_pk, data=row)
                for entry, row in zip(new_entries, data, strict=True)
            )
    except IntegrityError as error:
        # The id is taken, or the thread's owner is gone.
        raise ConversationConflict(record.conversation_id) from error


def _insert(record: ConversationRecord, fields: dict[str, Any], title: str, preview: str) -> int:
    if record.forked_from and not title:
        source = Thread.objects.filter(thread_id=record.forked_from).only("title", "preview").first()
        title, preview = (source.title, source.preview) if source else ("", "")
    return Thread.objects.create(thread_id=record.conversation_id, title=title, preview=preview, **fields).pk


def _update(
    record: ConversationRecord, fields: dict[str, Any], title: str, preview: str, expected_revision: str
) -> int:
    rows = Thread.objects.filter(thread_id=record.conversation_id)
    if title:
        # Only an empty one: a title that somebody gave stays.
        fields["title"] = Case(When(title="", then=Value(title)), default=F("title"))
    if preview:
        fields["preview"] = preview
    if not rows.filter(revision=expected_revision).update(**fields):
        raise ConversationConflict(record.conversation_id)
    return rows.values_list("pk", flat=True).get()


def _hold(record: ConversationRecord) -> None:
    """Keep the thread that has the head from being deleted until this transaction ends."""
    if not list(Thread.objects.select_for_update().filter(messages=record.head_id).values_list("pk")):
        raise ConversationConflict(record.conversation_id)


def delete_thread(thread_id: str, expected_revision: str | None = None) -> None:
    """Delete a thread, in whatever revision by default, and those of its messages that no fork uses."""
    with transaction.atomic(using=router.db_for_write(Thread)):
        thread = Thread.objects.select_for_update().filter(thread_id=thread_id).first()
        if thread is None or expected_revision not in (None, thread.revision):
            raise ConversationConflict(thread_id)
        _hand_over(thread)
        thread.delete()


def _hand_over(thread: Thread) -> None:
    """Give what forks of a thread use of its messages to them."""
    own = Message.objects.filter(thread=thread)
    others = Message.objects.exclude(thread=thread).filter(parent__in=own.values("id"))
    # Not empty: so that the partial index serves.
    forks = Thread.objects.exclude(pk=thread.pk).exclude(forked_at="").filter(forked_at__in=own.values("id"))
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
