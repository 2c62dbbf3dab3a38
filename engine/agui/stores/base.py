"""The interface of a store: pydantic-ai's ConversationStore, and what a list of threads needs.

A store of your own subclasses ThreadStore and defines `rename` and the five primitives of
ConversationStore. Two owners may use the same id, so the primitives find a conversation by its id
and `self.scope`.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self, Unpack

from django.http import HttpRequest
from django.utils.module_loading import import_string
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationRecord

from agui import conf
from agui.blocking.executor import in_database
from agui.models import Run
from agui.stores.branches import BranchingStore
from agui.stores.summary import (
    UNTITLED,
    Marks,
    Match,
    ThreadSummary,
    fold,
    preview_of,
    read_cursor,
    summarize,
    title_of,
    words_of,
    write_cursor,
)

# The methods of django-ag-ui's stores, and what replaces each here.
HOOKS_OF_OTHERS = {
    "_fetch": "`read_record` and `read_history`",
    "_store": "`write_record`",
    "_remove": "`delete_record`",
}


class Beginning(NamedTuple):
    """The data that a turn begins with."""

    conversation: Conversation | None
    """The last messages of the thread; None if the scope has no such thread."""
    has_open_run: bool
    """Whether a run on the thread has not ended."""


class ThreadStore(BranchingStore):
    """A ConversationStore whose conversations have titles and versions, and can be listed by page.

    The defaults read every conversation of the scope. Override them if your store can do better.
    """

    keeps_threads: ClassVar[bool] = True
    """Whether users can come back to their threads."""
    needs_request: ClassVar[bool] = False
    """Whether only a request can open the store.

    It is True for a class that defines `for_request`, unless the class sets it to False.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "for_request" in vars(cls) and "needs_request" not in vars(cls):
            cls.needs_request = True

    @classmethod
    def for_request(cls, request: HttpRequest) -> Self:
        """Make the store that serves this request."""
        return cls()

    @abstractmethod
    async def rename(
        self, conversation_id: str, title: str, *, scope: str | None
    ) -> ThreadSummary | None:
        """Give a conversation a title that no later save replaces.

        Returns None if the scope has no such conversation.
        """

    async def retitle(
        self, conversation_id: str, title: str, before: str, *, scope: str | None
    ) -> bool:
        """Give a conversation another title, if it still has the one from `before`."""
        summary = await self.summary(conversation_id, scope=scope)
        if summary is None or summary["title"] != (before or UNTITLED):
            return False
        return await self.rename(conversation_id, title, scope=scope) is not None

    async def mark(
        self, conversation_id: str, *, scope: str | None, **marks: Unpack[Marks]
    ) -> ThreadSummary | None:
        """Mark a conversation as read, unread, pinned or archived. By default no mark is kept.

        Returns None if the scope has no such conversation.
        """
        return await self.summary(conversation_id, scope=scope)

    async def load_turn(self, conversation_id: str, *, limit: int | None, scope: str) -> Beginning:
        """Load what a turn begins with."""
        has_open_run = await in_database(_has_open_run, conversation_id, scope)
        return Beginning(await self.load(conversation_id, limit=limit, scope=scope), has_open_run)

    async def save_with(
        self, conversation: Conversation, write: Callable[[str], None], *, scope: str | None = None
    ) -> None:
        """Save a conversation, and call `write` with the new revision, to write what goes with it.

        The store calls `write` in a thread of the database pool, and in the transaction of the save
        if it has one. If it raises ConversationConflict, it has written nothing.
        """
        await self.save(conversation, scope=scope)
        await in_database(write, conversation.revision or "")

    async def describe(self, record: ConversationRecord) -> ThreadSummary:
        """Describe a conversation as lists show it."""
        messages = [entry.message for entry in await self.read_history(record.head_id)]
        title, preview = title_of(messages), preview_of(messages)
        return summarize(record.conversation_id, title, preview, record.updated_at)

    async def describe_all(self, records: Sequence[ConversationRecord]) -> list[ThreadSummary]:
        return [await self.describe(record) for record in records]

    async def summary(self, conversation_id: str, *, scope: str | None) -> ThreadSummary | None:
        """Describe one conversation; None if the scope has no such conversation."""
        record = await self.find(conversation_id, scope)
        if record is None:
            return None
        return await self.describe(record)

    async def summaries(
        self,
        scope: str,
        q: str = "",
        cursor: str | None = None,
        limit: int = 30,
        *,
        archived: bool = False,
    ) -> tuple[list[ThreadSummary], str | None]:
        """List a page of the scope's conversations, and the cursor of the next page.

        The list begins with pinned conversations, then come the newest. It has either the archived
        conversations or the others. Each word of `q` has to be in the title or in the text. Raises
        BadRequest for a cursor that no page has given.
        """
        records = await self.read_records(scope=scope)
        after = read_cursor(cursor, str) if cursor else None
        words = search_words(q)
        rows = list(zip(records, await self.describe_all(records), strict=True))
        page: list[ThreadSummary] = []
        last: Position | None = None
        for record, summary in sorted(rows, key=_list_position, reverse=True):
            position = _list_position((record, summary))
            if summary["archived"] != archived or (after is not None and position >= after):
                continue
            if words and not await self._has_words(record, summary, words):
                continue
            if last is not None and len(page) == limit:
                return page, write_cursor(*last)
            page.append(summary)
            last = position
        return page, None

    async def _has_words(
        self, record: ConversationRecord, summary: ThreadSummary, words: list[str]
    ) -> bool:
        texts = [fold(summary["title"])]
        for entry in await self.read_history(record.head_id):
            texts.append(words_of(entry.message))
        text = "\n".join(texts)
        return all(word in text for word in words)

    async def matches(self, thread_ids: Sequence[str], q: str, *, scope: str) -> dict[str, Match]:
        """Find the first message of each conversation with the most words of `q`, if it has one."""
        words = search_words(q)
        matches = {}
        for thread_id in thread_ids:
            record = await self.find(thread_id, scope)
            if record is None:
                continue
            most = 0
            for entry in await self.read_history(record.head_id):
                text = words_of(entry.message)
                count = sum(word in text for word in words)
                if count > most:
                    most = count
                    matches[thread_id] = Match(entry.message)
        return matches


