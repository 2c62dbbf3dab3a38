"""The admin: everything can be found and read, little can be written, nothing costs a query a row."""

import pytest
from asgiref.sync import async_to_sync
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone
from pydantic_ai import BinaryContent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from agui.models import ApiToken, Attachment, AuditRecord, Message, Run, Thread
from agui.stores.model import ModelConversationStore
from agui.tokens import create_token, hash_token

urlpatterns = [path("admin/", admin.site.urls)]
pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["thread", "run", "auditrecord", "apitoken", "attachment"]


@pytest.fixture(autouse=True)
def admin_urls(endpoint, settings, tmp_path):
    settings.ROOT_URLCONF = __name__
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def browser(transactional_db):
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    return browser


def fill(number):
    """One row of everything, each of a user of its own."""
    user = get_user_model().objects.create(username=f"user{number}")
    scope = f"user:{user.pk}"
    now = timezone.now()
    save_thread(f"t{number}", scope)
    Run.objects.create(scope=scope, owner=user, thread_id=f"t{number}", run_id="r")
    AuditRecord.objects.create(
        user=user,
        thread_id=f"t{number}",
        run_id="r",
        tool_call_id="c",
        tool_name="wipe",
        started_at=now,
        duration_ms=1,
        outcome="success",
    )
    create_token(user, f"token{number}")
    attachment = Attachment(scope=scope, owner=user, name=f"file{number}", media_type="text/plain", size=1, digest="d")
    attachment.file.save("x", ContentFile(b"x"))


def save_thread(thread_id, scope="alice", *texts):
    messages = [ModelRequest(parts=[UserPromptPart(text)]) for text in texts or ("<b>Hello</b>",)]
    conversation = Conversation(conversation_id=thread_id, messages=messages)
    async_to_sync(ModelConversationStore().save)(conversation, scope=scope)
    return conversation


def queries_of(browser, url):
    with CaptureQueriesContext(connection) as captured:
        response = browser.get(url)
    assert response.status_code == 200
    return len(captured)


@pytest.mark.parametrize("name", NAMES)
def test_list_costs_the_same_for_more_rows(browser, name):
    fill(0)
    browser.get(f"/admin/agui/{name}/")
    few = queries_of(browser, f"/admin/agui/{name}/")
    for number in range(1, 6):
        fill(number)
    assert queries_of(browser, f"/admin/agui/{name}/") == few


@pytest.mark.parametrize("name", NAMES)
def test_list_is_searched_by_user(browser, name):
    fill(0)
    fill(1)
    response = browser.get(f"/admin/agui/{name}/?q=user1")
    assert response.context["cl"].result_count == 1


@pytest.mark.parametrize("name", NAMES)
def test_row_opens(browser, name):
    fill(0)
    row = admin.site.get_model_admin(
        {m._meta.model_name: m for m in (Thread, Run, AuditRecord, ApiToken, Attachment)}[name]
    ).model.objects.get()
    response = browser.get(f"/admin/agui/{name}/{row.pk}/change/")
    assert response.status_code == 200
    assert b'<input type="text"' not in response.content


@pytest.mark.parametrize("name", ["thread", "run", "auditrecord", "attachment"])
def test_records_are_not_written_by_hand(browser, name):
    assert browser.get(f"/admin/agui/{name}/add/").status_code == 403


def test_transcript_is_readable_and_escaped(browser):
    messages = [
        ModelRequest(
            parts=[UserPromptPart(["<script>alert(1)</script>", BinaryContent(b"x", media_type="image/png")])]
        ),
        ModelResponse(parts=[TextPart("Fine\n<img src=x>"), ToolCallPart("wipe", {"all": True}, tool_call_id="1")]),
        ModelRequest(parts=[ToolReturnPart("wipe", {"gone": "<3>"}, tool_call_id="1")]),
    ]
    async_to_sync(ModelConversationStore().save)(Conversation(conversation_id="t", messages=messages), scope="alice")
    html = browser.get(f"/admin/agui/thread/{Thread.objects.get().pk}/change/").content.decode()
    assert "<script>alert" not in html
    assert "<img src=x>" not in html
    for text in ("&lt;script&gt;alert(1)", "[image/png]", "Fine<br>", "wipe {&quot;all&quot;:true}", "&lt;3&gt;"):
        assert text in html, text


