"""Every store keeps the same promises; pydantic-ai's own shows that the tests are right."""

import asyncio
import json
from importlib import import_module
from uuid import uuid4

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import AsyncClient, RequestFactory
from pydantic_ai import BinaryContent, DeferredToolRequests, RunUsage
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agui.contrib.session_store.store import DjangoSessionConversationStore
from agui.errors import BadRequest
from agui.models import Message, get_conversation_model
from agui.stores import base
from agui.stores.base import ThreadStore, open_store
from agui.stores.model import ModelConversationStore
from agui.stores.null import NullConversationStore
from agui.stores.summary import shorten
from agui.testing import collect, event_types, say
from tests.conftest import run_input, script

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

NASTY = ["a\x00b", "lone \ud800 surrogate", "back\\u0000slash", "\ufdd0", "😀 \u202e ж", '"quoted"\n\t']


class MemoryThreadStore(InMemoryConversationStore, ThreadStore):
    """What ThreadStore's own defaults do."""

    async def rename(self, conversation_id, title, *, scope):
        raise NotImplementedError


def open_session(key=None):
    return import_module(settings.SESSION_ENGINE).SessionStore(key)


def new_session_store():
    session = open_session()
    session.create()
    return DjangoSessionConversationStore(session.session_key)


STORES = {
    "model": ModelConversationStore,
    "session": new_session_store,
    "memory": MemoryThreadStore,
}


@pytest.fixture(params=STORES)
def store(request, db):
    return STORES[request.param]()


@pytest.fixture(params=["model", "session"])
def thread_store(request, db):
    return STORES[request.param]()


def ask(text):
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text):
    return ModelResponse(parts=[TextPart(text)])


def turns(*texts):
    return [message for text in texts for message in (ask(text), answer(f"You said {text}"))]


async def messages_of(store, thread_id="t"):
    conversation = await store.load(thread_id)
    return None if conversation is None else conversation.messages


def ids(entries):
    return [entry.id for entry in entries]


async def saved(store, thread_id="t", texts=("one",), scope="alice"):
    conversation = Conversation(conversation_id=thread_id, messages=turns(*texts))
    await store.save(conversation, scope=scope)
    return conversation


