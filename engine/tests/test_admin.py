"""The admin: everything can be found and read, little can be written, nothing costs a query a row."""

import asyncio
import json
import re
from datetime import datetime, timedelta
from html import escape, unescape
from urllib.parse import unquote
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from daily import by_day
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pydantic_ai import BinaryContent, BinaryImage, DeferredToolRequests, FilePart, TextPart, ThinkingPart
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from agui.contrib.admin import lists as admin_lists
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.contrib.feedback.models import Feedback
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.spending.models import Budget
from agui.http.tokens import create_token, hash_token
from agui.models import ApiToken, AuditRecord, Message, Run, get_conversation_model
from agui.server.versions import versions
from agui.stores.annotations import METADATA_KEY, annotate
from agui.stores.model import ModelConversationStore
from agui.testing import collect
from tests.conftest import body_of, create_user, files_in, half_said

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media", "chief")]

RECORDS = ["conversation", "run", "auditrecord", "attachment", "feedback", "queuedmessage"]
NAMES = [*RECORDS, "apitoken"]
OF_ADMIN = (Thread, Run, AuditRecord, ApiToken, Attachment, Feedback, QueuedMessage)
TABLES = {model._meta.model_name: model for model in OF_ADMIN}


def at(name):
    """The address of a table in the admin."""
    return f"/admin/{TABLES[name]._meta.app_label}/{name}"


def fill(number, thread_id="", scope=""):
    """One row of everything, each of a user of its own, or of a scope that is no user's."""
    user = None if scope else get_user_model().objects.create(username=f"user{number}")
    of_thread = {"scope": scope or f"user:{user.pk}", "thread_id": thread_id or f"t{number}"}
    save_thread(**of_thread)
    Run.objects.create(**of_thread, owner=user, run_id="r")
    called = {"user": user, "run_id": "r", "tool_name": "wipe", "started_at": timezone.now(), "duration_ms": 1}
    AuditRecord.objects.create(**of_thread, **called)
    thread = Thread.objects.get(**of_thread)
    Feedback.objects.create(thread=thread, message_id="a", entry=thread.head, value=-1, comment="<i>Wrong</i>")
    if user:
        create_token(user, f"token{number}")
    text = json.dumps({"id": "m", "role": "user", "content": "<b>Only ten</b>"})
    QueuedMessage.objects.create(**of_thread, owner=user, message_id="m", mode="steer", position=0, data=text)
    about = {"name": f"file{number}", "media_type": "text/plain", "size": 1, "digest": "d"}
    Attachment(scope=thread.scope, owner=user, **about).file.save("x", ContentFile(b"x"))


def save_thread(thread_id, scope="alice", *texts):
    return save_messages(
        thread_id, [ModelRequest(parts=[UserPromptPart(text)]) for text in texts or ("<b>Hello</b>",)], scope
    )


def save_messages(thread_id, messages, scope="alice", **fields):
    conversation = Conversation(conversation_id=thread_id, messages=messages, **fields)
    async_to_sync(ModelConversationStore().save)(conversation, scope=scope)
    return conversation


def change_page(row):
    return f"{at(row._meta.model_name)}/{row.pk}/change/"


def thread_page(thread_id):
    return change_page(Thread.objects.get(thread_id=thread_id))


