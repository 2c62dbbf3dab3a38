"""The versions of a conversation: an edit, or another try, leaves what was there before standing.

A conversation's messages are a tree. Its head says which line through the tree is the current one,
and its branches are the ends of the others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple, Self, TypedDict

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from agui import parts
from agui.blocking.executor import in_database
from agui.stores.annotations import annotation, answered
from agui.stores.scoped import ScopedStore
from agui.stores.summary import preview_of


class Link(NamedTuple):
    """A message's place in the tree."""

    id: str
    parent_id: str | None
    prompt_id: str
    """The client's id of the message, if it is the user's; else ''."""


class Branch(TypedDict):
    """One of the versions of a user's message."""

    id: str
    """What to switch to: the end of its line."""
    text: str
    current: bool


class BranchingStore(ScopedStore):
    """A ConversationStore that can find, leave and fork a line. The defaults read whole histories."""

    _is_view: bool = False
    """Whether this is a copy that goes by what it was told."""

    async def read_links(self, heads: Sequence[str]) -> dict[str, Link]:
        """Read the links of all lines that end at these messages, by id."""
        entries = [entry for head in heads for entry in await self.read_history(head)]
        return {
            entry.id: Link(entry.id, entry.parent_id, prompt_id(entry.message)) for entry in entries
        }

    async def read_messages(self, ids: Collection[str]) -> dict[str, ModelMessage]:
        """Read single messages, by id."""
        return {one: (await self.read_entry(one)).message for one in ids}

    async def find_prompts(
        self, conversation_id: str, message_ids: Collection[str]
    ) -> dict[str, Link]:
        """Find messages of the user in the current line, by the client's ids."""
        record = await self.read_record(conversation_id)
        links = await self.read_links([record.head_id]) if record and record.head_id else {}
        return {link.prompt_id: link for link in links.values() if link.prompt_id in message_ids}

    async def ending_at(
        self,
        conversation_id: str,
        head_id: str | None,
        *,
        expected_revision: str | None,
        scope: str | None = None,
    ) -> Self:
        """Make a store for which the conversation ends at `head_id`: what it saves goes on there,
        and leaves a branch.

        Nothing is changed until then. Raises ConversationConflict when the conversation is not as
        the caller knows it.
        """
        record = await self.find(conversation_id, scope)
        if record is None or record.revision != expected_revision:
            raise ConversationConflict(conversation_id)
        kept = await self.read_links([head_id]) if head_id else {}
        ends = [
            end for end in (*record.branches, record.head_id) if end is not None and end not in kept
        ]
        return self._going_by(
            replace(record, head_id=head_id, branches=ends, deferred_tool_requests=None)
        )

    async def move(
        self,
        conversation_id: str,
        head_id: str | None,
        *,
        expected_revision: str | None,
        scope: str | None = None,
    ) -> None:
        """Make `head_id` the end of the current line. Raises ConversationConflict as `ending_at` does."""
        view = await self.ending_at(
            conversation_id, head_id, expected_revision=expected_revision, scope=scope
        )
        try:
            conversation = await view.load(conversation_id, limit=1)
        except LookupError:  # Deleted at this very moment
            raise ConversationConflict(conversation_id) from None
        if conversation is not None:
            await view.save(conversation)

    async def branches(
        self, conversation_id: str, *, scope: str | None = None
    ) -> dict[str, list[Branch]]:
        """List the versions of those messages of the user that have several, oldest first, by message id."""
        record = await self.find(conversation_id, scope)
        if record is None or record.head_id is None or not record.branches:
            return {}
        try:
            return await self._list_branches(record.head_id, record.branches)
        except LookupError:  # Deleted at this very moment
            return {}

    async def _list_branches(self, head_id: str, left: Sequence[str]) -> dict[str, list[Branch]]:
        links = await self.read_links([*left, head_id])
        versions: dict[str | None, dict[str, str]] = {}
        # The newest line first: each message belongs to the newest one that it is in.
        for end in (head_id, *reversed(left)):
            for link in _line(links, end):
                if (
                    link.prompt_id
                    and versions.setdefault(link.parent_id, {}).setdefault(link.id, end) != end
                ):
                    break
        current = [
            link for link in _line(links, head_id) if len(versions.get(link.parent_id, ())) > 1
        ]
        messages = await self.read_messages(
            [one for link in current for one in versions[link.parent_id]]
        )
        return {
            link.prompt_id: [
                Branch(
                    id=versions[link.parent_id][one],
                    text=preview_of([messages[one]]),
                    current=one == link.id,
                )
                for one in sorted(versions[link.parent_id])  # Ids begin with the time
            ]
            for link in current
            if link.prompt_id
        }

    async def switch(
        self,
        conversation_id: str,
        branch_id: str,
        *,
        expected_revision: str | None,
        scope: str | None = None,
    ) -> bool:
        """Make a branch the current line; False if there is no such one. Raises ConversationConflict."""
        record = await self.find(conversation_id, scope)
        if record is None or branch_id not in (record.head_id, *record.branches):
            return False
        if branch_id != record.head_id:
            await self.move(
                conversation_id, branch_id, expected_revision=expected_revision, scope=scope
            )
        return True

    async def fork_at(
        self,
        conversation_id: str,
        *,
        message_id: str | None,
        new_conversation_id: str,
        scope: str | None = None,
    ) -> bool:
        """Start a conversation with the history up to a message, or with all of it; False if there is no such one.

        What waits for an answer stays where it is: a decision is for one conversation.
        Raises ConversationConflict when the new id is taken.
        """
        entries = await self.load_entries(conversation_id, scope=scope) or []
        place = len(entries) - 1
        if message_id is not None:
            known = (
                i
                for i, entry in enumerate(entries)
                if message_id in (annotation(entry.message, "ids") or ())
            )
            place = next(known, -1)
        if place < 0:
            return False
        last = _settled(entries, place)
        try:
            await self.fork(
                conversation_id,
                **({"from_entry": entries[last].id} if last >= 0 else {"at": 0}),
                new_conversation_id=new_conversation_id,
                scope=scope,
                source_scope=scope,
            )
        except UserError:
            # Among them the conflict with one who deletes the source at this very moment, or
            # switches its branch.
            if await self.find(new_conversation_id, scope):
                raise ConversationConflict(new_conversation_id) from None
            return False
        await in_database(_tell_of_fork, conversation_id, new_conversation_id, scope or "")
        return True

    def _going_by(self, record: ConversationRecord | None) -> Self:
        """Make a copy of the store that takes a record, or None, for the stored one. A save tells if it is."""

        async def read_record(conversation_id: str) -> ConversationRecord | None:
            return record

        view = copy(self)
        view.read_record = read_record  # type: ignore[method-assign]
        view._is_view = True
        return view

    async def find(self, conversation_id: str, scope: str | None) -> ConversationRecord | None:
        """Read the record of a conversation, or None if the scope has no such one."""
        record = await self.of(scope).read_record(conversation_id)
        return record if record is not None and scope in (None, record.scope) else None


