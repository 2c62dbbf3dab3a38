"""The owner of the conversation that an id names.

Ids are unique per owner, so two owners may use the same one.

The primitives of pydantic-ai's ConversationStore have no scope among their parameters. A store is
therefore bound to an owner, and its primitives read only the conversations of `self.scope`.
"""

from copy import copy
from typing import Any, Self

from pydantic_ai import AgentRunResult
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationEntry, ConversationStore


class ScopedStore(ConversationStore):
    """A ConversationStore whose primitives know the owner.

    If a method gets a scope, it uses that one instead.
    """

    scope: str | None = None
    """The owner whose conversations the primitives read.

    None reads conversations of all owners, as long as only one of them uses the id.
    """

    def for_scope(self, scope: str | None) -> Self:
        """Bind the store to an owner. None leaves it as it is."""
        if scope is None or scope == self.scope:
            return self
        bound = copy(self)
        bound.scope = scope
        return bound

    async def load(
        self, conversation_id: str, *, limit: int | None = None, scope: str | None = None
    ) -> Conversation | None:
        return await super(ScopedStore, self.for_scope(scope)).load(
            conversation_id, limit=limit, scope=scope
        )

    async def load_entries(
        self, conversation_id: str, *, limit: int | None = None, scope: str | None = None
    ) -> list[ConversationEntry] | None:
        return await super(ScopedStore, self.for_scope(scope)).load_entries(
            conversation_id, limit=limit, scope=scope
        )

    async def save(
        self, conversation: Conversation | AgentRunResult[Any], *, scope: str | None = None
    ) -> list[ConversationEntry]:
        return await super(ScopedStore, self.for_scope(scope)).save(conversation, scope=scope)

    async def branch(
        self, conversation_id: str, *, scope: str | None = None, **options: Any
    ) -> Conversation:
        return await super(ScopedStore, self.for_scope(scope)).branch(
            conversation_id, scope=scope, **options
        )

    async def fork(
        self, conversation_id: str, *, source_scope: str | None = None, **options: Any
    ) -> Conversation:
        return await super(ScopedStore, self.for_scope(source_scope)).fork(
            conversation_id, source_scope=source_scope, **options
        )

    async def delete(self, conversation_id: str, *, scope: str | None = None) -> None:
        await super(ScopedStore, self.for_scope(scope)).delete(conversation_id, scope=scope)
