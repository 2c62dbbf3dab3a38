"""Every store keeps the same promises; pydantic-ai's own shows that the tests are right."""

import asyncio
import json
import threading
from importlib import import_module
from uuid import uuid4

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import connection
from django.test import RequestFactory
from pydantic_ai import BinaryContent, DeferredToolRequests, RunUsage
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from agui.blocking.executor import in_database
from agui.contrib.session_store.store import DjangoSessionConversationStore
from agui.models import Message, get_conversation_model
from agui.stores import base
from agui.stores.base import ThreadStore, open_store
from agui.stores.model import ModelConversationStore
from agui.stores.null import NullConversationStore
from agui.stores.summary import shorten
from agui.testing import say
from tests.conftest import Client, run_input, script

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


STORES = {"model": ModelConversationStore, "session": new_session_store, "memory": MemoryThreadStore}


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
    return await saved_messages(store, turns(*texts), thread_id, scope)


async def saved_messages(store, messages, thread_id="t", scope="alice", **fields):
    conversation = Conversation(conversation_id=thread_id, messages=messages, **fields)
    await store.save(conversation, scope=scope)
    return conversation


async def gone_on(store, conversation, *texts):
    conversation.messages.extend(turns(*texts))
    return await store.save(conversation)


class TestContract:
    async def test_load_returns_what_was_saved(self, store):
        assert await store.load("t") is None
        call = ToolCallPart("wipe", {"all": True}, tool_call_id="c1")
        asked = DeferredToolRequests(approvals=[call], metadata={"c1": {"x-confirm": NASTY[0]}})
        usage = RunUsage(requests=2, tool_calls=1, input_tokens=10, details={"cached": 3})
        image = BinaryContent(b"\x00\xff\xd8", media_type="image/png")
        first = await saved_messages(store, [ask(["look", image])], usage=usage, deferred_tool_requests=asked)
        loaded = await store.load("t", scope="alice")
        assert (loaded.revision, loaded.usage, loaded.deferred_tool_requests) == (first.revision, usage, asked)
        assert loaded.messages[0].parts[0].content[1].data == image.data
        before = await store.load_entries("t")
        entries = await gone_on(store, first, "two")
        assert ids(await store.load_entries("t")) == [*ids(before), *ids(entries)]

    async def test_a_window_has_the_last_messages_and_is_added_to_the_whole(self, store):
        first = await saved(store, texts=("one", "two", "three"))
        for limit, expected in {2: first.messages[-2:], 0: [], 100: first.messages}.items():
            assert (await store.load("t", limit=limit)).messages == expected
        await gone_on(store, await store.load("t", limit=1), "four")
        whole = await messages_of(store)
        assert (whole[0].parts[0].content, len(whole)) == ("one", 8)

    async def test_a_write_that_knows_no_better_conflicts_and_changes_nothing(self, store):
        conversation = await saved(store)
        mine = await store.load("t")
        await gone_on(store, conversation, "theirs")
        bobs = await store.load("t")
        record, fork = await store.read_record("t"), await store.read_record("t")
        record.head_id = None
        fork.conversation_id, fork.head_id = "fork", str(uuid4())
        for write in (
            lambda: gone_on(store, mine, "mine"),
            lambda: saved(store, texts=("other",)),
            lambda: store.save(bobs, scope="bob"),
            lambda: store.write_record(record, expected_revision="old"),
            lambda: store.write_record(record, expected_revision=None),
            lambda: store.write_record(fork, expected_revision=None),
            lambda: store.delete_record("t", expected_revision="old"),
            lambda: store.delete_record("unknown", expected_revision="old"),
            lambda: store.move("t", None, expected_revision="old"),
        ):
            with pytest.raises(ConversationConflict):
                await write()
        assert await messages_of(store) == conversation.messages
        assert await store.read_record("fork") is None

    async def test_what_is_deleted_stays_deleted(self, store):
        conversation = await saved(store)
        record, [first, _] = await store.read_record("t"), await store.load_entries("t")
        assert await store.load("t", scope="bob") is None
        await store.delete("t", scope="bob")
        assert await store.load("t", scope="alice") is not None
        await store.delete("t")
        with pytest.raises(LookupError):
            await store.read_entry(first.id)
        with pytest.raises(LookupError):
            await store.read_history(str(uuid4()))
        with pytest.raises(ConversationConflict):
            await gone_on(store, conversation, "late")
        with pytest.raises(ConversationConflict):
            await store.write_record(record, expected_revision=record.revision)
        assert await store.load("t") is await store.read_record("t") is None

    @pytest.mark.parametrize("text", NASTY)
    async def test_text_survives_unchanged(self, store, text):
        messages = [
            ask(text),
            ModelResponse(parts=[ToolCallPart("t", {"a": text}, "1"), ToolCallPart("t", text, "2")]),
            ModelRequest(parts=[ToolReturnPart("t", {"a": [text, None, 1.5]}, tool_call_id="1")], metadata={"m": text}),
            answer(text),
        ]
        await saved_messages(store, messages)
        assert await messages_of(store) == messages
        [row] = (await store.summaries("alice"))[0]
        assert "\x00" not in row["title"] + row["preview"]
        json.dumps(row, ensure_ascii=False).encode()

    async def test_records_are_newest_first_and_by_scope(self, store):
        for name, scope in [("a", "alice"), ("b", "bob"), ("c", "alice")]:
            await saved(store, name, scope=scope)
        for options, found in [({"scope": "alice"}, ["c", "a"]), ({"limit": 2}, ["c", "b"]), ({"scope": "nobody"}, [])]:
            assert [record.conversation_id for record in await store.list_conversations(**options)] == found

    async def test_fork_shares_entries_and_outlives_its_source(self, store):
        await saved(store, texts=("one", "two"))
        forked = await store.fork("t", at=2, new_conversation_id="fork")
        entries = ids(await store.load_entries("t"))
        assert ids(await store.load_entries("fork")) == entries[:2]
        with pytest.raises(ConversationConflict):
            await store.fork("t", new_conversation_id="fork")
        with pytest.raises(UserError):
            await store.fork("unknown")
        await store.delete("t")
        await gone_on(store, forked, "three")
        assert await messages_of(store, "fork") == forked.messages
        with pytest.raises(LookupError):
            await store.read_entry(entries[-1])

    async def test_fork_of_a_deleted_fork_outlives_the_source(self, store):
        source = await saved(store, texts=("one", "two"))
        middle = await store.fork("t", at=2, new_conversation_id="middle")
        await gone_on(store, middle, "three")
        await store.fork("middle", at=3, new_conversation_id="last")
        await store.delete("middle")
        await store.delete("t")
        assert await messages_of(store, "last") == [*source.messages[:2], middle.messages[2]]

    async def test_fork_that_left_the_shared_history_can_go_back(self, store):
        await saved(store, texts=("one", "two"))
        forked = await store.fork("t", new_conversation_id="fork")
        shared = (await store.load_entries("fork"))[-1].id
        await store.branch("fork", at=1, expected_revision=forked.revision)
        await store.delete("t")
        revision = (await store.read_record("fork")).revision
        back = await store.branch("fork", from_entry=shared, expected_revision=revision)
        assert len(back.messages) == 4