def delete(chief, row, *, by_action=False):
    """Delete a row as people do: on its page, or with the action of the list."""
    table = at(row._meta.model_name)
    if by_action:
        chief.post(f"{table}/", {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    else:
        chief.post(f"{table}/{row.pk}/delete/", {"post": "yes"})


def rows_of(chief, url, **query):
    return list(chief.get(url, query).context["cl"].result_list)


def page_of(chief, thread_id, query=""):
    response = chief.get(f"{thread_page(thread_id)}?{query}")
    assert response.status_code == 200
    return response.content.decode()


def texts_in(html):
    """What each line of the transcript says, without its time."""
    articles = re.findall(r"<article.*?</article>", html, re.DOTALL)
    without_times = (re.sub(r"<time.*?</time>", "", article) for article in articles)
    texts = (re.split(r"<[^>]*>", article) for article in without_times)
    return [[text for piece in pieces if (text := " ".join(unescape(piece).split()))] for pieces in texts]


def queries_of(chief, url):
    with CaptureQueriesContext(connection) as captured:
        response = chief.get(url)
    assert response.status_code == 200
    return len(captured)


@pytest.mark.parametrize("name", by_day(NAMES))
def test_list_costs_the_same_for_more_rows(chief, name):
    fill(0)
    chief.get(f"{at(name)}/")
    few = queries_of(chief, f"{at(name)}/")
    for number in range(1, 50):
        fill(number)
    assert queries_of(chief, f"{at(name)}/") == few


HEAVY = {
    "conversation": ["words", "branches"],
    "run": ["draft"],
    "auditrecord": ["arguments"],
    "queuedmessage": ["data"],
}


@pytest.mark.parametrize("name", RECORDS)
def test_list_is_not_counted_to_its_end_and_leaves_heavy_columns_alone(chief, name, monkeypatch):
    monkeypatch.setattr(admin_lists, "MAX_ROWS", 3)
    for number in range(5):
        fill(number)
    with CaptureQueriesContext(connection) as captured:
        response = chief.get(f"{at(name)}/")
    assert response.context["cl"].result_count == 3
    table = TABLES[name]._meta.db_table
    unwanted = [f'COUNT(*) FROM "{table}"', *(f'"{table}"."{column}"' for column in HEAVY.get(name, ()))]
    assert not [query["sql"] for query in captured for words in unwanted if words in query["sql"]]


def test_the_footer_tells_the_versions(chief):
    fill(0)
    for page in ("", "run/", f"run/{Run.objects.get().pk}/change/", "apitoken/add/"):
        text = chief.get(f"/admin/agui/{page}").content.decode()
        assert versions() in text.partition('<footer id="footer">')[2], page


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_found_by_user_and_opened_and_records_only_deleted(chief, name):
    fill(0)
    fill(1)
    [row] = rows_of(chief, f"{at(name)}/", q="user1")
    response = chief.get(change_page(row))
    assert response.status_code == 200
    assert b'<input type="text"' not in response.content
    found = TABLES[name].objects.filter(pk=row.pk)
    before = found.values().get()
    changed = chief.post(change_page(row), {field.name: "1" for field in row._meta.concrete_fields})
    assert found.values().get() == before
    if name in RECORDS:
        assert changed.status_code == chief.get(f"{at(name)}/add/").status_code == 403
        delete(chief, row)
        assert not found.exists()


def test_transcript_is_readable_and_escaped_and_cuts_what_is_endless(chief):
    look = ["<script>alert(1)</script>", BinaryContent(b"x" * 2048, media_type="image/png")]
    answer = [
        ThinkingPart("I <think> so."),
        TextPart("Fine\n<img src=x>"),
        ToolCallPart("wipe", {"all": True}, tool_call_id="1"),
        ToolCallPart("never", '{"bro', tool_call_id="2"),
    ]
    moment = timezone.make_aware(datetime(2026, 2, 3, 4, 5, 6))
    messages = [
        ModelRequest(parts=[UserPromptPart(look)]),
        ModelResponse(parts=answer),
        ModelRequest(parts=[ToolReturnPart("wipe", {"gone": "<3>"}, tool_call_id="1", outcome="denied")]),
        ModelRequest(parts=[UserPromptPart("x" * 12_345, timestamp=moment)]),
        ModelResponse(parts=[TextPart("It was a lo")], state="interrupted"),
    ]
    save_messages("t", messages)
    html = page_of(chief, "t")
    assert "<script>alert" not in html
    assert "<img src=x>" not in html
    assert texts_in(html) == [
        ["User", "<script>alert(1)</script>", "image/png (2.0 KB)"],
        ["Reasoning", "I <think> so.", "I <think> so."],
        ["Assistant", "Fine <img src=x>"],
        ["wipe", "denied", "all: true", "Arguments", "all", "true", "Result", "gone", "<3>"],
        ["never", "no result", '{"bro', "Arguments", '{"bro'],
        ["User", "x" * 5000 + "… (7345 more characters)"],
        ["Assistant", "It was a lo", "Cut off here."],
    ]
    assert "2026-02-03 04:05:06</time>" in html


def test_transcript_names_files_and_images_that_were_made(chief):
    fill(0)
    known = {"id": str(Attachment.objects.get().pk), "name": "a <file>", "media_type": "text/plain", "size": 1}
    asked = ModelRequest(parts=[UserPromptPart("See these")])
    annotate(asked, attachments=[known, {**known, "id": str(uuid4()), "name": "gone"}])
    image = {**known, "name": "draw-1.png", "media_type": "image/png"}
    painted = ModelResponse(parts=[FilePart(BinaryImage(b"", media_type="image/png", identifier=image["id"]))])
    annotate(painted, made={image["id"]: [image]})
    called = ModelResponse(parts=[ToolCallPart("draw", {}, tool_call_id="1")])
    drawn = ModelRequest(parts=[ToolReturnPart("draw", "[image/png]", tool_call_id="1")])
    annotate(drawn, made={"1": [image]})
    save_messages("t", [asked, painted, called, drawn])
    html = page_of(chief, "t")
    link = f'<a href="{change_page(Attachment.objects.get())}">'
    assert html.count(f"{link}a &lt;file&gt;</a> (text/plain, 1") == 1
    assert "gone (deleted)" in html
    assert html.count(f"{link}draw-1.png</a> (image/png, 1") == 2
    assert "0\xa0bytes" not in html


def test_transcript_is_capped_and_goes_on(chief):
    save_thread("t", "alice", *[f"number {number}." for number in range(450)])
    html = page_of(chief, "t")
    for first, last in ((250, 449), (50, 249), (0, 49)):
        assert [row[1] for row in texts_in(html)] == [f"number {number}." for number in range(first, last + 1)]
        earlier = re.search(r"There is more before this.*\?(end=[^\"]*)", html)
        html = page_of(chief, "t", earlier[1]) if earlier else ""
    assert html == ""


def test_thread_says_what_it_waits_for(chief):
    call = ToolCallPart("wipe", {}, tool_call_id="1")
    until = timezone.now() + timedelta(hours=1)
    about = {"1": {"x-confirm": "Wipe <all>?", METADATA_KEY: {"id": "int-1", "expires_at": until.isoformat()}}}
    requests = DeferredToolRequests(approvals=[call], metadata=about)
    save_messages("t", [ModelResponse(parts=[call])], deferred_tool_requests=requests)
    time = f"{timezone.localtime(until):%Y-%m-%d %H:%M:%S}"
    assert f"Waiting for an answer until {time}: <bdi>Wipe &lt;all&gt;?</bdi>" in page_of(chief, "t")


def test_versions_that_were_left_can_be_read(chief):
    conversation = save_thread("t", "alice", "one", "two")
    conversation.messages = [conversation.messages[0], ModelRequest(parts=[UserPromptPart("other")])]
    async_to_sync(ModelConversationStore().save)(conversation)
    html = page_of(chief, "t")
    assert [row[1] for row in texts_in(html)] == ["one", "other"]
    [(end, text)] = re.findall(r'<li><a href="\?(end=[^"]*)">([^<]*)</a>', html)
    assert text == "two"
    left = page_of(chief, "t", end)
    assert [row[1] for row in texts_in(left)] == ["one", "two"]
    assert 'not the end of the conversation. <a href="?">' in left


@pytest.mark.parametrize("damage", ["gone", "unreadable", "end"])
def test_broken_thread_opens(chief, damage):
    save_thread("t", "alice", "one", "two")
    if damage == "gone":
        Message.objects.filter(parent=None).delete()
    elif damage == "unreadable":
        Message.objects.update(data={"kind": "unknown"})
        Thread.objects.update(deferred={"calls": 1}, branches=[Message.objects.first().pk])
    assert "Some of its messages are gone." in page_of(chief, "t", "end=nowhere" if damage == "end" else "")


def test_transcript_costs_one_query(chief):
    save_thread("short")
    save_thread("long", "alice", *[str(number) for number in range(300)])
    chief.get(thread_page("short"))
    assert queries_of(chief, thread_page("short")) == queries_of(chief, thread_page("long"))


@pytest.mark.parametrize("by_action", [False, True])
def test_deleting_a_thread_leaves_its_fork_whole(chief, by_action):
    conversation = save_thread("t")
    async_to_sync(ModelConversationStore().fork)("t", new_conversation_id="fork")
    thread = Thread.objects.get(thread_id="t")
    assert thread_page("t") in links_of(chief, thread_page("fork")).values()
    assert b"fork" not in chief.get(f"{at('conversation')}/{thread.pk}/delete/").content
    delete(chief, thread, by_action=by_action)
    assert [thread.thread_id for thread in Thread.objects.all()] == ["fork"]
    assert async_to_sync(ModelConversationStore().load)("fork").messages == conversation.messages
    assert '<div class="readonly">t</div>' in page_of(chief, "fork")


@pytest.mark.parametrize("by_action", [False, True])
def test_deleting_takes_along_what_is_its_own_and_the_log_keeps_no_word(chief, media, by_action):
    fill(0)
    fill(1)
    for number, attachment in enumerate(Attachment.objects.order_by("name")):
        AttachmentUse.objects.create(attachment=attachment, thread_id=f"t{number}")
    delete(chief, Thread.objects.get(thread_id="t0"), by_action=by_action)
    assert [run.thread_id for run in Run.objects.all()] == ["t1"]
    assert [attachment.name for attachment in Attachment.objects.all()] == ["file1"]
    assert len(files_in(media)) == 1
    assert AuditRecord.objects.count() == 2
    delete(chief, Attachment.objects.get(), by_action=by_action)
    assert not Attachment.objects.exists()
    assert not files_in(media)
    logged = [entry.object_repr for entry in LogEntry.objects.all()]
    assert len(logged) == 2
    assert not [text for text in logged if "Hello" in text or "file" in text], logged


def links_of(chief, url):
    response = chief.get(url)
    assert response.status_code == 200, url
    main = response.content.decode().partition('id="content"')[2]
    return {unescape(text): unescape(href) for href, text in re.findall(r'<a href="([^"]*)">([^<]*)</a>', main)}


def test_one_comes_from_a_thread_to_its_runs_its_tool_calls_its_files_and_its_user(chief):
    fill(0)
    fill(1)
    file = Attachment.objects.get(name="file0")
    AttachmentUse.objects.create(attachment=file, thread_id="t0")
    thread = thread_page("t0")
    links = links_of(chief, thread)
    assert links["user0"] == f"/admin/users/user/{get_user_model().objects.get(username='user0').pk}/change/"
    for text, row in {
        "runs (1)": Run.objects.get(thread_id="t0"),
        "tool calls (1)": AuditRecord.objects.get(thread_id="t0"),
        "files (1)": file,
        "feedback (1)": Feedback.objects.get(thread__thread_id="t0"),
        "queued messages (1)": QueuedMessage.objects.get(thread_id="t0"),
    }.items():
        assert rows_of(chief, links[text]) == [row]
    run = links_of(chief, links["runs (1)"])
    assert run["<b>Hello</b>"] == thread
    [run_page] = [href for href in run.values() if "/run/" in href and "/change/" in href]
    calls = links_of(chief, run_page)["tool calls"]
    assert rows_of(chief, calls)[0].thread_id == "t0"
    [call_page] = [href for href in links_of(chief, calls).values() if "/auditrecord/" in href and "/change/" in href]
    links = links_of(chief, call_page)
    assert links["<b>Hello</b>"] == thread
    assert rows_of(chief, links["r"])[0].thread_id == "t0"
    assert links_of(chief, change_page(file))["<b>Hello</b>"] == thread
    Thread.objects.all().delete()
    assert b"t0 (deleted)" in chief.get(f"{at('auditrecord')}/").content


def test_thread_of_any_id_finds_its_runs(chief):
    for thread_id in ("a b/c?d=e&f#g", "ü/events", "'\";--", "%2F"):
        save_thread(thread_id)
        Run.objects.create(scope="alice", thread_id=thread_id, run_id="r")
        runs = links_of(chief, thread_page(thread_id))["runs (1)"]
        assert [run.thread_id for run in rows_of(chief, runs)] == [thread_id]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("STRASSE", ["t0"]),
        ("milk", ["t0", "t1"]),
        ("milk berlin", ["t0"]),
        ("SER1 milk", ["t1"]),
        ("milk nobody", []),
        ("100%", ["t1"]),
        ("GROCERIES", ["t1"]),
        ("_", []),
        ("t1", ["t1"]),
        ("", ["t0", "t1"]),
    ],
)
def test_threads_are_searched_by_title_text_and_user(chief, query, found):
    for number, texts in enumerate([("Milk?", "In der Straße, Berlin"), ("Other title", "Fat-free milk, 100% good")]):
        user = get_user_model().objects.create(username=f"user{number}")
        save_thread(f"t{number}", f"user:{user.pk}", *texts)
    async_to_sync(ModelConversationStore().rename)("t1", "Groceries", scope=f"user:{user.pk}")
    assert sorted(thread.thread_id for thread in rows_of(chief, f"{at('conversation')}/", q=query)) == found


