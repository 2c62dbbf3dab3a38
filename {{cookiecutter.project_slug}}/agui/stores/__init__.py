"""Where conversations are kept: pydantic-ai's ConversationStore, and what a list of threads needs.

    codec.py     messages to JSON that every database takes, and back
    summary.py   title, preview and cursor of a list of threads
    null.py      NullConversationStore: keeps nothing
    session.py   DjangoSessionConversationStore: in the visitor's session
    model.py     ModelConversationStore: in the database, the default

A store of your own subclasses ThreadStore: the five primitives of ConversationStore, and `rename`.
"""

from abc import abstractmethod
from typing import ClassVar, Self

from django.http import HttpRequest
from django.utils.module_loading import import_string
from pydantic_ai.conversation_store import ConversationRecord, ConversationStore

from agui import conf
from agui.stores.summary import ThreadSummary, preview_of, read_cursor, summarize, title_of, write_cursor


class ThreadStore(ConversationStore):
    """A ConversationStore whose conversations have titles and can be listed page by page.

    The defaults read every conversation of the scope: a store that can ask better overrides them.
    """

    keeps_threads: ClassVar[bool] = True
    """Whether there is anything to come back to."""

    @classmethod
    def for_request(cls, request: HttpRequest) -> Self:
        """Make the store that serves this request."""
        return cls()

    @abstractmethod
    async def rename(self, conversation_id: str, title: str, *, scope: str | None) -> ThreadSummary | None:
        """Give a conversation a title that no later save replaces; None if the scope has no such one."""

    async def describe(self, record: ConversationRecord) -> ThreadSummary:
        """Say what a list shows of a conversation."""
        messages = [entry.message for entry in await self.read_history(record.head_id)]
        return summarize(record.conversation_id, title_of(messages), preview_of(messages), record.updated_at)

    async def summary(self, conversation_id: str, *, scope: str | None) -> ThreadSummary | None:
        """Describe one conversation, or None if the scope has no such one."""
        record = await self.read_record(conversation_id)
        return await self.describe(record) if record is not None and record.scope == scope else None

    async def summaries(
        self, scope: str, q: str = "", cursor: str | None = None, limit: int = 30
    ) -> tuple[list[ThreadSummary], str | None]:
        """List a page of the scope's conversations, newest first, and the cursor of the next page.

        `q` is looked for in titles and previews. Raises BadRequest for a cursor that is not ours.
        """
        records = [
            (record.updated_at, record.conversation_id, record) for record in await self.read_records(scope=scope)
        ]
        if cursor:
            after = read_cursor(cursor, str)
            records = [row for row in records if row[:2] < after]
        page: list[ThreadSummary] = []
        last: ConversationRecord | None = None
        for *_, record in sorted(records, key=lambda row: row[:2], reverse=True):
            summary = await self.describe(record)
            if q.casefold() not in f"{summary['title']}\n{summary['preview']}".casefold():
                continue
            if last is not None and len(page) == limit:
                return page, write_cursor(last.updated_at, last.conversation_id)
            page.append(summary)
            last = record
        return page, None


def store_class() -> type[ThreadStore]:
    """The class that the settings name."""
    found: type[ThreadStore] = import_string(conf.get().conversation_store)
    return found


def open_store(request: HttpRequest) -> ThreadStore:
    """Open the store for this request."""
    return store_class().for_request(request)