class TestSummaries:
    async def test_title_is_the_first_and_preview_the_newest_text_of_ones_own(self, store):
        image = BinaryContent(b"\xff", media_type="image/png")
        conversation = await saved_messages(store, [ask([image, "  "])])
        await saved(store, "b", scope="bob")
        row = await store.summary("t", scope="alice")
        assert (row["title"], row["preview"]) == ("New conversation", "")
        conversation.messages.append(answer("What?"))
        await gone_on(store, conversation, "one", "two")
        [row], following = await store.summaries("alice")
        assert (row["thread_id"], row["title"], row["preview"], following) == ("t", "one", "You said two", None)
        assert await store.summary("t", scope="bob") is await store.summary("unknown", scope="bob") is None

    async def test_search_looks_in_title_and_preview(self, store):
        await saved(store, "a", texts=("Milk 100%",))
        await saved(store, "b", texts=("bread", "butter"))
        for q, found in {"MILK": "a", "100%": "a", "said but": "b", "%": "a", "cheese": "", "\x00": ""}.items():
            assert [row["thread_id"] for row in (await store.summaries("alice", q=q))[0]] == list(found), q

    async def test_rename_survives_later_saves_and_forks(self, thread_store):
        conversation = await saved(thread_store)
        assert await thread_store.rename("t", "Hers", scope="bob") is None
        assert await thread_store.rename("unknown", "Hers", scope="alice") is None
        assert (await thread_store.summary("t", scope="alice"))["title"] == "one"
        row = await thread_store.rename("t", "a\x00\ud800" + "b" * 300, scope="alice")
        assert row["title"] == "a\ufffd\ufffd" + "b" * 252
        await gone_on(thread_store, conversation, "two")
        await thread_store.fork("t", new_conversation_id="fork")
        for name in ("t", "fork"):
            found = await thread_store.summary(name, scope="alice")
            assert (found["title"], found["preview"]) == (row["title"], "You said two")


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