@pytest.mark.parametrize("query", ["3f2a91bc-0000-4000-8000-000000000000", "3f2a91bc", " 3F2A91BC ", "t3", "user3"])
def test_runs_are_found_by_what_an_error_shows_and_by_their_users(chief, query):
    for number in (3, 4):
        user = get_user_model().objects.create(username=f"user{number}")
        about = {"thread_id": f"t{number}", "run_id": "r", "owner": user, "scope": f"user:{user.pk}"}
        Run.objects.create(id=UUID(f"{number}f2a91bc-0000-4000-8000-000000000000"), **about)
    run = Run.objects.get(thread_id="t3")
    page = chief.get(f"{at('run')}/", {"q": query})
    assert list(page.context["cl"].result_list) == [run]
    assert "3f2a91bc" in page.content.decode()


def test_runs_show_how_they_ended_and_what_they_used(chief):
    usage = {"input_tokens": 12345, "output_tokens": 678, "requests": 9}
    ended = {"status": Run.Status.FAILED, "code": "model_refused", "cause": "No such key", "duration_ms": 61_500}
    run = Run.objects.create(thread_id="t", run_id="r", usage=usage, **ended)
    Run.objects.create(thread_id="t1", run_id="r1", status="timed_out", code="timeout")
    html = chief.get(f"{at('run')}/").content.decode()
    for text in ("Failed: model_refused", ">13,023<", "61.5 s", "timed_out"):
        assert text in html, text
    assert "timed_out: timeout" not in html
    assert "No such key" in chief.get(change_page(run)).content.decode()