class TestContract:
    async def test_load_unknown_is_none(self, store):
        assert await store.load("nobody") is None

    async def test_load_returns_what_was_saved(self, store):
        first = await saved(store)
        loaded = await store.load("t", scope="alice")
        assert loaded.messages == first.messages
        assert loaded.revision == first.revision

    async def test_save_appends_only_what_is_new(self, store):
        conversation = await saved(store)
        before = await store.load_entries("t")
        conversation.messages.extend(turns("two"))
        entries = await store.save(conversation)
        assert ids(await store.load_entries("t")) == [*ids(before), *ids(entries)]

    async def test_load_limit_takes_the_last_messages(self, store):
        first = await saved(store, texts=("one", "two", "three"))
        assert (await store.load("t", limit=2)).messages == first.messages[-2:]
        assert (await store.load("t", limit=0)).messages == []
        assert (await store.load("t", limit=100)).messages == first.messages

    async def test_save_of_a_window_appends_to_the_whole(self, store):
        await saved(store, texts=("one", "two"))
        window = await store.load("t", limit=1)
        window.messages.extend(turns("three"))
        await store.save(window)
        assert (await store.load("t")).messages[0].parts[0].content == "one"
        assert len((await store.load("t")).messages) == 6

    async def test_second_writer_conflicts_and_changes_nothing(self, store):
        await saved(store)
        mine, theirs = await store.load("t"), await store.load("t")
        theirs.messages.extend(turns("theirs"))
        await store.save(theirs)
        mine.messages.extend(turns("mine"))
        with pytest.raises(ConversationConflict):
            await store.save(mine)
        assert (await store.load("t")).messages == theirs.messages

    async def test_first_save_of_a_taken_id_conflicts(self, store):
        await saved(store)
        with pytest.raises(ConversationConflict):
            await saved(store, texts=("other",))
        assert len((await store.load("t")).messages) == 2

    @pytest.mark.parametrize("revision", ["old", None])
    async def test_write_with_an_old_revision_conflicts(self, store, revision):
        await saved(store)
        record = await store.read_record("t")
        record.head_id = None
        with pytest.raises(ConversationConflict):
            await store.write_record(record, expected_revision=revision)
        assert (await store.read_record("t")).head_id is not None

    async def test_write_of_a_deleted_conversation_conflicts(self, store):
        await saved(store)
        record = await store.read_record("t")
        await store.delete("t")
        with pytest.raises(ConversationConflict):
            await store.write_record(record, expected_revision=record.revision)
        assert await store.read_record("t") is None

    async def test_write_with_an_unknown_head_conflicts_and_leaves_nothing(self, store):
        await saved(store)
        record = await store.read_record("t")
        record.conversation_id, record.head_id = "fork", str(uuid4())
        with pytest.raises(ConversationConflict):
            await store.write_record(record, expected_revision=None)
        assert await store.read_record("fork") is None

    async def test_save_after_delete_conflicts_and_stays_deleted(self, store):
        conversation = await saved(store)
        await store.delete("t", scope="alice")
        conversation.messages.extend(turns("late"))
        with pytest.raises(ConversationConflict):
            await store.save(conversation)
        assert await store.load("t") is None

    async def test_other_scope_finds_and_deletes_nothing(self, store):
        conversation = await saved(store)
        assert await store.load("t", scope="bob") is None
        await store.delete("t", scope="bob")
        with pytest.raises(ConversationConflict):
            await store.save(conversation, scope="bob")
        assert await store.load("t", scope="alice") is not None

    async def test_delete_with_an_old_revision_conflicts(self, store):
        await saved(store)
        with pytest.raises(ConversationConflict):
            await store.delete_record("t", expected_revision="old")
        with pytest.raises(ConversationConflict):
            await store.delete_record("unknown", expected_revision="old")

    async def test_usage_and_deferred_requests_return(self, store):
        call = ToolCallPart("wipe", {"all": True}, tool_call_id="c1")
        asked = DeferredToolRequests(approvals=[call], metadata={"c1": {"x-confirm": NASTY[0]}})
        usage = RunUsage(requests=2, tool_calls=1, input_tokens=10, details={"cached": 3})
        conversation = Conversation(
            conversation_id="t", messages=turns("one"), usage=usage, deferred_tool_requests=asked
        )
        await store.save(conversation)
        loaded = await store.load("t")
        assert loaded.usage == usage
        assert loaded.deferred_tool_requests == asked

    @pytest.mark.parametrize("text", NASTY)
    async def test_text_survives_unchanged(self, store, text):
        messages = [
            ask(text),
            ModelResponse(
                parts=[ToolCallPart("t", {"a": text}, tool_call_id="1"), ToolCallPart("t", text, tool_call_id="2")]
            ),
            ModelRequest(parts=[ToolReturnPart("t", {"a": [text, None, 1.5]}, tool_call_id="1")], metadata={"m": text}),
            answer(text),
        ]
        await store.save(Conversation(conversation_id="t", messages=messages), scope="alice")
        assert (await store.load("t")).messages == messages
        [row] = (await store.summaries("alice"))[0]
        assert "\x00" not in row["title"] + row["preview"]
        json.dumps(row, ensure_ascii=False).encode()

    async def test_binary_content_survives(self, store):
        image = BinaryContent(b"\x00\xff\xd8", media_type="image/png")
        await store.save(Conversation(conversation_id="t", messages=[ask(["look", image])]))
        [loaded] = (await store.load("t")).messages
        assert loaded.parts[0].content[1].data == image.data

    async def test_records_are_newest_first_and_by_scope(self, store):
        for name, scope in [("a", "alice"), ("b", "bob"), ("c", "alice")]:
            await saved(store, name, scope=scope)
        assert [r.conversation_id for r in await store.list_conversations(scope="alice")] == ["c", "a"]
        assert [r.conversation_id for r in await store.list_conversations(limit=2)] == ["c", "b"]
        assert await store.list_conversations(scope="nobody") == []

    async def test_branch_keeps_what_it_leaves(self, store):
        conversation = await saved(store, texts=("one", "two"))
        old = await store.load_entries("t")
        branched = await store.branch("t", at=2, expected_revision=conversation.revision)
        branched.messages.extend(turns("other"))
        await store.save(branched)
        assert [m.parts[0].content for m in (await store.load("t")).messages][2] == "other"
        record = await store.read_record("t")
        assert record.branches == [old[-1].id]
        assert ids(await store.read_history(record.branches[0])) == ids(old)

    async def test_rewritten_history_becomes_a_branch(self, store):
        conversation = await saved(store, texts=("one", "two"))
        conversation.messages[2:] = turns("edited")
        conversation.new_message_index = None
        await store.save(conversation)
        assert await messages_of(store) == conversation.messages
        assert len((await store.read_record("t")).branches) == 1

    async def test_fork_shares_entries(self, store):
        await saved(store, texts=("one", "two"))
        await store.fork("t", at=2, new_conversation_id="fork")
        assert ids(await store.load_entries("fork")) == ids(await store.load_entries("t"))[:2]
        with pytest.raises(ConversationConflict):
            await store.fork("t", new_conversation_id="fork")
        with pytest.raises(UserError):
            await store.fork("unknown")

    async def test_fork_outlives_its_source(self, store):
        await saved(store, texts=("one", "two"))
        forked = await store.fork("t", at=2, new_conversation_id="fork")
        left = (await store.load_entries("t"))[-1].id
        await store.delete("t")
        forked.messages.extend(turns("three"))
        await store.save(forked)
        assert (await store.load("fork")).messages == forked.messages
        with pytest.raises(LookupError):
            await store.read_entry(left)

    async def test_fork_of_a_deleted_fork_outlives_the_source(self, store):
        source = await saved(store, texts=("one", "two"))
        middle = await store.fork("t", at=2, new_conversation_id="middle")
        middle.messages.extend(turns("three"))
        await store.save(middle)
        await store.fork("middle", at=3, new_conversation_id="last")
        await store.delete("middle")
        await store.delete("t")
        texts = [message.parts[0].content for message in (await store.load("last")).messages]
        assert texts == ["one", "You said one", "three"]
        assert source.messages[:2] == (await store.load("last")).messages[:2]

    async def test_fork_that_left_the_shared_history_can_go_back(self, store):
        await saved(store, texts=("one", "two"))
        forked = await store.fork("t", new_conversation_id="fork")
        shared = (await store.load_entries("fork"))[-1].id
        await store.branch("fork", at=1, expected_revision=forked.revision)
        await store.delete("t")
        revision = (await store.read_record("fork")).revision
        back = await store.branch("fork", from_entry=shared, expected_revision=revision)
        assert len(back.messages) == 4

    async def test_delete_leaves_no_entry(self, store):
        await saved(store)
        [first, _] = await store.load_entries("t")
        await store.delete("t")
        with pytest.raises(LookupError):
            await store.read_entry(first.id)

    async def test_broken_history_is_a_lookup_error(self, store):
        with pytest.raises(LookupError):
            await store.read_history(str(uuid4()))


