"""Edits and new tries leave versions behind; forks stand on their own."""

from unittest.mock import ANY

import pytest
from asgiref.sync import sync_to_async
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart

from agui.stores.annotations import annotate
from tests.test_stores import STORES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture(params=STORES)
def store(request, db):
    return STORES[request.param]()


def prompt(message_id, text=None):
    message = ModelRequest(parts=[UserPromptPart(text or message_id)])
    annotate(message, ids=[message_id])
    return message


def answer(message_id):
    message = ModelResponse(parts=[TextPart(message_id)])
    annotate(message, ids=[message_id])
    return message


async def add(store, *messages, thread="t", scope="alice"):
    conversation = await store.load(thread, scope=scope) or Conversation(conversation_id=thread)
    conversation.messages.extend(messages)
    return await store.save(conversation, scope=scope)


async def line(store, thread="t", scope="alice"):
    """The texts of the current line."""
    conversation = await store.load(thread, scope=scope)
    return [part.content for message in conversation.messages for part in message.parts if hasattr(part, "content")]


async def again(store, message_id, *messages):
    """Replace a message of the user and what followed it."""
    record = await store.read_record("t")
    links = await store.find_prompts("t", [message_id])
    await store.move("t", links[message_id].parent_id, expected_revision=record.revision, scope="alice")
    return await add(store, *messages)


async def switch(store, thread, branch, scope=None):
    record = await store.read_record(thread)
    return await store.switch(thread, branch, expected_revision=record.revision, scope=scope)


async def versions(store):
    found = await store.branches("t", scope="alice")
    return {key: [(one["text"], one["current"]) for one in branches] for key, branches in found.items()}


class TestVersions:
    async def test_versions_of_versions(self, store):
        await add(store, prompt("u1"), answer("a1"), prompt("u2"), answer("a2"))
        await again(store, "u2", prompt("u2", "2b"), answer("b2"))
        await again(store, "u1", prompt("u1", "1b"), answer("b1"))
        assert await versions(store) == {"u1": [("u1", False), ("1b", True)]}
        await switch(store, "t", (await store.branches("t"))["u1"][0]["id"])
        # The newest of the first version's own versions
        assert await line(store) == ["u1", "a1", "2b", "b2"]
        assert await versions(store) == {"u1": [("u1", True), ("1b", False)], "u2": [("u2", False), ("2b", True)]}

    async def test_an_edit_that_came_to_nothing_leaves_no_version(self, store):
        await add(store, prompt("u1"), answer("a1"), prompt("u2"), answer("a2"))
        record = await store.read_record("t")
        links = await store.find_prompts("t", ["u2"])
        await store.move("t", links["u2"].parent_id, expected_revision=record.revision)
        assert await line(store) == ["u1", "a1"]
        record = await store.read_record("t")
        assert await switch(store, "t", record.branches[0])
        assert await line(store) == ["u1", "a1", "u2", "a2"]
        assert (await store.read_record("t")).branches == []

    async def test_only_ends_of_lines_can_be_switched_to(self, store):
        entries = await add(store, prompt("u1"), answer("a1"))
        assert not await switch(store, "t", entries[0].id)
        assert not await switch(store, "t", "nothing")
        assert await switch(store, "t", entries[1].id)

    async def test_another_scope_sees_and_switches_nothing(self, store):
        await add(store, prompt("u1"), answer("a1"))
        await again(store, "u1", prompt("u1", "b"), answer("b1"))
        branch = (await store.branches("t", scope="alice"))["u1"][0]["id"]
        assert await store.branches("t", scope="bob") == {}
        assert not await switch(store, "t", branch, scope="bob")
        assert not await store.fork_at("t", message_id=None, new_conversation_id="f", scope="bob")
        record = await store.read_record("t")
        with pytest.raises(ConversationConflict):
            await store.move("t", branch, expected_revision=record.revision, scope="bob")


async def test_calls_that_were_never_answered_cut_no_fork_short(store):
    calling = ModelResponse(parts=[ToolCallPart("look", {}, "c1")])
    await add(store, prompt("u1"), calling, prompt("u2"), answer("a2"))
    for at, texts in (("u2", ["u1", "u2"]), ("a2", ["u1", "u2", "a2"])):
        assert await store.fork_at("t", message_id=at, new_conversation_id=f"at {at}", scope="alice")
        assert await line(store, f"at {at}") == texts


class TestScopes:
    """What a store promises of two owners with one id."""

    @pytest.fixture(params=["model", "session"])
    async def store(self, request, db):
        store = await sync_to_async(STORES[request.param])()
        for scope in ("alice", "bob"):
            await add(store, prompt("u1", f"I am {scope}"), scope=scope)
        return store

    async def test_each_loads_and_goes_on_with_its_own(self, store):
        for scope in ("alice", "bob"):
            await add(store, prompt("u2", f"More of {scope}"), scope=scope)
        for scope in ("alice", "bob"):
            assert await line(store, scope=scope) == [f"I am {scope}", f"More of {scope}"]
            [entry] = await store.load_entries("t", limit=1, scope=scope)
            assert entry.message.parts[0].content == f"More of {scope}"
            assert (await store.summary("t", scope=scope))["title"] == f"I am {scope}"

    async def test_each_changes_its_own(self, store):
        assert (await store.rename("t", "Mine", scope="alice"))["title"] == "Mine"
        assert (await store.mark("t", unread=True, scope="alice"))["unread"]
        named = {"thread_id": "t", "title": "I am bob", "preview": "I am bob", "updated_at": ANY}
        assert await store.summary("t", scope="bob") == named | dict.fromkeys(["unread", "pinned", "archived"], False)
        assert await store.rename("t", "Mine", scope="carol") is None

    async def test_each_deletes_its_own(self, store):
        await store.delete("t", scope="alice")
        assert await store.load("t", scope="alice") is None
        assert await line(store, scope="bob") == ["I am bob"]
        await add(store, prompt("u1", "Again"))
        assert await line(store) == ["Again"]

    async def test_each_forks_and_branches_its_own(self, store):
        for scope in ("alice", "bob"):
            assert await store.fork_at("t", message_id=None, new_conversation_id="f", scope=scope)
            await store.fork("t", new_conversation_id="g", source_scope=scope)
            with pytest.raises(ConversationConflict):
                await store.fork_at("t", message_id=None, new_conversation_id="f", scope=scope)
            for fork in ("f", "g"):
                assert await line(store, fork, scope=scope) == [f"I am {scope}"]
            known = await store.load("t", scope=scope)
            branched = await store.branch("t", at=0, expected_revision=known.revision, scope=scope)
            branched.messages.append(prompt("u2", f"Rather {scope}"))
            await store.save(branched, scope=scope)
        assert [await line(store, scope=scope) for scope in ("alice", "bob")] == [["Rather alice"], ["Rather bob"]]

    async def test_a_bound_store_needs_no_scope(self, store):
        bound = store.for_scope("bob")
        assert await line(bound, scope=None) == ["I am bob"]
        assert await bound.for_scope("carol").load("t") is None
        assert await line(bound) == ["I am alice"]

    async def test_without_a_scope_nobody_guesses_whose_it_is(self, store):
        for method in (store.load, store.delete):
            with pytest.raises(UserError, match="scope"):
                await method("t")
        await store.delete("t", scope="alice")
        assert await line(store, scope=None) == ["I am bob"]