def test_budget_has_its_user_by_name(chief, user, monkeypatch):
    budget = Budget.objects.create(user=user, period="day", tokens=1)
    page = chief.get(f"/admin/agui_spending/budget/{budget.pk}/change/").content.decode()
    assert "admin-autocomplete" in page
    assert f'<option value="{user.pk}" selected>ada</option>' in page
    # Without users in the admin a budget can still be made.
    monkeypatch.delitem(admin.site._registry, get_user_model())
    page = chief.get("/admin/agui_spending/budget/add/").content.decode()
    assert 'name="user"' in page
    assert "admin-autocomplete" not in page


@pytest.mark.parametrize(
    ("name", "query", "found"),
    [
        ("run", "status__exact=interrupted", ["t1"]),
        ("run", "code=timeout", ["t2"]),
        ("run", "model=fast", ["t0", "t2"]),
        ("auditrecord", "tool_name=wipe", ["t0", "t1"]),
        ("auditrecord", "outcome__exact=denied", ["t1"]),
        ("auditrecord", "via=mcp:+Claude", ["t1"]),
    ],
)
def test_lists_are_filtered(chief, name, query, found):
    ended = [("finished", "", "fast"), ("interrupted", "interrupted", "good"), ("failed", "timeout", "fast")]
    called = [("wipe", "success", ""), ("wipe", "denied", "mcp: Claude"), ("echo", "failed", "mcp")]
    for number, ((status, code, model), (tool, outcome, via)) in enumerate(zip(ended, called, strict=True)):
        about = {"tool_name": tool, "outcome": outcome, "via": via, "started_at": timezone.now(), "duration_ms": 1}
        Run.objects.create(thread_id=f"t{number}", run_id="r", status=status, code=code, model=model)
        AuditRecord.objects.create(thread_id=f"t{number}", **about)
    page = chief.get(f"{at(name)}/?{query}")
    assert sorted(row.thread_id for row in page.context["cl"].result_list) == found
    html = unescape(page.content.decode())
    assert f"?{query}" in unquote(html)
    assert ("mcp: Claude</td>" in html) == (name == "auditrecord" and "t1" in found)


