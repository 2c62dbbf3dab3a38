"""Keep conversations in the visitor's session, for sites without tables for them.

The session middleware is long done when a stream ends, so this store saves the session itself: it
reads it anew, changes its own key and saves, and so keeps what others have put there meanwhile.
Within one process writers take turns. Between processes a session has no lock, so that the last
save of the whole session wins: use ModelConversationStore where that matters.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Lock
from typing import Any, Self, TypeVar

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
Kept = dict[str, dict[str, dict[str, Any]]]
"""{"threads": {scope: {id: {"record", "title", "preview", "unread"}}}, "messages": {id: {"parent", "data"}}}"""


class DjangoSessionConversationStore(ThreadStore):
    """Conversations of one session. A request without a session gets one with the first save.

    Deleting a conversation deletes its messages, but for those that another one still uses.
    """

    _lock = Lock()

    def __init__(self, session_key: str | None, session: SessionBase | None = None) -> None:
        if settings.SESSION_ENGINE == SIGNED_COOKIES:
            raise ImproperlyConfigured(
                f"SESSION_ENGINE = {SIGNED_COOKIES!r} can't be written once a response has started: "
                "keep sessions in the database or the cache, or use ModelConversationStore."
            )
        self.session_key = session_key
        self.session = session

    @classmethod
    def for_request(cls, request: HttpRequest) -> Self:
        return cls(request.session.session_key, request.session)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        thread = _find(await self._read_kept(), conversation_id, self.scope)
        return None if thread is None else codec.load(codec.RECORD, thread["record"])

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        kept = await self._read_kept()
        records = [codec.load(codec.RECORD, thread["record"]) for thread in _threads(kept, scope)]
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        messages = (await self._read_kept())["messages"]
        ids: list[str] = []
        while head_id is not None and (limit is None or len(ids) < limit):
            ids.append(head_id)
            head_id = messages[head_id]["parent"]
        ids.reverse()
        loaded = codec.load_messages([messages[one]["data"] for one in ids])
        return [
            ConversationEntry(id=one, parent_id=messages[one]["parent"], message=message)
            for one, message in zip(ids, loaded, strict=True)
        ]

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return (await self.read_history(entry_id, limit=1))[0]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        def write(kept: Kept) -> None:
            _check_revision(kept, record.conversation_id, record.scope or "", expected_revision)
            _add(kept, record, new_entries)

        await self._change(record.conversation_id, write)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        def delete(kept: Kept) -> str:
            thread = _find(kept, conversation_id, self.scope, expected_revision)
            if thread is None:
                raise ConversationConflict(conversation_id)
            scope = codec.load(codec.RECORD, thread["record"]).scope or ""
            del kept["threads"][scope][conversation_id]
            _sweep(kept)
            return scope

        scope = await self._change(conversation_id, delete)
        await in_database(delete_traces, conversation_id, scope)

    async def rename(
        self, conversation_id: str, title: str, *, scope: str | None
    ) -> ThreadSummary | None:
        return await self._describe_anew(conversation_id, scope, title=clean(title)[:255])

    async def mark(
        self, conversation_id: str, *, unread: bool, scope: str | None
    ) -> ThreadSummary | None:
        return await self._describe_anew(conversation_id, scope, unread=unread)

    async def _describe_anew(
        self, conversation_id: str, scope: str | None, **fields: Any
    ) -> ThreadSummary | None:
        if await self.summary(conversation_id, scope=scope) is None:
            return None

        def describe(kept: Kept) -> ThreadSummary | None:
            thread = _find(kept, conversation_id, scope)
            if thread is None:
                return None
            thread |= fields
            return _summary(thread)

        return await self._change(conversation_id, describe)

    async def describe(self, record: ConversationRecord) -> ThreadSummary:
        thread = _find(await self._read_kept(), record.conversation_id, record.scope or "")
        return _summary(thread or {"record": codec.dump(codec.RECORD, record)})

    async def _read_kept(self) -> Kept:
        return await in_database(lambda: _kept(self._open()))

    async def _change(self, conversation_id: str, change: Callable[[Kept], T]) -> T:
        return await in_database(self._change_session, conversation_id, change)

    def _change_session(self, conversation_id: str, change: Callable[[Kept], T]) -> T:
        with self._lock:
            if self.session_key is None and self.session is not None:
                self.session.create()
                self.session_key = self.session.session_key
            session = self._open()
            kept = _kept(session)
            if session.session_key is None:
                # The visitor signed out meanwhile: what is gone stays gone.
                raise ConversationConflict(conversation_id)
            result = change(kept)
            session[SESSION_KEY] = kept
            try:
                session.save()
            except UpdateError:
                raise ConversationConflict(conversation_id) from None
        self._tell_request(kept)
        return result

    def _open(self) -> SessionBase:
        session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore(self.session_key)
        return session

    def _tell_request(self, kept: Kept) -> None:
        """Let the request's own copy of the session, should it be saved, not undo the change."""
        if self.session is not None:
            modified = self.session.modified
            self.session[SESSION_KEY] = kept
            self.session.modified = modified


