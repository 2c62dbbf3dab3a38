"""The versions of a conversation. An edit or another try keeps what was there before.

A conversation's messages form a tree (tree.py). The head of its record is the end of the current
line, and the branches are the ends of the other lines.
"""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, TypedDict

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage

from agui import parts
from agui.blocking.executor import in_database
from agui.stores.scoped import ScopedStore
from agui.stores.summary import preview_of
from agui.stores.tree import Link, find_settled, find_versions, index_of, prompt_id, walk_line


class Branch(TypedDict):
    """One of the versions of a user's message."""

    id: str
    """The end of the version's line: pass it to `switch`."""
    text: str
    current: bool


class BranchingStore(ScopedStore):
    """A ConversationStore that can find, leave and fork a line.

    The defaults read whole histories.
    """

    _is_view: bool = False
    """Whether this is a copy that `_with_record` has made."""

    async def read_links(self, heads: Sequence[str]) -> dict[str, Link]:
        """Read the links of all lines that end at these messages, by id."""
        links = {}
        for head in heads:
            for entry in await self.read_history(head):
                links[entry.id] = Link(entry.id, entry.parent_id, prompt_id(entry.message))
        return links

    async def read_messages(self, ids: Collection[str]) -> dict[str, ModelMessage]:
        """Read single messages, by id."""
        messages = {}
        for entry_id in ids:
            entry = await self.read_entry(entry_id)
            messages[entry_id] = entry.message
        return messages

    async def find_prompts(
        self, conversation_id: str, message_ids: Collection[str]
    ) -> dict[str, Link]:
        """Find messages of the user in the current line, by the client's ids."""
        record = await self.read_record(conversation_id)
        if record is None or not record.head_id:
            return {}
        links = await self.read_links([record.head_id])
        return {link.prompt_id: link for link in links.values() if link.prompt_id in message_ids}

    async def find_prompt_after(
        self, conversation_id: str, message_ids: Collection[str]
    ) -> Link | None:
        """Find the message of the user that follows the last one of these in the current line.

        Returns None if none of them is in the line, or the user has said nothing since.
        """
        record = await self.read_record(conversation_id)
        if record is None or not record.head_id:
            return None
        after = None
        for link in walk_line(await self.read_links([record.head_id]), record.head_id):
            if link.prompt_id in message_ids:
                return after
            if link.prompt_id:
                after = link
        return None

    async def ending_at(
        self,
        conversation_id: str,
        head_id: str | None,
        *,
        expected_revision: str | None,
        scope: str | None = None,
    ) -> Self:
        """Make a store for which the conversation ends at `head_id`.

        A save to it continues from there, and turns the line that was current into a branch.
        Before that, nothing changes. Raises ConversationConflict if the conversation has another
        revision.
        """
        record = await self.find(conversation_id, scope)
        if record is None or record.revision != expected_revision:
            raise ConversationConflict(conversation_id)
        line = await self.read_links([head_id]) if head_id else {}
        ends = [end for end in (*record.branches, record.head_id) if end and end not in line]
        return self._with_record(
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
        """Make `head_id` the end of the current line.

        Raises ConversationConflict as `ending_at` does.
        """
        view = await self.ending_at(
            conversation_id, head_id, expected_revision=expected_revision, scope=scope
        )
        try:
            conversation = await view.load(conversation_id, limit=1)
        except LookupError:  # Another request is deleting the conversation.
            raise ConversationConflict(conversation_id) from None
        if conversation is not None:
            await view.save(conversation)

    async def branches(
        self, conversation_id: str, *, scope: str | None = None
    ) -> dict[str, list[Branch]]:
        """List the versions of each message of the user that has several.

        The keys are the client's message ids; the oldest version comes first.
        """
        record = await self.find(conversation_id, scope)
        if record is None or record.head_id is None or not record.branches:
            return {}
        try:
            return await self._list_branches(record.head_id, record.branches)
        except LookupError:  # Another request is deleting the conversation.
            return {}

    async def _list_branches(
        self, head_id: str, branches: Sequence[str]
    ) -> dict[str, list[Branch]]:
        links = await self.read_links([*branches, head_id])
        versions = find_versions(links, [head_id, *reversed(branches)])
        prompts = []
        message_ids: list[str] = []
        for link in walk_line(links, head_id):
            if link.prompt_id and len(versions[link.parent_id]) > 1:
                prompts.append(link)
                message_ids += versions[link.parent_id]
        messages = await self.read_messages(message_ids)
        listed: dict[str, list[Branch]] = {}
        for link in prompts:
            listed[link.prompt_id] = []
            # Ids begin with the time, so this is the order in which the versions were made.
            for message_id, end in sorted(versions[link.parent_id].items()):
                text = preview_of([messages[message_id]])
                branch = Branch(id=end, text=text, current=message_id == link.id)
                listed[link.prompt_id].append(branch)
        return listed

    async def switch(
        self,
        conversation_id: str,
        branch_id: str,
        *,
        expected_revision: str | None,
        scope: str | None = None,
    ) -> bool:
        """Make a branch the current line; False if there is no such branch.

        Raises ConversationConflict as `ending_at` does.
        """
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
        """Start a conversation with the history up to a message, or with all of it.

        Open questions stay with the source, because an answer counts for one conversation only.
        Returns False if there is no such message. Raises ConversationConflict if the new id is
        taken.
        """
        entries = await self.load_entries(conversation_id, scope=scope) or []
        index = len(entries) - 1
        if message_id is not None:
            index = index_of(entries, message_id)
        if index < 0:
            return False
        last = find_settled(entries, index)
        end: dict[str, Any] = {"at": 0}
        if last >= 0:
            end = {"from_entry": entries[last].id}
        try:
            await self.fork(
                conversation_id,
                **end,
                new_conversation_id=new_conversation_id,
                scope=scope,
                source_scope=scope,
            )
        except UserError:
            # The new id is taken, or another request deletes the source or switches its branch.
            if await self.find(new_conversation_id, scope):
                raise ConversationConflict(new_conversation_id) from None
            return False
        await in_database(_announce_fork, conversation_id, new_conversation_id, scope or "")
        return True

    def _with_record(self, record: ConversationRecord | None) -> Self:
        """Copy the store; the copy takes `record` for what is stored, without reading it.

        A save fails if something else is stored.
        """

        async def read_record(conversation_id: str) -> ConversationRecord | None:
            return record

        view = copy(self)
        view.read_record = read_record  # type: ignore[method-assign]
        view._is_view = True
        return view

    async def find(self, conversation_id: str, scope: str | None) -> ConversationRecord | None:
        """Read the record of a conversation; None if the scope has no such conversation."""
        record = await self.for_scope(scope).read_record(conversation_id)
        if record is None or scope not in (None, record.scope):
            return None
        return record


def _announce_fork(source_id: str, thread_id: str, scope: str) -> None:
    for part in parts.installed():
        part.thread_forked(source_id, thread_id, scope)