def test_messages_that_wait_are_found_and_read(chief):
    fill(0)
    parts = [{"type": "text", "text": "<i>Look</i>"}, {"type": "image"}]
    for number, (state, content) in enumerate([("waiting", parts), ("read", None), ("taken_back", None)]):
        data = json.dumps({"id": "x", "role": "user", "content": content}) if content else ""
        about = {"thread_id": f"x{number}", "message_id": "x", "mode": "queue"}
        QueuedMessage.objects.create(state=state, position=number, data=data, **about)
    waiting = rows_of(chief, f"{at('queuedmessage')}/", state__exact="waiting")
    assert [row.thread_id for row in waiting] == ["x0", "t0"]
    read = QueuedMessage.objects.get(state="read")
    for row, text in zip(
        [*waiting, read], ["<i>Look</i>\n[image]", "<b>Only ten</b>", "read by the agent"], strict=True
    ):
        assert escape(text).replace("\n", "<br>") in chief.get(change_page(row)).content.decode()


def test_transcript_says_what_was_read_during_a_run(chief):
    def prompt(text, run_id):
        message = ModelRequest(parts=[UserPromptPart(text)], run_id=run_id)
        annotate(message, ids=[text])
        return message

    call = ToolCallPart("wipe", {}, tool_call_id="1")
    image = UserPromptPart(["An image of the tool", BinaryContent(b"x", media_type="image/png")])
    messages = [
        prompt("Go", None),
        ModelResponse(parts=[call], run_id="r1"),
        ModelRequest(parts=[ToolReturnPart("wipe", "x", tool_call_id="1"), image], run_id="r1"),
        prompt("Only ten", "r1"),
        ModelResponse(parts=[TextPart("Done.")], run_id="r1"),
        prompt("And then", "r2"),
        ModelResponse(parts=[TextPart("Well.")], run_id="r2"),
    ]
    save_messages("t", messages)
    said = [line for line in texts_in(page_of(chief, "t")) if line[-1] == "Read while the agent worked."]
    assert said == [["User", "Only ten", "Read while the agent worked."]]