def _kept(session: SessionBase) -> Kept:
    kept: Kept = session.get(SESSION_KEY) or {"threads": {}, "messages": {}}
    return kept


def _by_scope(kept: Kept, scope: str | None) -> list[dict[str, Any]]:
    """List the threads of a scope, or those of each; by id."""
    return list(kept["threads"].values()) if scope is None else [kept["threads"].get(scope, {})]


def _threads(kept: Kept, scope: str | None) -> list[dict[str, Any]]:
    return [thread for threads in _by_scope(kept, scope) for thread in threads.values()]


def _find(
    kept: Kept, conversation_id: str, scope: str | None, revision: str | None = None
) -> dict[str, Any] | None:
    """Find a thread. Raises UserError without a scope and a revision if several owners use the id."""
    found = [
        threads[conversation_id] for threads in _by_scope(kept, scope) if conversation_id in threads
    ]
    if revision is not None:
        found = [
            one for one in found if codec.load(codec.RECORD, one["record"]).revision == revision
        ]
    if len(found) > 1:
        raise UserError(
            f"Several owners have a conversation {conversation_id!r}: pass the scope of the one you mean."
        )
    return found[0] if found else None


def _summary(thread: dict[str, Any]) -> ThreadSummary:
    record = codec.load(codec.RECORD, thread["record"])
    title, preview, unread = (
        thread.get("title", ""),
        thread.get("preview", ""),
        thread.get("unread", False),
    )
    return summarize(record.conversation_id, title, preview, record.updated_at, unread)


def _check_revision(
    kept: Kept, conversation_id: str, scope: str, expected_revision: str | None
) -> None:
    thread = _find(kept, conversation_id, scope)
    if (
        codec.load(codec.RECORD, thread["record"]).revision if thread else None
    ) != expected_revision:
        raise ConversationConflict(conversation_id)


def _add(kept: Kept, record: ConversationRecord, new_entries: Sequence[ConversationEntry]) -> None:
    threads, rows = kept["threads"].setdefault(record.scope or "", {}), kept["messages"]
    messages = [entry.message for entry in new_entries]
    for entry, data in zip(new_entries, codec.dump_messages(messages), strict=True):
        rows[entry.id] = {"parent": entry.parent_id, "data": data}
    if record.head_id is not None and record.head_id not in rows:
        raise ConversationConflict(record.conversation_id)
    known = threads.get(record.conversation_id) or {}
    before = known or threads.get(record.forked_from or "") or {}
    threads[record.conversation_id] = {
        "record": codec.dump(codec.RECORD, record),
        "title": before.get("title") or title_of(messages),
        "preview": preview_of(messages) or before.get("preview", ""),
        "unread": ends_in_an_answer(messages) if messages else known.get("unread", False),
    }


def _sweep(kept: Kept) -> None:
    """Drop the messages that no thread reaches any more."""
    reached: dict[str, dict[str, Any]] = {}
    for thread in _threads(kept, None):
        record = codec.load(codec.RECORD, thread["record"])
        for message_id in [record.head_id, *record.branches]:
            while message_id is not None and message_id not in reached:
                reached[message_id] = kept["messages"][message_id]
                message_id = reached[message_id]["parent"]
    kept["messages"] = reached
