"""Keep conversations in the database: one row a thread, one row a message, appended and never
changed.

Every primitive is one function on one thread (rows.py), and costs the same number of queries
however long the conversation is. A revision that must still be the stored one lets exactly one of
two writers win.
"""

from collections.abc import Collection, Sequence
from copy import copy
from typing import Any

from django.db.models import Exists, OuterRef, Q
from pydantic_ai import AgentRunResult
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessage

from agui.blocking.executor import in_database
from agui.models import Message, Thread
from agui.stores import rows
from agui.stores.base import Beginning, ThreadStore, search_words
from agui.stores.branches import Link
from agui.stores.rows import Note, Row
from agui.stores.summary import ThreadSummary, clean, fold, read_cursor, summarize, write_cursor

SUMMARY = ("thread_id", "title", "preview", "updated_at", "unread")


class ModelConversationStore(ThreadStore):
    """Conversations in agui.models: the default.

    Deleting one deletes its messages, but for those that a fork of it still uses: they become the
    fork's. Deleting a user deletes his conversations.
    """

    _row: Row | None = None
    """What was read or written last."""
    _absent: str | None = None
    """The id of a conversation that is not there yet."""
    _note: Note | None = None
    _entries: list[ConversationEntry] | None = None
    """In a view: what was read along with the row."""

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
        # What nobody has is not looked for along the whole line. A fork has messages that are its
        # source's.
        place = {"thread__scope": row.scope} if row.forked_from else {"thread": row.pk}
        sent = Message.objects.filter(prompt_id__in=message_ids, **place)
        known = await in_database(lambda: set(sent.values_list("prompt_id", flat=True).distinct()))
        return await super().find_prompts(conversation_id, known) if known else {}

    async def load_turn(self, conversation_id: str, *, limit: int | None, scope: str) -> Beginning:
        try:
            loaded = await in_database(rows.read_thread, conversation_id, scope, limit)
        except LookupError:  # Deleted at this very moment
            return await super().load_turn(conversation_id, limit=limit, scope=scope)
        self._row = loaded.row
        self._absent = conversation_id if loaded.row is None else None
        if loaded.row is None:
            return Beginning(None, loaded.has_open_run)
        reader = self._going_by(loaded.row)
        reader._entries = loaded.entries
        conversation = await reader.load(conversation_id, limit=limit)
        return Beginning(conversation, loaded.has_open_run)

    async def save(
        self,
        conversation: Conversation | AgentRunResult[Any],
        *,
        scope: str | None = None,
        note: Note | None = None,
    ) -> list[ConversationEntry]:
        current = (
            conversation if isinstance(conversation, Conversation) else conversation.conversation
        )
        row = None if self._is_view else self._known(current.conversation_id, current.revision)
        is_new = (
            not self._is_view
            and current.revision is None
            and current.conversation_id == self._absent
        )
        # Should somebody else have made it meanwhile, the row can't be inserted.
        writer = copy(self) if row is None and not is_new else self._going_by(row)
        writer.scope, writer._note = self.of(scope).scope, note
        try:
            return await super(ModelConversationStore, writer).save(conversation, scope=scope)
        finally:
            self._row = writer._row

    def _known(self, conversation_id: str, revision: str | None) -> Row | None:
        row = self._row
        return (
            row
            if row and (row.conversation_id, row.revision) == (conversation_id, revision)
            else None
        )

    async def save_with(
        self, conversation: Conversation, note: Note, *, scope: str | None = None
    ) -> None:
        await self.save(conversation, scope=scope, note=note)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        row = self._known(record.conversation_id, expected_revision)
        self._row = await in_database(
            rows.write, record, new_entries, expected_revision, row, self._note
        )

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await in_database(rows.delete_thread, conversation_id, self.scope, expected_revision)

    async def rename(
        self, conversation_id: str, title: str, *, scope: str | None
    ) -> ThreadSummary | None:
        threads = Thread.objects.filter(thread_id=conversation_id, scope=scope or "")
        # Not the revision: a run that is under way may still save.
        renamed = await in_database(
            lambda: threads.update(title=clean(title)[:255], words=fold(title))
        )
        return await self.summary(conversation_id, scope=scope) if renamed else None

    async def mark(
        self, conversation_id: str, *, unread: bool, scope: str | None
    ) -> ThreadSummary | None:
        threads = Thread.objects.filter(thread_id=conversation_id, scope=scope or "")
        marked = await in_database(lambda: threads.update(unread=unread))
        return await self.summary(conversation_id, scope=scope) if marked else None

    async def summary(self, conversation_id: str, *, scope: str | None) -> ThreadSummary | None:
        threads = Thread.objects.filter(thread_id=conversation_id, scope=scope or "")
        row = await in_database(threads.values_list(*SUMMARY).first)
        return summarize(*row) if row else None

    async def summaries(
        self, scope: str, q: str = "", cursor: str | None = None, limit: int = 30
    ) -> tuple[list[ThreadSummary], str | None]:
        threads = Thread.objects.filter(scope=scope)
        for word in search_words(q):
            texts = Message.objects.filter(thread__scope=scope, words__contains=word)
            # Ids begin with the time: what a fork has of its source is not younger than the place
            # of the fork.
            shared = texts.filter(
                thread__thread_id=OuterRef("forked_from"), id__lte=OuterRef("forked_at")
            )
            inherited = ~Q(forked_from="") & Q(Exists(shared))
            threads = threads.filter(
                Q(words__contains=word) | Q(pk__in=texts.values("thread")) | inherited
            )
        if cursor:
            updated_at, pk = read_cursor(cursor, _to_key)
            threads = threads.filter(updated_at__lte=updated_at).exclude(
                updated_at=updated_at, pk__gte=pk
            )
        threads = threads.only(*SUMMARY)[: limit + 1]
        found: list[Thread] = await in_database(list, threads)
        page = [summarize(*(getattr(row, name) for name in SUMMARY)) for row in found[:limit]]
        return page, write_cursor(found[limit - 1].updated_at, found[limit - 1].pk) if len(
            found
        ) > limit else None


def _to_key(text: str) -> int:
    key = int(text)
    if not 0 <= key < 2**63:
        raise ValueError("No row has this key.")
    return key