class TestSummaries:
    async def test_title_is_the_first_and_preview_the_newest_text(self, store):
        await saved(store, texts=("one", "two"))
        [row], following = await store.summaries("alice")
        assert (row["thread_id"], row["title"], row["preview"]) == ("t", "one", "You said two")
        assert following is None

    async def test_thread_without_text_is_a_new_conversation(self, store):
        image = BinaryContent(b"\xff", media_type="image/png")
        await store.save(Conversation(conversation_id="t", messages=[ask([image])]), scope="alice")
        [row], _ = await store.summaries("alice")
        assert (row["title"], row["preview"]) == ("New conversation", "")

    async def test_first_text_names_a_thread_that_began_without(self, store):
        conversation = Conversation(conversation_id="t", messages=[ask(["  "]), answer("What?")])
        await store.save(conversation, scope="alice")
        conversation.messages.extend(turns("one"))
        await store.save(conversation)
        assert (await store.summary("t", scope="alice"))["title"] == "one"

    async def test_scopes_don_t_mix(self, store):
        await saved(store, "a", scope="alice")
        await saved(store, "b", scope="bob")
        rows, _ = await store.summaries("bob")
        assert [row["thread_id"] for row in rows] == ["b"]
        assert await store.summary("a", scope="bob") is None
        assert await store.summary("unknown", scope="bob") is None

    async def test_pages_list_every_thread_once(self, store):
        for number in range(5):
            await saved(store, str(number))
        seen, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            rows, cursor = await store.summaries("alice", cursor=cursor, limit=2)
            seen += [row["thread_id"] for row in rows]
            pages += 1
        assert seen == ["4", "3", "2", "1", "0"]
        assert pages == 3

    async def test_page_that_takes_the_last_row_has_no_next(self, store):
        await saved(store, "a")
        await saved(store, "b")
        assert (await store.summaries("alice", limit=2))[1] is None

    async def test_search_looks_in_title_and_preview(self, store):
        await saved(store, "a", texts=("Milk 100%",))
        await saved(store, "b", texts=("bread", "butter"))
        for q, found in [
            ("MILK", ["a"]),
            ("100%", ["a"]),
            ("said but", ["b"]),
            ("%", ["a"]),
            ("cheese", []),
            ("\x00", []),
        ]:
            assert [row["thread_id"] for row in (await store.summaries("alice", q=q))[0]] == found, q

    @pytest.mark.parametrize("cursor", ["x", "ж", "MjAyNi0wMS0wMSAx", "MjAyNi0wMS0wMVQwMDowMDowMCAx", "====", "\x00"])
    async def test_foreign_cursor_is_refused(self, store, cursor):
        with pytest.raises(BadRequest):
            await store.summaries("alice", cursor=cursor)

    async def test_rename_survives_later_saves(self, thread_store):
        conversation = await saved(thread_store)
        row = await thread_store.rename("t", "Mine", scope="alice")
        assert row["title"] == "Mine"
        conversation.messages.extend(turns("two"))
        await thread_store.save(conversation)
        [row], _ = await thread_store.summaries("alice")
        assert (row["title"], row["preview"]) == ("Mine", "You said two")

    async def test_rename_is_for_the_owner(self, thread_store):
        await saved(thread_store)
        assert await thread_store.rename("t", "Hers", scope="bob") is None
        assert await thread_store.rename("unknown", "Hers", scope="alice") is None
        assert (await thread_store.summary("t", scope="alice"))["title"] == "one"

    async def test_rename_takes_any_text(self, thread_store):
        await saved(thread_store)
        row = await thread_store.rename("t", "a\x00\ud800" + "b" * 300, scope="alice")
        assert row["title"].startswith("a\ufffd\ufffdb")
        assert len(row["title"]) == 255

    async def test_fork_has_its_source_s_title(self, thread_store):
        await saved(thread_store)
        await thread_store.rename("t", "Mine", scope="alice")
        await thread_store.fork("t", new_conversation_id="fork")
        assert (await thread_store.summary("fork", scope="alice"))["title"] == "Mine"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("one two three", "one two three"),
        ("one two three four", "one two three…"),
        ("abcdefghijklmnopqrst", "abcdefghijklm…"),
        ("  a \n\n b\t", "a b"),
        ("", ""),
    ],
)
def test_shorten_cuts_between_words(text, short):
    assert shorten(text, 14) == short


