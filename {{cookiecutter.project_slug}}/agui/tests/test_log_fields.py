"""Which run a line of the log belongs to."""

import asyncio
import logging

import pytest

from agui.log_fields import RunFields, current, log_fields
from agui.models import Run
from agui.stores.model import ModelConversationStore
from agui.testing import call, fail, say
from agui.tests.conftest import Client, script


class TalkingStore(ModelConversationStore):
    """Says in the log what it does."""

    async def load_turn(self, *args, **kwargs):
        logging.getLogger("talking").info("I look it up")
        return await super().load_turn(*args, **kwargs)


@pytest.fixture
def log(caplog):
    """The log, as a handler with the filter sees it."""
    caplog.set_level(logging.INFO)
    tagger = RunFields()
    caplog.handler.addFilter(tagger)
    yield caplog
    caplog.handler.removeFilter(tagger)


def ids(record):
    return {name: getattr(record, name) for name in ("run_id", "thread_id", "user_id") if hasattr(record, name)}


async def test_what_a_run_logs_names_the_run_the_thread_and_the_user(client: Client, log):
    with script(fail(RuntimeError("The cable is cut."))):
        await client.run("Hi", thread="t7")
    run = await Run.objects.aget()
    record = next(record for record in log.records if "failed: internal_error" in record.getMessage())
    assert ids(record) == {"run_id": str(run.pk), "thread_id": "t7", "user_id": str(client.user.pk)}


async def test_what_is_logged_on_another_thread_names_them_too(client: Client, log, settings):
    settings.AGUI = {"AUDIT_LOGGER": "agui.audit.LoggingAuditLogger"}
    with script(call("echo", text="Hello"), say("Done.")):
        await client.run("Hi", thread="t7")
    record = next(record for record in log.records if record.name == "agui.audit")
    assert record.threadName != "MainThread"
    assert ids(record)["thread_id"] == "t7"


async def test_what_is_logged_before_the_first_event_names_them_too(client: Client, log, settings):
    settings.AGUI = {"CONVERSATION_STORE": "agui.tests.test_log_fields.TalkingStore"}
    with script(say("Hello")):
        await client.run("Hi", thread="t7")
    record = next(record for record in log.records if record.name == "talking")
    run = await Run.objects.aget()
    assert ids(record) == {"run_id": str(run.pk), "thread_id": "t7", "user_id": str(client.user.pk)}


async def test_two_runs_at_once_don_t_mix(client: Client, other_client: Client, log):
    with script(fail(RuntimeError("one")), fail(RuntimeError("two"))):
        await asyncio.gather(client.run("Hi", thread="t1"), other_client.run("Hi", thread="t2"))
    failed = [record for record in log.records if "failed: internal_error" in record.getMessage()]
    assert {(record.thread_id, record.user_id) for record in failed} == {
        ("t1", str(client.user.pk)),
        ("t2", str(other_client.user.pk)),
    }


async def test_outside_of_a_run_nothing_is_added(client: Client, log):
    with script(say("Hello")):
        await client.run("Hi")
    logging.getLogger("agui").info("Nobody's")
    assert ids(log.records[-1]) == {}
    assert current() == {}


def test_a_record_keeps_what_it_has_and_nothing_empty_is_added():
    record = logging.makeLogRecord({"run_id": "its own"})
    with log_fields(run_id="ours", user_id=""):
        assert RunFields().filter(record)
    assert record.run_id == "its own"
    assert not hasattr(record, "user_id")
