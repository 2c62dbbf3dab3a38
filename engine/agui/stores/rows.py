"""The rows of conversations, as ModelConversationStore reads and writes them.

Each function works on one thread, and runs in a thread of the database pool.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connections, router, transaction
from django.db.models import Case, F, Q, QuerySet, TextField, Value, When
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage

from agui import statements
from agui.models import AbstractConversation, Message, get_conversation_model
from agui.namespaces import owner_of
from agui.stores import codec
from agui.stores.summary import ends_in_an_answer, fold, preview_of, title_of, words_of
from agui.stores.tree import Link, prompt_id

Thread = get_conversation_model()

OnSave = Callable[[str], None]
"""Writes what goes with a save, in its transaction. It is called with the new revision."""
NO_LIMIT = 2**31 - 1

# A thread, and whether a run on it has not ended, as they are at the same time.
THREAD = f"""
SELECT *, EXISTS (
    SELECT 1 FROM agui_run r
    WHERE r.thread_id = t.thread_id AND r.scope = t.scope AND status = 'running'
) AS has_open_run
FROM "{Thread._meta.db_table}" t WHERE thread_id = %s AND scope = %s
"""  # noqa: S608 - the name of a table

# A history, from its newest message along the parents.
HISTORY = """
WITH RECURSIVE history (id, parent, data, depth) AS (
    SELECT id, parent, data, 1 FROM agui_message WHERE id = %s
    UNION ALL
    SELECT m.id, m.parent, m.data, h.depth + 1
    FROM agui_message m JOIN history h ON m.id = h.parent
    WHERE h.depth < %s
)
SELECT id, parent, data FROM history ORDER BY depth DESC
"""

# The messages of all lines that end at the given ones, each message once.
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
    """A record, with more columns of its row."""

    pk: int = 0
    is_titled: bool = False


class Loaded(NamedTuple):
    """The rows that a turn begins with."""

    row: Row | None
    entries: list[ConversationEntry]
    has_open_run: bool


def read_thread(conversation_id: str, scope: str, limit: int | None) -> Loaded:
    """Read a thread, its last messages, and whether a run on it has not ended.

    Raises LookupError if a message of the thread is missing.
    """
    threads = statements.fetch(Thread, THREAD, [conversation_id, scope])
    if not threads:
        return Loaded(None, [], has_open_run=False)
    row = _to_row(threads[0])
    entries = read_entries(row.head_id, limit) if row.head_id else []
    return Loaded(row, entries, bool(vars(threads[0])["has_open_run"]))


def find_row(conversation_id: str, scope: str | None) -> Row | None:
    """Read the row of a thread. Raises UserError without a scope if several owners use the id."""
    owned = {} if scope is None else {"scope": scope}
    threads = statements.select(Thread, thread_id=conversation_id, **owned)
    if len(threads) > 1:
        raise UserError(
            f"Several owners have a conversation {conversation_id!r}: "
            "pass the scope of the one you mean."
        )
    return _to_row(threads[0]) if threads else None


def find_rows(scope: str | None, limit: int | None) -> list[Row]:
    threads = Thread.objects.all()
    if scope is not None:
        threads = threads.filter(scope=scope)
    return [_to_row(thread) for thread in threads[:limit]]


def select_threads(conversation_id: str, scope: str | None) -> QuerySet[AbstractConversation]:
    """Select the thread with this id and this owner."""
    return Thread.objects.filter(thread_id=conversation_id, scope=scope or "")


def _to_row(thread: AbstractConversation) -> Row:
    deferred = None
    if thread.deferred is not None:
        deferred = codec.load(codec.DEFERRED, thread.deferred)
    return Row(
        pk=thread.pk,
        is_titled=bool(thread.title),
        conversation_id=thread.thread_id,
        head_id=thread.head,
        usage=codec.load(codec.USAGE, thread.usage),
        deferred_tool_requests=deferred,
        scope=thread.scope or None,
        forked_from=thread.forked_from or None,
        forked_at=thread.forked_at or None,
        branches=thread.branches,
        revision=thread.revision,
        updated_at=thread.updated_at,
    )


def _to_fields(record: ConversationRecord) -> dict[str, Any]:
    """Convert a record to the columns that change with a save."""
    deferred = record.deferred_tool_requests
    if deferred is not None:
        deferred = codec.dump(codec.DEFERRED, deferred)
    return {
        "head": record.head_id,
        "usage": codec.dump(codec.USAGE, record.usage),
        "deferred": deferred,
        "branches": record.branches,
        "revision": record.revision,
        "updated_at": record.updated_at,
    }


def read_entries(head_id: str, limit: int | None = None) -> list[ConversationEntry]:
    """Read a history up to `head_id`, oldest first, or its last `limit` messages.

    Raises LookupError if a message of it is missing.
    """
    rows = _read(HISTORY, [head_id, limit or NO_LIMIT])
    if not rows or (rows[0][1] is not None and len(rows) != limit):
        raise LookupError(f"The history up to message {head_id!r} is not complete.")
    messages = codec.load_messages([data for _, _, data in rows])
    entries = []
    for (entry_id, parent_id, _), message in zip(rows, messages, strict=True):
        entries.append(ConversationEntry(id=entry_id, parent_id=parent_id, message=message))
    return entries


def read_links(heads: Sequence[str]) -> dict[str, Link]:
    placeholders = ", ".join(["%s"] * len(heads))
    rows = _read(LINKS.format(placeholders), heads)
    return {row[0]: Link(*row) for row in rows}


def read_messages(ids: Collection[str]) -> dict[str, ModelMessage]:
    rows = dict(Message.objects.filter(pk__in=ids).values_list("pk", "data"))
    messages = codec.load_messages(list(rows.values()))
    return dict(zip(rows, messages, strict=True))


def _read(sql: str, params: Sequence[Any]) -> list[Any]:
    with connections[router.db_for_read(Thread)].cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def write(
    record: ConversationRecord,
    new_entries: Sequence[ConversationEntry],
    expected_revision: str | None,
    row: Row | None = None,
    on_save: OnSave | None = None,
) -> Row:
    """Write a record and its new messages, or raise ConversationConflict and write nothing."""
    try:
        return _write(record, new_entries, expected_revision, row, on_save)
    except ConversationConflict:
        stored = find_row(record.conversation_id, record.scope or "")
        # A second attempt after one whose answer the database could not deliver finds its own row.
        if stored and (stored.revision, stored.head_id) == (record.revision, record.head_id):
            return stored
        raise


def _write(
    record: ConversationRecord,
    new_entries: Sequence[ConversationEntry],
    expected_revision: str | None,
    row: Row | None,
    on_save: OnSave | None,
) -> Row:
    messages = [entry.message for entry in new_entries]
    new_rows = _to_messages(new_entries)
    new_ids = [new.id for new in new_rows]
    fields = _to_fields(record)
    if messages:
        fields["unread"] = ends_in_an_answer(messages)
    was_titled = row is not None and row.is_titled
    title = "" if was_titled else title_of(messages)
    preview = preview_of(messages)
    try:
        with transaction.atomic(using=router.db_for_write(Thread)):
            if expected_revision is None:
                pk = _insert(record, fields, title, preview)
            else:
                if row is not None and row.branches == record.branches:
                    del fields["branches"]
                owned = {"thread_id": record.conversation_id, "scope": record.scope or ""}
                _add_words(fields, title, preview)
                if not statements.update(Thread, fields, revision=expected_revision, **owned):
                    raise ConversationConflict(record.conversation_id)
                pk = row.pk if row else statements.select(Thread, **owned)[0].pk
            if record.head_id is not None and record.head_id not in new_ids:
                _hold(record)
            for message in new_rows:
                message.thread_id = pk
            statements.insert_all(new_rows)
            if on_save is not None:
                on_save(record.revision)
    except IntegrityError as error:
        # The id is taken, or the thread's owner is gone.
        raise ConversationConflict(record.conversation_id) from error
    return Row(**{**vars(record), "pk": pk, "is_titled": was_titled or bool(title)})


def _to_messages(entries: Sequence[ConversationEntry]) -> list[Message]:
    data = codec.dump_messages([entry.message for entry in entries])
    messages = []
    for entry, text in zip(entries, data, strict=True):
        message = Message(
            id=entry.id,
            parent=entry.parent_id,
            prompt_id=prompt_id(entry.message),
            data=text,
            words=words_of(entry.message),
        )
        messages.append(message)
    return messages


def _insert(record: ConversationRecord, fields: dict[str, Any], title: str, preview: str) -> int:
    if record.forked_from and not title:
        source = select_threads(record.forked_from, record.scope).only("title", "preview").first()
        title, preview = (source.title, source.preview) if source else ("", "")
    kind, _, user_pk = owner_of(record.scope or "").partition(":")
    owner_pk = None
    if kind == "user":
        owner_pk = get_user_model()._meta.pk.to_python(user_pk)
    thread = Thread(
        thread_id=record.conversation_id,
        scope=record.scope or "",
        owner_id=owner_pk,
        title=title,
        words=fold(title),
        preview=preview,
        forked_from=record.forked_from or "",
        forked_at=record.forked_at or "",
        **fields,
    )
    statements.insert(thread)
    return thread.pk


def _add_words(fields: dict[str, Any], title: str, preview: str) -> None:
    """Add what lists show of a thread to the columns of an update."""
    if title:
        # Replace an empty title only: one that a user gave stays.
        new_title = When(title="", then=Value(title))
        new_words = When(title="", then=Value(fold(title)))
        fields["title"] = Case(new_title, default=F("title"))
        fields["words"] = Case(new_words, default=F("words"), output_field=TextField())
    if preview:
        fields["preview"] = preview


def _hold(record: ConversationRecord) -> None:
    """Lock the thread that has the head, so that nobody deletes it before this transaction ends."""
    holders = Thread.objects.select_for_update().filter(Q(messages=record.head_id))
    if not list(holders.values_list("pk")):
        raise ConversationConflict(record.conversation_id)
