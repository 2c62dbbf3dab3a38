"""Read and change what a session keeps of conversations."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError

from agui.stores import codec
from agui.stores.summary import ThreadSummary, ends_in_an_answer, preview_of, summarize, title_of

SESSION_KEY = "agui_conversations"

Row = dict[str, Any]
"""A thread: {"record", "title", "preview", and Marks}, or a message: {"parent", "data"}."""
Tables = dict[str, dict[str, Row]]
"""The content of the session: {"threads": {scope: {id: thread}}, "messages": {id: message}}."""


def tables_of(session: SessionBase) -> Tables:
    tables: Tables = session.get(SESSION_KEY) or {"threads": {}, "messages": {}}
    return tables


def _by_scope(tables: Tables, scope: str | None) -> list[Row]:
    """Return the threads of one scope, or of each scope, by id."""
    if scope is None:
        return list(tables["threads"].values())
    return [tables["threads"].get(scope, {})]


def threads_of(tables: Tables, scope: str | None) -> Iterator[Row]:
    for threads in _by_scope(tables, scope):
        yield from threads.values()


def find(
    tables: Tables, conversation_id: str, scope: str | None, revision: str | None = None
) -> Row | None:
    """Find a thread, by its revision if one is given.

    Raises UserError if there is no scope and several owners use the id.
    """
    matches = []
    for threads in _by_scope(tables, scope):
        thread = threads.get(conversation_id)
        if thread and (revision is None or record_of(thread).revision == revision):
            matches.append(thread)
    if len(matches) > 1:
        raise UserError(
            f"Several owners have a conversation {conversation_id!r}: "
            "pass the scope of the one you mean."
        )
    return matches[0] if matches else None


def record_of(thread: Row) -> ConversationRecord:
    return codec.load(codec.RECORD, thread["record"])


def summary_of(thread: Row) -> ThreadSummary:
    record = record_of(thread)
    return summarize(
        record.conversation_id,
        thread.get("title", ""),
        thread.get("preview", ""),
        record.updated_at,
        unread=thread.get("unread", False),
        pinned=thread.get("pinned", False),
        archived=thread.get("archived", False),
    )


def add(
    tables: Tables, record: ConversationRecord, new_entries: Sequence[ConversationEntry]
) -> None:
    rows = tables["messages"]
    messages = [entry.message for entry in new_entries]
    for entry, data in zip(new_entries, codec.dump_messages(messages), strict=True):
        rows[entry.id] = {"parent": entry.parent_id, "data": data}
    if record.head_id is not None and record.head_id not in rows:
        raise ConversationConflict(record.conversation_id)
    threads = tables["threads"].setdefault(record.scope or "", {})
    before = threads.get(record.conversation_id) or {}
    # A fork begins with the title and the preview of the thread that it comes from.
    source = before or threads.get(record.forked_from or "") or {}
    unread = before.get("unread", False)
    if messages:
        unread = ends_in_an_answer(messages)
    threads[record.conversation_id] = {
        "record": codec.dump(codec.RECORD, record),
        "title": source.get("title") or title_of(messages),
        "preview": preview_of(messages) or source.get("preview", ""),
        "unread": unread,
        "pinned": before.get("pinned", False),
        "archived": before.get("archived", False),
    }


def sweep(tables: Tables) -> None:
    """Delete the messages that no thread reaches."""
    # Forks share messages with their source, so a message may belong to several threads.
    reached: dict[str, Row] = {}
    for thread in threads_of(tables, None):
        record = record_of(thread)
        for message_id in [record.head_id, *record.branches]:
            while message_id is not None and message_id not in reached:
                row = tables["messages"][message_id]
                reached[message_id] = row
                message_id = row["parent"]
    tables["messages"] = reached
