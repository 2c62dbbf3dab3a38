"""Several processes send what is due: nothing is lost, and nothing is sent by two at once."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from agui.blocking.executor import in_database
from agui.contrib.notifications import outbox
from agui.contrib.notifications.deliver import Deliveries, deliver_all, deliveries
from agui.contrib.notifications.models import Notification
from agui.models import Run
from tests.clock import Clock
from tests.conftest import Client
from tests.receiving import OK, answer, by_hand, due, hook, run_unread, secret, silently
from tests.receiving import Receiver as Hook
from tests.test_recovery import GONE

__all__ = ["by_hand", "hook", "secret"]

pytestmark = pytest.mark.database

SEND = """
import json, os, django
from django.conf import settings
settings.AGUI, settings.DATABASES["default"]["NAME"] = json.loads(os.environ["OF_THE_TEST"])
settings.DEBUG = True
django.setup()
from django.core.management import call_command
call_command("send_notifications")
"""


def sender() -> subprocess.Popen[bytes]:
    """Start a process that sends what is due in the test's database."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "OF_THE_TEST": json.dumps([django_settings.AGUI, str(connection.settings_dict["NAME"])]),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen([sys.executable, "-c", SEND], env=environment, stdout=subprocess.DEVNULL)


async def ended(process: subprocess.Popen[bytes]) -> int:
    return await asyncio.to_thread(process.wait, 60)


async def test_a_process_that_is_killed_leaves_the_rest_to_another(
    client: Client, hook: Hook, secret: str, by_hand: None, clock: Clock
):
    hook.answers = [silently, OK]
    await run_unread(client)
    process = sender()
    await hook.arrived()
    process.kill()
    assert await ended(process) < 0
    # The process may still be at it, as far as anybody knows.
    assert await deliver_all() == 0
    clock.advance(outbox.LEASE_SECONDS + 60)  # The clock of the other process went on.
    assert await deliver_all() == 1
    first, second = hook.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    row = await Notification.objects.aget()
    assert (row.state, row.attempts) == ("sent", 2)


async def test_processes_at_once_send_each_message_once(user: Any, hook: Hook, secret: str, by_hand: None):
    rows = [await due(user, thread_id=f"t{number}") for number in range(40)]
    senders = [sender() for _ in range(2)]
    numbers = await asyncio.gather(deliver_all(), deliver_all(), *map(ended, senders))
    assert numbers[2:] == [0, 0]
    assert sorted(request.headers["webhook-id"] for request in hook.requests) == sorted(str(row.pk) for row in rows)
    assert await Notification.objects.filter(state="sent", attempts=1).acount() == 40


async def test_a_result_that_comes_too_late_changes_nothing(client: Client, hook: Hook, secret, by_hand: None, clock):
    await run_unread(client)
    [late] = await in_database(outbox.claim, 9)
    clock.advance(outbox.LEASE_SECONDS)
    await deliver_all()
    await in_database(outbox.settle, late, "timeout")
    row = await Notification.objects.aget()
    assert (row.state, row.error) == ("sent", "")


async def test_a_server_tries_again_by_itself(client: Client, hook: Hook, secret: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(outbox, "PAUSES", (0.05, 0.05, 0.05))
    hook.answers = [answer(500), answer(500), OK]
    await run_unread(client)
    assert len({request.headers["webhook-id"] for request in await hook.arrived(3)}) == 1


async def test_a_server_that_has_started_sends_what_another_has_left(user: Any, hook: Hook, secret: str):
    await due(user)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        """Serve nothing."""

    await apps.get_app_config("agui_notifications").wrap_application(application)({"type": "http"}, None, None)
    await hook.arrived()


async def test_the_user_of_a_dead_process_is_told(user: Any, hook: Hook, secret: str, settings: Any):
    await Run.objects.acreate(
        owner=user, scope=f"user:{user.pk}", thread_id="t1", run_id="r1", process=GONE, started_at=timezone.now()
    )
    deliveries.start()
    [request] = await hook.arrived()
    assert request.json["type"] == "run.failed"


async def test_tasks_of_an_event_loop_that_has_ended_hold_up_no_other():
    other, own = asyncio.new_event_loop(), Deliveries()
    own._forgetting.add(other.create_future())
    other.close()
    await own.stop()
