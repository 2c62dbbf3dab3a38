"""Where conversations are kept: pydantic-ai's ConversationStore, and what a list of threads needs.

    scoped.py    whose conversation an id names
    branches.py  the versions of a conversation: find, move, fork
    traces.py    what a conversation leaves outside its store
    codec.py     messages to JSON that every database takes, and back
    summary.py   title, preview and cursor of a list of threads
    null.py      NullConversationStore: keeps nothing
    contrib/session_store/store.py   DjangoSessionConversationStore: in the visitor's session
    model.py     ModelConversationStore: in the database, the default (rows.py: what it asks and writes)

A store of your own subclasses ThreadStore: the five primitives of ConversationStore, and `rename`.
Two owners may use one id, so the primitives find a conversation by its id and `self.scope`.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from django.http import HttpRequest
from django.utils.module_loading import import_string
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationRecord

from agui import conf
from agui.blocking.executor import in_database
from agui.models import Run
from agui.stores.branches import BranchingStore
from agui.stores.summary import (
    ThreadSummary,
    fold,
    preview_of,
    read_cursor,
    summarize,
    title_of,
    words_of,
    write_cursor,
)

# What stores of django-ag-ui are made of, and what stands in its place.
HOOKS_OF_OTHERS = {
    "_fetch": "`read_record` and `read_history`",
    "_store": "`write_record`",
    "_remove": "`delete_record`",
}


class Beginning(NamedTuple):
    """What a turn begins with."""

    conversation: Conversation | None
    """Its last messages; None if the scope has no such one."""
    has_open_run: bool
    """Whether a run on it has not ended."""


class ThreadStore(BranchingStore):
    """A ConversationStore whose conversations have titles and versions, and can be listed page by page.

    The defaults read every conversation of the scope: a store that can ask better overrides them.
    """

    keeps_threads: ClassVar[bool] = True
    """Whether there is anything to come back to."""
    needs_request: ClassVar[bool] = False
    """Whether only a request can open it: True for a class with a `for_request` of its own, unless that says False."""

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
        """Give a conversation a title that no later save replaces; None if the scope has no such one."""

    async def mark(
        self, conversation_id: str, *, unread: bool, scope: str | None
    ) -> ThreadSummary | None:
        """Note whether a conversation is unread; None if the scope has no such one. By default none ever is."""
        return await self.summary(conversation_id, scope=scope)

    async def load_turn(self, conversation_id: str, *, limit: int | None, scope: str) -> Beginning:
        """Load what a turn begins with."""
        has_open_run = await in_database(_has_open_run, conversation_id, scope)
        return Beginning(await self.load(conversation_id, limit=limit, scope=scope), has_open_run)

    async def save_with(
        self, conversation: Conversation, note: Callable[[str], None], *, scope: str | None = None
    ) -> None:
        """Save a conversation, and call `note` in a thread, with the new revision, to write what
        goes with it.

        In one transaction, in a store that can. Raises ConversationConflict, and has then written
        nothing.
        """
        await self.save(conversation, scope=scope)
        await in_database(note, conversation.revision or "")

    async def describe(self, record: ConversationRecord) -> ThreadSummary:
        """Say what a list shows of a conversation."""
        messages = [entry.message for entry in await self.read_history(record.head_id)]
        return summarize(
            record.conversation_id, title_of(messages), preview_of(messages), record.updated_at
        )

    async def summary(self, conversation_id: str, *, scope: str | None) -> ThreadSummary | None:
        """Describe one conversation, or None if the scope has no such one."""
        record = await self.find(conversation_id, scope)
        return None if record is None else await self.describe(record)

    async def summaries(
        self, scope: str, q: str = "", cursor: str | None = None, limit: int = 30
    ) -> tuple[list[ThreadSummary], str | None]:
        """List a page of the scope's conversations, newest first, and the cursor of the next page.

        Of `q`, each word has to be in the title or in the text. Raises BadRequest for a cursor that
        is not ours.
        """
        records = [
            (record.updated_at, record.conversation_id, record)
            for record in await self.read_records(scope=scope)
        ]
        if cursor:
            after = read_cursor(cursor, str)
            records = [row for row in records if row[:2] < after]
        words = search_words(q)
        page: list[ThreadSummary] = []
        last: ConversationRecord | None = None
        for *_, record in sorted(records, key=lambda row: row[:2], reverse=True):
            summary = await self.describe(record)
            if words and not await self._has_words(record, summary, words):
                continue
            if last is not None and len(page) == limit:
                return page, write_cursor(last.updated_at, last.conversation_id)
            page.append(summary)
            last = record
        return page, None

    async def _has_words(
        self, record: ConversationRecord, summary: ThreadSummary, words: list[str]
    ) -> bool:
        history = await self.read_history(record.head_id)
        text = "\n".join([fold(summary["title"]), *(words_of(entry.message) for entry in history)])
        return all(word in text for word in words)


def check_store(store: type[ThreadStore]) -> None:
    """Refuse a class whose methods would never be called, or not as they are written. Raises ValueError."""
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
    return Run.objects.filter(
        thread_id=conversation_id, scope=scope, status=Run.Status.RUNNING
    ).exists()


def search_words(q: str) -> list[str]:
    """The words of a query, as texts are folded; no more than anybody types."""
    return fold(q).split()[:10]


def store_class() -> type[ThreadStore]:
    """Find the class that the settings name. Raises ImproperlyConfigured for one that is no store."""
    return _import_store(conf.get().conversation_store)


@cache
def _import_store(path: str) -> type[ThreadStore]:
    found = import_string(path)
    if not (isinstance(found, type) and issubclass(found, ThreadStore)):
        raise conf.mistake(
            f"it is no store: name a subclass of {__name__}.ThreadStore", "CONVERSATION_STORE"
        )
    try:
        check_store(found)
    except ValueError as error:
        raise conf.mistake(error, "CONVERSATION_STORE") from None
    return found


def open_store(request: HttpRequest, scope: str) -> ThreadStore:
    """Open the store for this request, and for the owner who makes it."""
    return store_class().for_request(request).of(scope)