class TestModel:
    async def test_owner_is_the_user_of_the_scope(self):
        user = await get_user_model().objects.acreate(username="ann")
        await saved(ModelConversationStore(), scope=f"user:{user.pk}")
        assert (await Thread.objects.aget()).owner_id == user.pk

    async def test_deleting_a_user_deletes_the_conversations(self):
        user = await get_user_model().objects.acreate(username="ann")
        await saved(ModelConversationStore(), scope=f"user:{user.pk}")
        await user.adelete()
        assert not await Thread.objects.aexists()
        assert not await Message.objects.aexists()

    async def test_save_for_a_deleted_user_conflicts(self):
        with pytest.raises(ConversationConflict):
            await saved(ModelConversationStore(), scope="user:987654")
        assert not await Message.objects.aexists()

    async def test_of_two_that_found_no_conversation_one_can_make_it(self):
        first, second = ModelConversationStore(), ModelConversationStore()
        for one in (first, second):
            assert (await one.load_turn("t", limit=None, scope="alice")).conversation is None
        await saved(first, scope="alice")
        with pytest.raises(ConversationConflict):
            await saved(second, scope="alice")
        assert await Message.objects.acount() == 2

    async def test_conflict_stores_no_message(self):
        store = ModelConversationStore()
        await saved(store)
        with pytest.raises(ConversationConflict):
            await saved(store, texts=("other",))
        assert await Message.objects.acount() == 2

    async def test_one_of_many_writers_wins(self):
        store = ModelConversationStore()
        await saved(store)

        async def write(number):
            async with ThreadSensitiveContext():
                try:
                    mine = await store.load("t")
                    assert mine
                    mine.messages.extend(turns(str(number)))
                    await store.save(mine)
                    return 1
                except ConversationConflict:
                    return 0
                finally:
                    await sync_to_async(lambda: connection.close())()

        won = sum(await asyncio.gather(*(write(number) for number in range(6))))
        assert won >= 1
        assert len(await messages_of(store)) == await Message.objects.acount() == 2 + 2 * won

    async def test_fork_is_whole_or_refused_while_its_source_is_deleted(self):
        store = ModelConversationStore()

        async def apart(awaitable):
            async with ThreadSensitiveContext():
                try:
                    await awaitable
                except (ConversationConflict, UserError):
                    pass
                finally:
                    await sync_to_async(lambda: connection.close())()

        for number in range(5):
            await saved(store, f"t{number}")
            fork = store.fork(f"t{number}", new_conversation_id=f"fork{number}")
            await asyncio.gather(apart(fork), apart(store.delete(f"t{number}")))
            assert await store.load(f"t{number}") is None
            assert len(await messages_of(store, f"fork{number}") or "ab") == 2

    async def test_history_with_a_gap_is_a_lookup_error(self):
        store = ModelConversationStore()
        await saved(store, texts=("one", "two"))
        [first, *_, last] = await store.load_entries("t") or []
        await Message.objects.filter(pk=first.id).adelete()
        assert len(await store.read_history(last.id, limit=3)) == 3
        with pytest.raises(LookupError):
            await store.read_history(last.id)

    async def test_long_history_comes_in_order(self):
        store = ModelConversationStore()
        conversation = await saved(store, texts=[str(number) for number in range(700)])
        assert await messages_of(store) == conversation.messages