def test_filters_offer_what_the_newest_rows_have(chief, monkeypatch):
    monkeypatch.setattr(admin_lists, "RECENT_ROWS", 2)
    for days, model in enumerate(["new", "newer", "old"]):
        started = timezone.now() - timedelta(days=days)
        Run.objects.create(thread_id=model, run_id="r", model=model, started_at=started)
    html = chief.get("/admin/agui/run/").content.decode()
    assert "?model=newer" in html
    assert "?model=old" not in html


@pytest.mark.parametrize("name", RECORDS)
def test_a_visitor_s_session_is_nobody_s_to_take(chief, name):
    key = "0123456789abcdef"
    fill(0, scope=f"session:{key}")
    row = TABLES[name].objects.get()
    for page in ("", f"{row.pk}/change/", f"{row.pk}/delete/"):
        assert key not in chief.get(f"{at(name)}/{page}").content.decode()
    if name != "auditrecord":
        assert "visitor 0123…" in chief.get(f"{at(name)}/").content.decode()


async def download(user, pk):
    browser = AsyncClient()
    if user:
        await browser.aforce_login(user)
    response = await browser.get(f"{at('attachment')}/{pk}/download/")
    return response, await body_of(response) if response.streaming else b""


async def test_who_may_view_attachments_downloads_a_file_and_never_opens_it(transactional_db, settings):
    settings.SECURE_CONTENT_TYPE_NOSNIFF = False  # Not the middleware's alone to say
    await sync_to_async(fill)(0)
    attachment = await Attachment.objects.aget()
    await Attachment.objects.aupdate(name='page.html"; x="', media_type="text/html")
    reader = await sync_to_async(create_user)("reader", "view_attachment", is_staff=True)
    response, content = await download(reader, attachment.pk)
    assert (response.status_code, content) == (200, b"x")
    assert response.headers["Content-Disposition"].startswith("attachment; filename=")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in response.headers["Cache-Control"]
    owner = await get_user_model().objects.aget(username="user0")
    clerk = await sync_to_async(create_user)("clerk", "view_conversation", is_staff=True)
    for user, status in ((None, 302), (owner, 302), (clerk, 403)):
        response, content = await download(user, attachment.pk)
        assert (response.status_code, content) == (status, b"")
    attachment.file.storage.delete(attachment.file.name)
    for pk in (attachment.pk, uuid4()):
        assert (await download(reader, pk))[0].status_code == 404


