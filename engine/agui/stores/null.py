"""A store that keeps nothing: every run starts anew."""

from collections.abc import Sequence
from typing import Any, NoReturn

from pydantic_ai import AgentRunResult
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)

from agui.stores.base import ThreadStore
from agui.stores.summary import ThreadSummary


class NullConversationStore(ThreadStore):
    """Accepts every save and keeps nothing.

    Users can't answer approvals, because the question is not kept either.
    """

    keeps_threads = False

    async def save(
        self, conversation: Conversation | AgentRunResult[Any], *, scope: str | None = None
    ) -> list[ConversationEntry]:
        return []

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return None

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        return []

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        pass

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> NoReturn:
        raise ConversationConflict(conversation_id)

    async def read_entry(self, entry_id: str) -> NoReturn:
        raise KeyError(entry_id)

    async def rename(
        self, conversation_id: str, title: str, *, scope: str | None
    ) -> ThreadSummary | None:
        return None
