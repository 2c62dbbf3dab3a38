"""Keep conversations in the visitor's session, for sites without tables for them.

When a stream ends, the session middleware has long saved the session. So this store saves it
itself: it loads the session again, changes its own key and saves, which keeps what others have
written meanwhile. Within one process writers take turns, with the middleware, too. Between
processes a session has no lock, and the last save of the whole session wins: use
ModelConversationStore if that matters.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from threading import RLock
from typing import Any, Self, TypeVar, Unpack

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError

from agui.blocking.executor import in_database
from agui.stores import codec
from agui.stores.base import ThreadStore
from agui.stores.deletion import delete_traces
from agui.stores.summary import (
    Marks,
    ThreadSummary,
    clean,
    ends_in_an_answer,
    preview_of,
    summarize,
    title_of,
)

SESSION_KEY = "agui_conversations"
SIGNED_COOKIES = "django.contrib.sessions.backends.signed_cookies"

T = TypeVar("T")
Row = dict[str, Any]
"""A thread: {"record", "title", "preview", and Marks}, or a message: {"parent", "data"}."""
Tables = dict[str, dict[str, Row]]
"""The content of the session: {"threads": {scope: {id: thread}}, "messages": {id: message}}."""


class DjangoSessionConversationStore(ThreadStore):
    """Conversations of one session. The first save gives a request without a session a new one.

    Deleting a conversation deletes its messages, except those that another one uses.
    """

    _lock = RLock()

    def __init__(self, session_key: str | None, session: SessionBase | None = None) -> None:
        if settings.SESSION_ENGINE == SIGNED_COOKIES:
            raise ImproperlyConfigured(
                f"SESSION_ENGINE = {SIGNED_COOKIES!r} can't be written once a response has "
                "started: keep sessions in the database or the cache, or use "
                "ModelConversationStore."
            )
        self.session_key = session_key
        self.session = session
        if session is not None:
            self._let_take_turns(session)

    @classmethod
    def for_request(cls, request: HttpRequest) -> Self:
        return cls(request.session.session_key, request.session)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        thread = _find(await self._read_tables(), conversation_id, self.scope)
        return _record(thread) if thread else None

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        tables = await self._read_tables()
        records = [_record(thread) for thread in _threads(tables, scope)]
        records.sort(key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        rows = (await self._read_tables())["messages"]
        ids: list[str] = []
        while head_id is not None and (limit is None or len(ids) < limit):
            ids.append(head_id)
            head_id = rows[head_id]["parent"]
        # The loop walked from the head to the root; a history begins at the root.
        ids.reverse()
        messages = codec.load_messages([rows[entry_id]["data"] for entry_id in ids])
        entries = []
        for entry_id, message in zip(ids, messages, strict=True):
            parent_id = rows[entry_id]["parent"]
            entries.append(ConversationEntry(id=entry_id, parent_id=parent_id, message=message))
        return entries

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        [entry] = await self.read_history(entry_id, limit=1)
        return entry

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        def write(tables: Tables) -> None:
            thread = _find(tables, record.conversation_id, record.scope or "")
            revision = _record(thread).revision if thread else None
            if revision != expected_revision:
                raise ConversationConflict(record.conversation_id)
            _add(tables, record, new_entries)

        await self._change(record.conversation_id, write)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        def delete(tables: Tables) -> str:
            thread = _find(tables, conversation_id, self.scope, expected_revision)
            if thread is None:
                raise ConversationConflict(conversation_id)
            scope = _record(thread).scope or ""
            del tables["threads"][scope][conversation_id]
            _sweep(tables)
            return scope

        scope = await self._change(conversation_id, delete)
        await in_database(delete_traces, conversation_id, scope)

    async def rename(
        self, conversation_id: str, title: str, *, scope: str | None
    ) -> ThreadSummary | None:
        return await self._update(conversation_id, scope, title=clean(title)[:255])

    async def mark(
        self, conversation_id: str, *, scope: str | None, **marks: Unpack[Marks]
    ) -> ThreadSummary | None:
        return await self._update(conversation_id, scope, **marks)

    async def _update(
        self, conversation_id: str, scope: str | None, **fields: Any
    ) -> ThreadSummary | None:
        # Look before the change: a change creates a session for a visitor who has none.
        if await self.summary(conversation_id, scope=scope) is None:
            return None

        def update(tables: Tables) -> ThreadSummary | None:
            thread = _find(tables, conversation_id, scope)
            if thread is None:
                return None
            thread.update(fields)
            return _summary(thread)

        return await self._change(conversation_id, update)

    async def describe(self, record: ConversationRecord) -> ThreadSummary:
        [summary] = await self.describe_all([record])
        return summary

    async def describe_all(self, records: Sequence[ConversationRecord]) -> list[ThreadSummary]:
        tables = await self._read_tables()
        summaries = []
        for record in records:
            thread = _find(tables, record.conversation_id, record.scope or "")
            summaries.append(_summary(thread or {"record": codec.dump(codec.RECORD, record)}))
        return summaries

    async def _read_tables(self) -> Tables:
        return await in_database(lambda: _tables(self._load()))

    async def _change(self, conversation_id: str, change: Callable[[Tables], T]) -> T:
        return await in_database(self._change_session, conversation_id, change)

    def _change_session(self, conversation_id: str, change: Callable[[Tables], T]) -> T:
        with self._lock:
            if self.session_key is None and self.session is not None:
                self.session.create()
                self.session_key = self.session.session_key
            # Another request may have changed the session since this one loaded it.
            session = self._load()
            tables = _tables(session)
            if session.session_key is None:
                # The visitor has signed out meanwhile: their conversations stay deleted.
                raise ConversationConflict(conversation_id)
            result = change(tables)
            session[SESSION_KEY] = tables
            try:
                session.save()
            except UpdateError:
                raise ConversationConflict(conversation_id) from None
            self._update_request(tables)
        return result

    def _let_take_turns(self, session: SessionBase) -> None:
        """Let the middleware, which may save a session while its run ends, not undo the answer."""
        save = session.save

        def save_alone(must_create: bool = False) -> None:
            with self._lock:
                save(must_create)

        session.save = save_alone  # type: ignore[method-assign]

    def _load(self) -> SessionBase:
        session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore(self.session_key)
        return session

    def _update_request(self, tables: Tables) -> None:
        """Change the request's own copy of the session: if it is saved, it must not undo this."""
        if self.session is not None:
            modified = self.session.modified
            self.session[SESSION_KEY] = tables
            self.session.modified = modified


