"""Who is told of a run's end: its user, once, if they have chosen so, and if nobody has read it."""

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import django
import pytest
from asgiref.sync import sync_to_async
from django.core import mail
from django.core.management import call_command
from django.db.backends.signals import connection_created
from django.test import Client as Browser
from django.utils import timezone, translation
from pydantic_ai.usage import RunUsage

from agui.blocking.executor import in_database
from agui.contrib.notifications import choices, outbox
from agui.contrib.notifications import mail as mails
from agui.contrib.notifications.checks import check_deployment
from agui.contrib.notifications.deliver import deliver_all, deliveries
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.models import Run, get_conversation_model
from agui.part_values import EndedRun
from agui.runs.recovery import recover
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, fail, say
from tests.clock import Clock
from tests.conftest import Client, half_said, script
from tests.receiving import choose, ends_are_read, left_at_work, run_unread, runs_ended
from tests.test_recovery import GONE

Thread = get_conversation_model()


def turn_on(settings: Any, **section: Any) -> None:
    whole = {"MAIL": "opt_in", "SITE_URL": "https://site.example", "WAIT_SECONDS": 0, **section}
    settings.AGUI = {**settings.AGUI, "NOTIFICATIONS": whole}


@pytest.fixture(autouse=True)
def by_mail(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turn_on(settings)
    # The tests send what is due themselves, and see what that is before.
    monkeypatch.setattr(deliveries, "start", lambda: None)


@pytest.fixture
async def ada(user: Any) -> Any:
    user.email = "ada@site.example"
    await user.asave()
    await choose(user, mail=True)
    return user


async def kinds() -> list[str]:
    return [kind async for kind in Notification.objects.values_list("kind", flat=True)]


# --- Which runs


async def test_who_has_gone_is_told_by_mail_and_nobody_else_is(client: Client, other_client: Client, ada: Any):
    await run_unread(client, "What is new?")
    await run_unread(other_client, thread="of bob, who has not chosen so")
    assert await kinds() == ["run.finished"]
    out = StringIO()
    await sync_to_async(call_command)("send_notifications", stdout=out)
    assert out.getvalue() == "Tried to send 1 notifications.\n"
    [sent] = mail.outbox
    assert sent.to == ["ada@site.example"]
    assert sent.subject == "The answer is ready: What is new?"
    assert "https://site.example/?thread=t1" in sent.body
    assert "https://site.example/agent/notifications/page/" in sent.body
    assert "Fine." not in sent.body
    assert await deliver_all() == 0


async def test_who_reads_the_end_or_comes_back_in_time_is_not_told(client: Client, ada: Any, settings: Any):
    with script(say("Fine.")):
        await client.run("Go")
    await ends_are_read()
    assert await kinds() == []
    turn_on(settings, WAIT_SECONDS=60)
    await run_unread(client)
    assert await kinds() == ["run.finished"]
    assert await deliver_all() == 0
    await collect(await client.get("threads/t1/events/"))
    await ends_are_read()
    assert await kinds() == []


async def test_one_of_two_readers_is_enough_if_they_stay_to_the_end(client: Client, ada: Any):
    for thread, stays in (("t1", True), ("t2", False)):
        async with half_said(client, thread=thread) as (first, go_on):
            second = await client.get(f"threads/{thread}/events/")
            frames = aiter(second.streaming_content)
            await anext(frames)
            first.close()
            if not stays:
                await frames.aclose()
                second.close()
            go_on.set()
            async for _ in frames:
                pass
            await runs_ended()
        await ends_are_read()
    told = Notification.objects.values_list("thread_id", "kind")
    assert [row async for row in told] == [("t2", "run.finished")]


async def test_who_has_seen_the_answer_on_a_page_is_not_told(client: Client, ada: Any):
    await run_unread(client)
    await client.http.patch("/agent/threads/t1/", '{"unread": false}', content_type="application/json")
    await deliver_all()
    assert (mail.outbox, await kinds()) == ([], [])


async def test_a_run_that_asks_or_fails_is_told_and_one_that_was_stopped_is_not(client: Client, ada: Any):
    await run_unread(client, thread="asks", answer=call("wipe", what="disk"))
    await run_unread(client, thread="fails", answer=fail(RuntimeError("secret cause")))
    async with left_at_work(client, "stopped"):
        await client.http.post("/agent/threads/stopped/cancel/")
        await runs_ended()
    told = Notification.objects.values_list("thread_id", "kind").order_by("thread_id")
    assert [row async for row in told] == [("asks", "run.waiting"), ("fails", "run.failed")]
    await deliver_all()
    assert {one.subject for one in mail.outbox} == {"Your decision is needed: Go", "The answer failed: Go"}
    assert "secret cause" not in str([one.message() for one in mail.outbox])


async def test_the_run_of_a_dead_process_is_told_once_in_the_language_of_its_user(client: Client, ada: Any):
    await NotificationChoice.objects.aupdate(language="de")
    async with left_at_work(client):
        row = await Run.objects.aget()
        await Run.objects.aupdate(process=GONE)
        with translation.override("fr"):  # Another user, who meets the dead run, speaks it
            for _ in range(2):
                await recover(ModelConversationStore(), row.scope, "t1")
    ended = await Notification.objects.aget()
    assert (ended.kind, ended.language) == ("run.failed", "")
    await deliver_all()
    assert mail.outbox[0].subject == "Die Antwort ist fehlgeschlagen: Hi"


@pytest.mark.database
async def test_a_run_is_told_once(client: Client, ada: Any):
    await run_unread(client)
    row = await Notification.objects.aget()
    about = {"key": str(row.run), "scope": row.scope, "owner_id": ada.pk, "thread_id": "t1", "status": "finished"}
    await in_database(outbox.record, EndedRun(**about, model="test", usage=RunUsage(), messages=[]))
    assert await kinds() == ["run.finished"]


@pytest.mark.parametrize("by_its_user", [True, False])
async def test_nobody_is_told_of_a_thread_that_is_gone(client: Client, ada: Any, by_its_user: bool):
    async with left_at_work(client):
        if by_its_user:
            await client.http.delete("/agent/threads/t1/")
        else:  # The run goes on, and fails.
            await Run.objects.all().adelete()
            await Thread.objects.all().adelete()
    assert not await Run.objects.aexists()
    assert await kinds() == []


async def test_visitors_are_not_told_and_choose_nothing(transactional_db: None, settings: Any):
    turn_on(settings, MAIL="opt_out")
    visitor = Client(None, "/open/")
    await run_unread(visitor)
    assert await Run.objects.filter(status="finished").aexists()
    assert await kinds() == []
    assert (await visitor.get("notifications/")).status_code == 401


# --- Which users


async def test_all_are_told_but_those_who_turn_it_off(client: Client, other_client: Client, settings: Any, other: Any):
    turn_on(settings, MAIL="opt_out")
    await choose(other, mail=False)
    await run_unread(client, thread="a")
    await run_unread(other_client, thread="b")
    assert [row.thread_id async for row in Notification.objects.all()] == ["a"]


@pytest.mark.parametrize("what", ["choice", "account", "setting", "thread", "user"])
async def test_what_has_changed_meanwhile_counts(client: Client, ada: Any, settings: Any, what: str):
    await run_unread(client)
    if what == "choice":
        await choose(ada, mail=False)
    elif what == "account":
        ada.is_active = False
        await ada.asave()
    elif what == "setting":
        turn_on(settings, MAIL="off", WEBHOOK_HOSTS=["hooks.example"])
    elif what == "thread":
        await client.http.delete("/agent/threads/t1/")
    else:
        await ada.adelete()
    await deliver_all()
    assert (mail.outbox, await kinds()) == ([], [])
    assert await NotificationChoice.objects.acount() == (what != "user")


async def test_a_user_without_an_address_is_given_up_at_once(client: Client, user: Any):
    await choose(user, mail=True)
    await run_unread(client)
    await deliver_all()
    row = await Notification.objects.aget()
    assert (row.state, row.error, row.attempts) == ("given_up", "no_address", 1)


# --- Mails


@pytest.mark.parametrize(
    ("language", "subject"), [("de", "Die Antwort ist da: Los"), ("fr", "La réponse est prête\u00a0: Los")]
)
async def test_a_mail_is_in_the_language_of_the_run(client: Client, ada: Any, language: str, subject: str):
    await run_unread(client, "Los", accept_language=language)
    await sync_to_async(translation.activate)("es")
    await deliver_all()
    assert mail.outbox[0].subject == subject


async def test_a_title_can_write_no_header_and_is_left_out_if_the_project_says_so(client: Client, ada, settings):
    await run_unread(client, "private words")
    title = "Hi\r\nBcc: eve@site.example\u202e\x1b\u2028" + "x" * 200
    await Thread.objects.aupdate(title=title)
    await deliver_all()
    [sent] = mail.outbox
    assert sent.subject.startswith("The answer is ready: Hi Bcc: eve@site.example xxx")
    assert len(sent.subject) <= len("The answer is ready: ") + 80
    assert "Bcc" not in sent.message()
    turn_on(settings, TITLES=False)
    await run_unread(client, "private words", thread="t2")
    await deliver_all()
    assert mail.outbox[1].subject == "The answer is ready"
    assert "private words" not in str(mail.outbox[1].message())


async def test_a_mail_that_is_sent_twice_is_one_mail(client: Client, ada: Any, clock: Clock):
    await run_unread(client)
    for _ in range(2):  # The first process dies before it records that it has sent the mail.
        [row] = await in_database(outbox.claim, 9)
        await in_database(lambda row: mails.send(row, choices.choice_of(row.owner_id)), row)
        clock.advance(outbox.LEASE_SECONDS)
    first, second = mail.outbox
    assert first.message()["Message-ID"] == second.message()["Message-ID"]
    assert first.message()["Auto-Submitted"] == "auto-generated"


BACKENDS = "django.core.mail.backends"


def send_by(settings: Any, backend: str, **options: Any) -> None:
    if django.VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": f"{BACKENDS}.{backend}.EmailBackend", "OPTIONS": options}}
        return
    settings.EMAIL_BACKEND = f"{BACKENDS}.{backend}.EmailBackend"
    for name, value in options.items():
        setattr(settings, f"EMAIL_{name.upper()}", value)


async def test_a_mail_server_that_fails_is_tried_again(client: Client, ada: Any, settings: Any, clock: Clock):
    send_by(settings, "smtp", host="127.0.0.1", port=9)  # Nobody listens there.
    await run_unread(client)
    await deliver_all()
    row = await Notification.objects.aget()
    assert (row.state, row.error, row.attempts) == ("pending", "mail_failed", 1)
    send_by(settings, "locmem")
    assert await deliver_all() == 0
    clock.advance(outbox.PAUSES[0])
    assert await deliver_all() == 1
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    ("backend", "options", "found"),
    [
        ("smtp", {"timeout": 5}, []),
        ("smtp", {}, ["agui_notifications.W004"]),
        ("console", {}, ["agui_notifications.W003"]),
    ],
)
def test_a_deployment_that_sends_no_mail_or_waits_for_ever_is_told(settings: Any, backend, options, found):
    send_by(settings, backend, **options)
    assert [one.id for one in check_deployment()] == found
    settings.MAILERS = {"default": {"BACKEND": f"{BACKENDS}.{backend}.EmailBackend", "OPTIONS": options}}
    assert [one.id for one in check_deployment()] == found