class TestSession:
    async def test_other_changes_of_the_session_survive(self):
        store = await sync_to_async(new_session_store)()
        conversation = await saved(store)
        other = open_session(store.session_key)
        await other.aset("cart", 3)
        await other.asave()
        conversation.messages.extend(turns("two"))
        await store.save(conversation)
        session = open_session(store.session_key)
        assert await session.aget("cart") == 3
        assert len(await messages_of(store)) == 4

    async def test_save_after_sign_out_conflicts_and_makes_no_session(self):
        store = await sync_to_async(new_session_store)()
        await open_session(store.session_key).aflush()
        with pytest.raises(ConversationConflict):
            await saved(store)
        assert not await open_session().aexists(store.session_key)

    async def test_two_stores_of_one_session_lose_nothing(self):
        key = (await sync_to_async(new_session_store)()).session_key

        async def write(number):
            async with ThreadSensitiveContext():
                await saved(DjangoSessionConversationStore(key), str(number))
                await sync_to_async(lambda: connection.close())()

        await asyncio.gather(*(write(number) for number in range(6)))
        assert len(await DjangoSessionConversationStore(key).list_conversations()) == 6

    async def test_first_save_gives_a_request_its_session(self):
        request = RequestFactory().get("/")
        request.session = open_session()
        await saved(DjangoSessionConversationStore.for_request(request))
        assert request.session.session_key
        assert request.session.modified
        again = DjangoSessionConversationStore(request.session.session_key)
        assert await again.load("t") is not None

    async def test_request_that_saves_its_session_undoes_nothing(self):
        request = RequestFactory().get("/")
        request.session = open_session()
        await request.session.aset("cart", 1)
        await request.session.asave()
        store = DjangoSessionConversationStore.for_request(request)
        await saved(store)
        await store.rename("t", "Mine", scope="alice")
        await request.session.asave()
        [row], _ = await store.summaries("alice")
        assert row["title"] == "Mine"

    def test_signed_cookies_are_refused_with_the_cure(self, settings):
        settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
        with pytest.raises(ImproperlyConfigured, match="ModelConversationStore"):
            DjangoSessionConversationStore("key")

    async def test_cached_sessions_work(self, settings):
        settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
        store = await sync_to_async(new_session_store)()
        conversation = await saved(store)
        assert await messages_of(store) == conversation.messages