async def apart(awaitable):
    """Whether it succeeds, on a connection of its own."""
    async with ThreadSensitiveContext():
        try:
            await awaitable
        except (ConversationConflict, UserError):
            return False
        finally:
            await sync_to_async(lambda: connection.close())()
    return True


class TestModel:
    async def test_conversations_belong_to_the_user_of_their_scope(self):
        user = await get_user_model().objects.acreate(username="ann")
        scope = f"user:{user.pk}"
        await saved(ModelConversationStore(), scope=scope)
        assert (await Thread.objects.aget()).owner_id == user.pk
        await user.adelete()
        with pytest.raises(ConversationConflict):
            await saved(ModelConversationStore(), scope=scope)
        assert not await Thread.objects.aexists()
        assert not await Message.objects.aexists()

    async def test_of_two_that_found_no_conversation_one_can_make_it(self):
        first, second = ModelConversationStore(), ModelConversationStore()
        for one in (first, second):
            assert (await one.load_turn("t", limit=None, scope="alice")).conversation is None
        await saved(first, scope="alice")
        with pytest.raises(ConversationConflict):
            await saved(second, scope="alice")
        assert await Message.objects.acount() == 2

    async def test_one_of_many_writers_wins(self):
        store = ModelConversationStore()
        await saved(store)

        async def write(number):
            await gone_on(store, await store.load("t"), str(number))

        won = sum(await asyncio.gather(*(apart(write(number)) for number in range(6))))
        assert won >= 1
        assert len(await messages_of(store)) == await Message.objects.acount() == 2 + 2 * won

    async def test_fork_is_whole_or_refused_while_its_source_is_deleted(self):
        store = ModelConversationStore()
        for number in range(5):
            await saved(store, f"t{number}")
            fork = store.fork(f"t{number}", new_conversation_id=f"fork{number}")
            await asyncio.gather(apart(fork), apart(store.delete(f"t{number}")))
            assert await store.load(f"t{number}") is None
            assert len(await messages_of(store, f"fork{number}") or "ab") == 2

    async def test_long_history_comes_in_order(self):
        store = ModelConversationStore()
        conversation = await saved(store, texts=[str(number) for number in range(700)])
        assert await messages_of(store) == conversation.messages


class TestSession:
    @pytest.mark.parametrize("engine", ["db", "cache"])
    async def test_other_changes_of_the_session_survive(self, settings, engine):
        settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
        store = await sync_to_async(new_session_store)()
        conversation = await saved(store)
        other = open_session(store.session_key)
        await other.aset("cart", 3)
        await other.asave()
        await gone_on(store, conversation, "two")
        assert await open_session(store.session_key).aget("cart") == 3
        assert await messages_of(store) == conversation.messages

    async def test_save_after_sign_out_conflicts_and_makes_no_session(self):
        store = await sync_to_async(new_session_store)()
        await open_session(store.session_key).aflush()
        with pytest.raises(ConversationConflict):
            await saved(store)
        assert not await open_session().aexists(store.session_key)

    async def test_stores_of_one_session_lose_nothing(self):
        key = (await sync_to_async(new_session_store)()).session_key
        stores = [DjangoSessionConversationStore(key) for _ in range(6)]
        await asyncio.gather(*(apart(saved(store, str(number))) for number, store in enumerate(stores)))
        assert len(await stores[0].list_conversations()) == 6

    async def test_a_request_that_is_just_saving_its_session_undoes_nothing(self, monkeypatch):
        request = RequestFactory().get("/")
        request.session = open_session()
        conversation = await saved(DjangoSessionConversationStore.for_request(request))
        encoded, go_on = threading.Event(), threading.Event()

        class Watched:
            lock = threading.RLock()

            def __enter__(self):
                if not self.lock.acquire(blocking=False):
                    go_on.set()
                    self.lock.acquire()

            def __exit__(self, *failure):
                self.lock.release()

        def encode(data, whole=request.session.encode):
            text = whole(data)
            encoded.set()
            assert go_on.wait(60)
            return text

        monkeypatch.setattr(DjangoSessionConversationStore, "_lock", Watched())
        store = DjangoSessionConversationStore.for_request(request)
        monkeypatch.setattr(request.session, "encode", encode)
        saving = asyncio.create_task(in_database(request.session.save))
        assert await asyncio.to_thread(encoded.wait, 60)
        await gone_on(store, conversation, "two")
        go_on.set()
        await saving
        again = DjangoSessionConversationStore(request.session.session_key)
        assert await messages_of(again) == conversation.messages

    def test_signed_cookies_are_refused_with_the_cure(self, settings):
        settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
        with pytest.raises(ImproperlyConfigured, match="ModelConversationStore"):
            DjangoSessionConversationStore("key")

    async def test_what_runs_say_is_kept_for_their_user(self, user, settings):
        """The whole way: when a stream ends, the session middleware is long done."""
        settings.AGUI = {"CONVERSATION_STORE": "agui.contrib.session_store.store.DjangoSessionConversationStore"}
        settings.SESSION_SAVE_EVERY_REQUEST = True
        client = Client(None)
        await client.http.aforce_login(user)
        with script(say("Hi Ada"), say("Bye")):
            await client.run("Hello")
            renamed = await client.http.patch("/agent/threads/t1/", {"title": "Mine"}, content_type="application/json")
            assert renamed.status_code == 200
            await client.run("Goodbye")
        [row] = (await client.get("threads/")).json()["threads"]
        assert (row["title"], row["preview"]) == ("Mine", "Bye")
        messages = (await client.thread())["messages"]
        assert [message["content"] for message in messages] == ["Hello", "Hi Ada", "Goodbye", "Bye"]


