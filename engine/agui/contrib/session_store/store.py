"""Keep conversations in the visitor's session, for sites without tables for them.

When a stream ends, the session middleware has long saved the session. So this store saves it
itself: it loads the session again, changes its own key and saves, which keeps what others have
written meanwhile. Within one process writers take turns, with the middleware, too. Between
processes a session has no lock, and the last save of the whole session wins: use
ModelConversationStore if that matters.
"""

from collections.abc import Callable, Sequence
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

from agui.blocking.executor import in_database
from agui.contrib.session_store.tables import (
    SESSION_KEY,
    Tables,
    add,
    find,
    record_of,
    summary_of,
    sweep,
    tables_of,
    threads_of,
)
from agui.stores import codec
from agui.stores.base import ThreadStore
from agui.stores.deletion import delete_traces
from agui.stores.summary import Marks, ThreadSummary, clean

SIGNED_COOKIES = "django.contrib.sessions.backends.signed_cookies"

T = TypeVar("T")


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
        thread = find(await self._read_tables(), conversation_id, self.scope)
        return record_of(thread) if thread else None

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        tables = await self._read_tables()
        records = [record_of(thread) for thread in threads_of(tables, scope)]
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
            thread = find(tables, record.conversation_id, record.scope or "")
            revision = record_of(thread).revision if thread else None
            if revision != expected_revision:
                raise ConversationConflict(record.conversation_id)
            add(tables, record, new_entries)

        await self._change(record.conversation_id, write)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        def delete(tables: Tables) -> str:
            thread = find(tables, conversation_id, self.scope, expected_revision)
            if thread is None:
                raise ConversationConflict(conversation_id)
            scope = record_of(thread).scope or ""
            del tables["threads"][scope][conversation_id]
            sweep(tables)
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
            thread = find(tables, conversation_id, scope)
            if thread is None:
                return None
            thread.update(fields)
            return summary_of(thread)

        return await self._change(conversation_id, update)

    async def describe(self, record: ConversationRecord) -> ThreadSummary:
        [summary] = await self.describe_all([record])
        return summary

    async def describe_all(self, records: Sequence[ConversationRecord]) -> list[ThreadSummary]:
        tables = await self._read_tables()
        summaries = []
        for record in records:
            thread = find(tables, record.conversation_id, record.scope or "")
            summaries.append(summary_of(thread or {"record": codec.dump(codec.RECORD, record)}))
        return summaries

    async def _read_tables(self) -> Tables:
        return await in_database(lambda: tables_of(self._load()))

    async def _change(self, conversation_id: str, change: Callable[[Tables], T]) -> T:
        return await in_database(self._change_session, conversation_id, change)

    def _change_session(self, conversation_id: str, change: Callable[[Tables], T]) -> T:
        with self._lock:
            if self.session_key is None and self.session is not None:
                self.session.create()
                self.session_key = self.session.session_key
            # Another request may have changed the session since this one loaded it.
            session = self._load()
            tables = tables_of(session)
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
