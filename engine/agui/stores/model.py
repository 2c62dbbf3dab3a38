"""A store in the database: one row per thread, and one per message.

Messages are appended and never change. Each primitive is one function on one thread (rows.py), and
needs the same number of queries however long the conversation is. Of two writers only one wins,
because the stored revision must still be the one that the writer has read.
"""

from collections.abc import Collection, Sequence
from copy import copy
from functools import partial
from typing import Any, Self, Unpack

from django.db.models import Q
from pydantic_ai import AgentRunResult
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessage

from agui.blocking.executor import in_database
from agui.models import Message, get_conversation_model
from agui.stores import rows
from agui.stores.base import Beginning, ThreadStore, search_words
from agui.stores.deletion import delete_thread
from agui.stores.rows import OnSave, Row
from agui.stores.search import contains, find_matches
from agui.stores.summary import (
    Marks,
    Match,
    ThreadSummary,
    clean,
    fold,
    read_cursor,
    summarize,
    write_cursor,
)
from agui.stores.tree import Link

Thread = get_conversation_model()

SUMMARY = ("thread_id", "title", "preview", "updated_at", "unread", "pinned", "archived")


class ModelConversationStore(ThreadStore):
    """Conversations in agui.models: the default.

    Deleting a conversation deletes its messages, except those that a fork still uses: the fork gets
    them. Deleting a user deletes their conversations.
    """

    _row: Row | None = None
    """The row that was read or written last."""
    _absent: str | None = None
    """The id of a conversation that had no row when it was looked up last."""
    _on_save: OnSave | None = None
    _entries: list[ConversationEntry] | None = None
    """In a view: the messages that were read together with the row."""

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        self._row = await in_database(rows.find_row, conversation_id, self.scope)
        return self._row

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        return await in_database(rows.find_rows, scope, limit)

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        if head_id is None or limit == 0:
            return []
        if self._entries is not None:
            return self._entries
        return await in_database(rows.read_entries, head_id, limit)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return (await self.read_history(entry_id, limit=1))[0]

    async def read_links(self, heads: Sequence[str]) -> dict[str, Link]:
        return await in_database(rows.read_links, heads)

    async def read_messages(self, ids: Collection[str]) -> dict[str, ModelMessage]:
        return await in_database(rows.read_messages, ids)

    async def find_prompts(
        self, conversation_id: str, message_ids: Collection[str]
    ) -> dict[str, Link]:
        row = self._row
        if row is None or row.conversation_id != conversation_id:
            row = await in_database(rows.find_row, conversation_id, self.scope)
        if row is None:
            return {}
        # First ask for the ids alone, to read the whole line only if it may have one of them. A
        # fork shares messages with its source, so ask for those of the owner.
        candidates = Message.objects.filter(prompt_id__in=message_ids)
        if row.forked_from:
            candidates = candidates.filter(thread__scope=row.scope)
        else:
            candidates = candidates.filter(thread=row.pk)
        sent = candidates.values_list("prompt_id", flat=True).distinct()
        stored: set[str] = await in_database(set, sent)
        if not stored:
            return {}
        return await super().find_prompts(conversation_id, stored)

    async def load_turn(self, conversation_id: str, *, limit: int | None, scope: str) -> Beginning:
        try:
            loaded = await in_database(rows.read_thread, conversation_id, scope, limit)
        except LookupError:  # Another request is deleting the thread.
            return await super().load_turn(conversation_id, limit=limit, scope=scope)
        self._row = loaded.row
        if loaded.row is None:
            self._absent = conversation_id
            return Beginning(None, loaded.has_open_run)
        self._absent = None
        reader = self._with_record(loaded.row)
        reader._entries = loaded.entries
        conversation = await reader.load(conversation_id, limit=limit)
        return Beginning(conversation, loaded.has_open_run)

    async def save(
        self,
        conversation: Conversation | AgentRunResult[Any],
        *,
        scope: str | None = None,
        on_save: OnSave | None = None,
    ) -> list[ConversationEntry]:
        if isinstance(conversation, Conversation):
            writer = self._writer_of(conversation)
        else:
            writer = self._writer_of(conversation.conversation)
        writer.scope = self.for_scope(scope).scope
        writer._on_save = on_save
        try:
            return await super(ModelConversationStore, writer).save(conversation, scope=scope)
        finally:
            self._row = writer._row

    def _writer_of(self, conversation: Conversation) -> Self:
        """Copy the store for one save. The copy does not read the row if this store knows it."""
        if self._is_view:
            return copy(self)
        row = self._known_row(conversation.conversation_id, conversation.revision)
        is_new = conversation.revision is None and conversation.conversation_id == self._absent
        if row is None and not is_new:
            return copy(self)
        # If another process has inserted a row meanwhile, the insert of this one fails.
        return self._with_record(row)

    def _known_row(self, conversation_id: str, revision: str | None) -> Row | None:
        row = self._row
        if row and (row.conversation_id, row.revision) == (conversation_id, revision):
            return row
        return None

    async def save_with(
        self, conversation: Conversation, write: OnSave, *, scope: str | None = None
    ) -> None:
        await self.save(conversation, scope=scope, on_save=write)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        row = self._known_row(record.conversation_id, expected_revision)
        self._row = await in_database(
            rows.write, record, new_entries, expected_revision, row, self._on_save
        )

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await in_database(delete_thread, conversation_id, self.scope, expected_revision)

    async def rename(
        self, conversation_id: str, title: str, *, scope: str | None
    ) -> ThreadSummary | None:
        columns = {"title": clean(title)[:255], "words": fold(title)}
        return await self._change(conversation_id, scope, columns)

    async def retitle(
        self, conversation_id: str, title: str, before: str, *, scope: str | None
    ) -> bool:
        threads = rows.select_threads(conversation_id, scope).filter(title=before)
        columns = {"title": clean(title)[:255], "words": fold(title)}
        return bool(await in_database(partial(threads.update, **columns)))

    async def mark(
        self, conversation_id: str, *, scope: str | None, **marks: Unpack[Marks]
    ) -> ThreadSummary | None:
        return await self._change(conversation_id, scope, {**marks})

    async def _change(
        self, conversation_id: str, scope: str | None, columns: dict[str, Any]
    ) -> ThreadSummary | None:
        """Change a row, but not its revision: a run that is under way can still save."""
        threads = rows.select_threads(conversation_id, scope)
        if not await in_database(partial(threads.update, **columns)):
            return None
        return await self.summary(conversation_id, scope=scope)

    async def summary(self, conversation_id: str, *, scope: str | None) -> ThreadSummary | None:
        threads = rows.select_threads(conversation_id, scope)
        row: Any = await in_database(threads.values(*SUMMARY).first)
        if row is None:
            return None
        return summarize(**row)

    async def summaries(
        self,
        scope: str,
        q: str = "",
        cursor: str | None = None,
        limit: int = 30,
        *,
        archived: bool = False,
    ) -> tuple[list[ThreadSummary], str | None]:
        # SQLite finds no "NOT archived" in an index, but "archived IN (0)".
        threads = Thread.objects.filter(scope=scope, archived__in=[archived])
        threads = threads.order_by("-pinned", "-updated_at", "-pk")
        for word in search_words(q):
            threads = threads.filter(contains(word, scope))
        if cursor:
            pinned, updated_at, pk = read_cursor(cursor, _to_key)
            older = Q(pinned__in=[pinned], updated_at__lte=updated_at)
            older &= ~Q(updated_at=updated_at, pk__gte=pk)
            threads = threads.filter(older | Q(pinned=False) if pinned else older)
        rows_of_page = threads.values_list(*SUMMARY, "pk", named=True)
        # The row after the page says whether there is another page.
        page: list[Any] = await in_database(list, rows_of_page[: limit + 1])
        summaries = [_summarize(row) for row in page[:limit]]
        if len(page) <= limit:
            return summaries, None
        last = page[limit - 1]
        return summaries, write_cursor(last.pinned, last.updated_at, last.pk)

    async def matches(self, thread_ids: Sequence[str], q: str, *, scope: str) -> dict[str, Match]:
        words = search_words(q)
        if not words or not thread_ids:
            return {}
        return await in_database(find_matches, thread_ids, words, scope)


def _summarize(row: Any) -> ThreadSummary:
    columns = row._asdict()
    del columns["pk"]
    return summarize(**columns)


def _to_key(text: str) -> int:
    """Read a primary key. Raises ValueError for a number that is out of a database's range."""
    key = int(text)
    if not 0 <= key < 2**63:
        raise ValueError("No row has this key.")
    return key