def _tables(session: SessionBase) -> Tables:
    tables: Tables = session.get(SESSION_KEY) or {"threads": {}, "messages": {}}
    return tables


def _by_scope(tables: Tables, scope: str | None) -> list[Row]:
    """Return the threads of one scope, or of each scope, by id."""
    if scope is None:
        return list(tables["threads"].values())
    return [tables["threads"].get(scope, {})]


def _threads(tables: Tables, scope: str | None) -> Iterator[Row]:
    for threads in _by_scope(tables, scope):
        yield from threads.values()


def _find(
    tables: Tables, conversation_id: str, scope: str | None, revision: str | None = None
) -> Row | None:
    """Find a thread, by its revision if one is given.

    Raises UserError if there is no scope and several owners use the id.
    """
    matches = []
    for threads in _by_scope(tables, scope):
        thread = threads.get(conversation_id)
        if thread and (revision is None or _record(thread).revision == revision):
            matches.append(thread)
    if len(matches) > 1:
        raise UserError(
            f"Several owners have a conversation {conversation_id!r}: "
            "pass the scope of the one you mean."
        )
    return matches[0] if matches else None


def _record(thread: Row) -> ConversationRecord:
    return codec.load(codec.RECORD, thread["record"])


def _summary(thread: Row) -> ThreadSummary:
    record = _record(thread)
    return summarize(
        record.conversation_id,
        thread.get("title", ""),
        thread.get("preview", ""),
        record.updated_at,
        unread=thread.get("unread", False),
        pinned=thread.get("pinned", False),
        archived=thread.get("archived", False),
    )


def _add(
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


def _sweep(tables: Tables) -> None:
    """Delete the messages that no thread reaches."""
    # Forks share messages with their source, so a message may belong to several threads.
    reached: dict[str, Row] = {}
    for thread in _threads(tables, None):
        record = _record(thread)
        for message_id in [record.head_id, *record.branches]:
            while message_id is not None and message_id not in reached:
                row = tables["messages"][message_id]
                reached[message_id] = row
                message_id = row["parent"]
    tables["messages"] = reached