class TestSessionThroughTheEndpoint:
    """The whole way: when a stream ends, the session middleware is long done."""

    @pytest.fixture(autouse=True)
    def session_store(self, settings):
        settings.AGUI = {"CONVERSATION_STORE": "agui.contrib.session_store.store.DjangoSessionConversationStore"}

    async def ask(self, http, text, prefix="/agent/"):
        response = await http.post(prefix, json.dumps(run_input(text)), content_type="application/json")
        assert event_types(await collect(response))[-1] == "RUN_FINISHED"
        return response

    async def test_finished_runs_are_kept(self, user):
        http = AsyncClient()
        await http.aforce_login(user)
        with script(say("Hi Ada"), say("Bye")):
            await self.ask(http, "Hello")
            await self.ask(http, "Goodbye")
        [row] = json.loads((await http.get("/agent/threads/")).content)["threads"]
        assert (row["title"], row["preview"]) == ("Hello", "Bye")
        messages = json.loads((await http.get("/agent/threads/t1/")).content)["messages"]
        assert [message["content"] for message in messages] == ["Hello", "Hi Ada", "Goodbye", "Bye"]

    async def test_rename_survives_the_next_run(self, user, settings):
        settings.SESSION_SAVE_EVERY_REQUEST = True
        http = AsyncClient()
        await http.aforce_login(user)
        with script(say("Hi"), say("Bye")):
            await self.ask(http, "Hello")
            renamed = await http.patch("/agent/threads/t1/", '{"title": "Mine"}', content_type="application/json")
            assert renamed.status_code == 200
            await self.ask(http, "Goodbye")
        [row] = json.loads((await http.get("/agent/threads/")).content)["threads"]
        assert row["title"] == "Mine"

    async def test_anonymous_visitor_finds_the_thread_again(self, db):
        http = AsyncClient()
        with script(say("Hi")):
            response = await self.ask(http, "Hello", "/open/")
        assert settings.SESSION_COOKIE_NAME in response.cookies
        [row] = json.loads((await http.get("/open/threads/")).content)["threads"]
        assert row["title"] == "Hello"
        assert json.loads((await AsyncClient().get("/open/threads/")).content)["threads"] == []


class TestNull:
    async def test_keeps_nothing(self):
        store = NullConversationStore()
        conversation = await saved(store)
        conversation.messages.extend(turns("two"))
        assert await store.save(conversation, scope="alice") == []
        assert await store.load("t") is None
        assert await store.list_conversations() == []
        assert await store.summaries("alice") == ([], None)
        assert await store.rename("t", "Mine", scope="alice") is None
        await store.delete("t")
        with pytest.raises(LookupError):
            await store.read_entry("x")


@pytest.mark.parametrize("store_class", [ModelConversationStore, NullConversationStore, DjangoSessionConversationStore])
def test_open_store_opens_what_the_settings_name(settings, store_class):
    settings.AGUI = {"CONVERSATION_STORE": f"{store_class.__module__}.{store_class.__name__}"}
    request = RequestFactory().get("/")
    request.session = open_session()
    store = open_store(request, "alice")
    assert type(store) is store_class
    assert store.scope == "alice"


# --- Stores of your own


class Fetching(ModelConversationStore):
    async def _fetch(self, request, thread_id):
        return None


class Removing(NullConversationStore):
    def _remove(self, thread_id):
        pass


class Requesting(ModelConversationStore):
    async def load(self, request, thread_id):
        return None


class Own(ModelConversationStore):
    async def read_record(self, conversation_id):
        return await super().read_record(conversation_id)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (Fetching, "Fetching._fetch would never be called: write .*, `read_record` and `read_history`"),
        (Removing, "Removing._remove would never be called: write .*, `delete_record`"),
        (Requesting, "Requesting.load is not given a request"),
    ],
)
def test_a_store_whose_methods_would_never_be_called_is_refused(refused, message, settings):
    settings.AGUI = {"CONVERSATION_STORE": f"{__name__}.{refused.__name__}"}
    with pytest.raises(ImproperlyConfigured, match=rf"AGUI\['CONVERSATION_STORE'\] = .*{message}"):
        base.store_class()


def test_a_class_that_is_no_store_is_refused_with_its_cure(settings):
    settings.AGUI = {"CONVERSATION_STORE": "agui.ToolRegistry"}
    with pytest.raises(ImproperlyConfigured, match=r"name a subclass of agui\.stores\.base\.ThreadStore"):
        base.store_class()


@pytest.mark.parametrize(
    "path",
    [
        f"{__name__}.Own",
        *(f"{one.__module__}.{one.__name__}" for one in (ModelConversationStore, NullConversationStore)),
    ],
)
def test_a_store_that_is_called_is_taken(path, settings):
    settings.AGUI = {"CONVERSATION_STORE": path}
    assert f"{base.store_class().__module__}.{base.store_class().__name__}" == path