def _tell_of_fork(source_id: str, thread_id: str, scope: str) -> None:
    for part in parts.installed():
        part.thread_forked(source_id, thread_id, scope)


def prompt_id(message: ModelMessage) -> str:
    """The client's id of a message, if it is the user's; else ''."""
    kinds = {type(part) for part in message.parts}
    # Beside a tool's result it is what the tool had to show.
    if UserPromptPart in kinds and ToolReturnPart not in kinds:
        return next(iter(annotation(message, "ids") or ()), "")
    return ""


def _line(links: Mapping[str, Link], end: str | None) -> Iterator[Link]:
    """Walk a line from its end."""
    while end is not None:
        yield links[end]
        end = links[end].parent_id


def _settled(entries: Sequence[ConversationEntry], place: int) -> int:
    """The nearest place where no tool call is open: after its results, else before the call."""
    messages = [entry.message for entry in entries]
    call = next(i for i in range(place, -1, -1) if i == 0 or not _has_only_results(messages[i]))
    response = messages[call]
    open_calls = (
        {part.tool_call_id for part in response.tool_calls}
        if isinstance(response, ModelResponse)
        else set()
    )
    for index in range(call, len(messages)):
        if index > call and not _has_only_results(messages[index]):
            break
        open_calls -= answered([messages[index]])
        if index >= place and not open_calls:
            return index
    return call - 1


def _has_only_results(message: ModelMessage) -> bool:
    return (
        isinstance(message, ModelRequest) and not prompt_id(message) and bool(answered([message]))
    )