Position = tuple[bool, datetime, str]
"""The sort key of lists: whether a conversation is pinned, the time of its last change, its id."""


def _list_position(row: tuple[ConversationRecord, ThreadSummary]) -> Position:
    record, summary = row
    return summary["pinned"], record.updated_at, record.conversation_id


def check_store(store: type[ThreadStore]) -> None:
    """Refuse a class whose methods nobody would call, or not as they are written.

    Raises ValueError.
    """
    name, cure = store.__name__, "write what pydantic-ai's ConversationStore calls"
    for hook, instead in HOOKS_OF_OTHERS.items():
        if hasattr(store, hook):
            raise ValueError(f"{name}.{hook} would never be called: {cure}, {instead}")
    for method in ("load", "save", "delete"):
        if "request" in inspect.signature(getattr(store, method)).parameters:
            raise ValueError(
                f"{name}.{method} is not given a request, but ids and `scope=`: {cure}"
            )


def _has_open_run(conversation_id: str, scope: str) -> bool:
    runs = Run.objects.filter(thread_id=conversation_id, scope=scope)
    return runs.filter(status=Run.Status.RUNNING).exists()


def search_words(q: str) -> list[str]:
    """Split a query into words, folded as texts are, and at most ten."""
    return fold(q).split()[:10]


def store_class() -> type[ThreadStore]:
    """Import the class that the settings name. Raises ImproperlyConfigured if it is no store."""
    return _import_store(conf.get().conversation_store)


@cache
def _import_store(path: str) -> type[ThreadStore]:
    store = import_string(path)
    if not (isinstance(store, type) and issubclass(store, ThreadStore)):
        raise conf.mistake(
            f"it is no store: name a subclass of {__name__}.ThreadStore", "CONVERSATION_STORE"
        )
    try:
        check_store(store)
    except ValueError as error:
        raise conf.mistake(error, "CONVERSATION_STORE") from None
    return store


def open_store(request: HttpRequest, scope: str) -> ThreadStore:
    """Open the store for a request, and for the owner of its threads."""
    return store_class().for_request(request).for_scope(scope)