def test_transcript_costs_one_query(browser):
    save_thread("short")
    save_thread("long", "alice", *[str(number) for number in range(300)])
    short, long = (Thread.objects.get(thread_id=name).pk for name in ("short", "long"))
    browser.get(f"/admin/agui/thread/{short}/change/")
    assert queries_of(browser, f"/admin/agui/thread/{short}/change/") == queries_of(
        browser, f"/admin/agui/thread/{long}/change/"
    )


@pytest.mark.parametrize("bulk", [False, True])
def test_deleting_a_thread_leaves_its_fork_whole(browser, bulk):
    conversation = save_thread("t")
    async_to_sync(ModelConversationStore().fork)("t", new_conversation_id="fork")
    pk = Thread.objects.get(thread_id="t").pk
    if bulk:
        data = {"action": "delete_selected", "_selected_action": [pk], "post": "yes"}
        browser.post("/admin/agui/thread/", data)
    else:
        assert b"fork" not in browser.get(f"/admin/agui/thread/{pk}/delete/").content
        browser.post(f"/admin/agui/thread/{pk}/delete/", {"post": "yes"})
    assert [thread.thread_id for thread in Thread.objects.all()] == ["fork"]
    assert async_to_sync(ModelConversationStore().load)("fork").messages == conversation.messages


def test_deleting_an_attachment_deletes_its_file(browser, tmp_path):
    fill(0)
    browser.post(f"/admin/agui/attachment/{Attachment.objects.get().pk}/delete/", {"post": "yes"})
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_deleting_a_user_deletes_what_is_his(browser):
    fill(0)
    get_user_model().objects.get(username="user0").delete()
    for model in (Thread, Message, Run, AuditRecord, ApiToken, Attachment):
        assert not model.objects.exists(), model


def test_new_token_is_shown_once_and_works(browser):
    user = get_user_model().objects.create(username="ann")
    page = browser.post("/admin/agui/apitoken/add/", {"user": user.pk, "name": "ci", "days": "5"}, follow=True)
    token = ApiToken.objects.get()
    [text] = [
        word
        for message in page.context["messages"]
        for word in str(message).split()
        if word.startswith("agt_") and len(word) > 20
    ]
    assert hash_token(text) == token.digest
    assert (token.user, token.name, (token.expires_at - timezone.now()).days) == (user, "ci", 4)
    assert text not in browser.get("/admin/agui/apitoken/").content.decode()
    assert text not in browser.get(f"/admin/agui/apitoken/{token.pk}/history/").content.decode()


def test_new_token_needs_a_life_that_makes_sense(browser):
    user = get_user_model().objects.create(username="ann")
    browser.post("/admin/agui/apitoken/add/", {"user": user.pk, "name": "ci", "days": "0"})
    assert not ApiToken.objects.exists()


def test_token_can_t_be_changed(browser):
    fill(0)
    before = ApiToken.objects.values().get()
    browser.post(
        f"/admin/agui/apitoken/{before['id']}/change/", {"name": "other", "days": "5", "user": 1, "digest": "x"}
    )
    assert ApiToken.objects.values().get() == before


def test_tokens_are_revoked(browser):
    fill(0)
    fill(1)
    pk = ApiToken.objects.get(name="token0").pk
    browser.post("/admin/agui/apitoken/", {"action": "revoke", "_selected_action": [pk]})
    assert ApiToken.objects.get(name="token0").revoked_at is not None
    assert ApiToken.objects.get(name="token1").revoked_at is None