def test_new_token_is_shown_once_and_works_until_it_is_revoked(chief, user):
    fill(0)
    other = ApiToken.objects.get()
    add, about = f"{at('apitoken')}/add/", {"user": user.pk, "name": "ci"}
    assert 'name="_save"' in chief.get(add).content.decode()
    chief.post(add, {**about, "days": "0"})
    assert ApiToken.objects.get() == other
    page = chief.post(add, {**about, "days": "5"}, follow=True)
    token = ApiToken.objects.exclude(pk=other.pk).get()
    [text] = re.findall(r"\bagt_\S{17,}", " ".join(map(str, page.context["messages"])))
    assert hash_token(text) == token.digest
    assert (token.user, token.name, (token.expires_at - timezone.now()).days) == (user, "ci", 4)
    assert text not in chief.get(f"{at('apitoken')}/").content.decode()
    assert text not in chief.get(f"{at('apitoken')}/{token.pk}/history/").content.decode()
    assert 'name="_save"' not in chief.get(change_page(token)).content.decode()
    chief.post(f"{at('apitoken')}/", {"action": "revoke", "_selected_action": [token.pk]})
    assert ApiToken.objects.get(revoked_at=None) == other


@pytest.mark.parametrize(("may", "status"), [("change_run", "cancelled"), ("delete_run", "finished")])
async def test_runs_are_stopped_by_who_may_change_them(client, may, status):
    browser = AsyncClient()
    await browser.aforce_login(await sync_to_async(create_user)("clerk", "view_run", may, is_staff=True))
    async with half_said(client) as (response, go_on):
        ended = await Run.objects.acreate(thread_id="t1", scope="user:1", status=Run.Status.FINISHED)
        running = await Run.objects.aget(status=Run.Status.RUNNING)
        done = await browser.post(f"{at('run')}/", {"action": "stop", "_selected_action": [running.pk, ended.pk]})
        assert done.status_code == 302
        if status == "finished":
            go_on.set()
        await asyncio.wait_for(collect(response), 60)
    assert (await Run.objects.aget(pk=running.pk)).status == status