async def test_a_store_that_keeps_nothing_finds_nothing():
    store = NullConversationStore()
    conversation = await saved(store)
    assert await gone_on(store, conversation, "two") == []
    assert await store.load("t") is None
    assert await store.list_conversations() == []
    assert await store.summaries("alice") == ([], None)
    assert await store.rename("t", "Mine", scope="alice") is None
    await store.delete("t")
    with pytest.raises(LookupError):
        await store.read_entry("x")


# --- Stores of your own


class Fetching(ModelConversationStore):
    async def _fetch(self, request, thread_id):
        return None


class Requesting(ModelConversationStore):
    async def load(self, request, thread_id):
        return None


class Closed(ModelConversationStore):
    """Refuses all that asks for a conversation."""

    def _refuse(self, *args, **kwargs):
        raise PermissionDenied("hunter2")

    load_turn = read_record = summaries = _refuse


class Own(ModelConversationStore):
    async def read_record(self, conversation_id):
        return await super().read_record(conversation_id)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (f"{__name__}.Fetching", "Fetching._fetch would never be called: write .*, `read_record` and `read_history`"),
        (f"{__name__}.Requesting", "Requesting.load is not given a request"),
        ("agui.ToolRegistry", r"name a subclass of agui\.stores\.base\.ThreadStore"),
    ],
)
def test_a_store_whose_methods_would_never_be_called_is_refused(refused, message, settings):
    settings.AGUI = {"CONVERSATION_STORE": refused}
    with pytest.raises(ImproperlyConfigured, match=rf"AGUI\['CONVERSATION_STORE'\] = .*{message}"):
        base.store_class()


@pytest.mark.parametrize("store", [ModelConversationStore, NullConversationStore, DjangoSessionConversationStore, Own])
def test_the_store_that_the_settings_name_is_opened(settings, store):
    settings.AGUI = {"CONVERSATION_STORE": f"{store.__module__}.{store.__name__}"}
    request = RequestFactory().get("/")
    request.session = open_session()
    opened = open_store(request, "alice")
    assert (type(opened), opened.scope) == (store, "alice")


@pytest.mark.parametrize("asked", ["POST ", "GET threads/", "GET threads/t1/", "DELETE threads/t1/"])
async def test_what_a_store_refuses_is_forbidden(client: Client, settings, asked: str):
    with script(say("Fine")):
        await client.run("Hello")
    settings.AGUI = {**settings.AGUI, "CONVERSATION_STORE": f"{__name__}.Closed"}
    method, path = asked.split(" ")
    body = json.dumps(run_input("Hi")) if method == "POST" else ""
    response = await client.http.generic(method, client.prefix + path, body, "application/json")
    assert response.status_code == 403
    assert b"hunter2" not in response.content