# --- The cost of what is not used


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """The queries about notifications, on connections that are opened from now on: those of the engine's threads."""
    asked: list[str] = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "agui_notifications" in sql:
            asked.append(sql)
        return execute(sql, params, many, context)

    def begin(connection: Any, **kwargs: Any) -> None:
        connection.execute_wrappers.append(watch)

    connection_created.connect(begin)
    yield asked
    connection_created.disconnect(begin)


@pytest.mark.parametrize(("section", "number"), [({"MAIL": "off"}, 0), ({"MAIL": "opt_in"}, 1)])
async def test_a_run_asks_the_database_nothing_unless_the_project_tells_users(
    client: Client, settings: Any, asked: list[str], section: Any, number: int
):
    turn_on(settings, **section)
    with script(say("Fine.")):
        await client.run("Go")
        await ends_are_read()
    assert len(asked) == number, asked


# --- The page on which a user chooses (transcripts/notifications.yaml has the rest)


@pytest.mark.parametrize(("language", "words"), [("de", "Benachrichtigungen"), ("ar", 'dir="rtl"'), ("ja", "通知")])
def test_the_page_speaks_the_users_language_and_leads_to_the_sign_in(user, settings, language: str, words: str):
    browser, page = Browser(), "/agent/notifications/page/"
    settings.LOGIN_URL = "/sign-in/"
    response = browser.get(page, headers={"sec-fetch-mode": "navigate"})
    assert response.status_code == 302
    assert response["Location"].endswith(f"?next={page}")
    assert browser.get(page).status_code == 401
    browser.force_login(user)
    assert words in browser.get(page, headers={"accept-language": language}).content.decode()


# --- What is kept


async def test_an_administrator_sees_what_was_sent_and_no_secret_and_old_rows_go(
    client: Client, ada: Any, chief: Browser, settings: Any
):
    turn_on(settings, WEBHOOK_HOSTS=["hooks.example"])
    await choose(ada, address="https://hooks.example/agent?key=s3cret")
    await run_unread(client)
    row = await Notification.objects.filter(channel="mail").aget()
    for part in ("", f"{row.pk}/change/"):
        response = await sync_to_async(chief.get)(f"/admin/agui_notifications/notification/{part}")
        page = response.content.decode()
        assert "ada" in page
        assert "s3cret" not in page
        assert "hooks.example" not in page
    response = await sync_to_async(chief.get)("/admin/agui_notifications/notificationchoice/")
    assert response.status_code == 404
    out = StringIO()
    await Notification.objects.aupdate(created_at=timezone.now() - timedelta(days=31))
    await sync_to_async(call_command)("prune_agent_data", stdout=out)
    assert "notifications: 2" in out.getvalue()
    assert await kinds() == []
