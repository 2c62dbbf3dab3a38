"""Which run a line of the log belongs to."""

import asyncio
import logging
from asyncio import Event
from decimal import Decimal

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.usage import RequestUsage

from agui.log_fields import RunFields, current, log_fields
from agui.models import Run
from agui.stores.model import ModelConversationStore
from agui.testing import Response, call, fail, say, wait
from tests.conftest import Client, script


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


async def test_what_a_run_logs_names_the_run_the_thread_and_the_user(client: Client, log, settings):
    settings.AGUI = {
        "AUDIT_LOGGER": "agui.tools.audit.LoggingAuditLogger",
        "CONVERSATION_STORE": "tests.test_log_fields.TalkingStore",
    }
    with script(call("echo", text="Hello"), fail(RuntimeError("The cable is cut."))):
        await client.run("Hi", thread="t7")
    run = await Run.objects.aget()
    before_the_first_event = next(record for record in log.records if record.name == "talking")
    on_another_thread = next(record for record in log.records if record.name == "agui.audit")
    failed = next(record for record in log.records if "failed: internal_error" in record.getMessage())
    assert on_another_thread.threadName != "MainThread"
    for record in (before_the_first_event, on_another_thread, failed):
        assert ids(record) == {"run_id": str(run.pk), "thread_id": "t7", "user_id": str(client.user.pk)}
    [error] = [record for record in log.records if record.levelname == "ERROR"]
    assert error.exc_info[1].args == ("The cable is cut.",)  # A mistake of ours has its traceback


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


# --- Each run leaves one line when it ends


def end_of(log):
    [record] = [record for record in log.records if record.getMessage().startswith("Run ended")]
    return record


async def test_run_that_ends_well_leaves_a_line(client: Client, log, clock):
    usage, reached, go_on = RequestUsage(input_tokens=7, output_tokens=3, cost=Decimal("0.25")), Event(), Event()
    with script(Response([wait(go_on, reached), say("Hello")], usage=usage)):
        running = asyncio.create_task(client.run("Hi", thread="t7"))
        await reached.wait()
        clock.advance(2)
        go_on.set()
        await running
    record = end_of(log)
    assert (record.levelname, record.outcome, record.agent) == ("INFO", "finished", "assistant")
    assert (record.input_tokens, record.output_tokens, record.cost) == (7, 3, 0.25)
    assert record.duration_ms == 2000
    assert not hasattr(record, "code")
    run = await Run.objects.aget()
    assert record.model == run.model
    assert ids(record) == {"run_id": str(run.pk), "thread_id": "t7", "user_id": str(client.user.pk)}


@pytest.mark.parametrize(
    ("answer", "level", "outcome", "code"),
    [
        (call("wipe", what="disk"), "INFO", "paused", None),
        (fail(RuntimeError("The cable is cut.")), "WARNING", "failed", "internal_error"),
        (wait(asyncio.Event()), "WARNING", "timed_out", "timeout"),
    ],
    ids=["waits", "fails", "takes too long"],
)
async def test_run_leaves_a_line_with_its_outcome(client: Client, log, settings, answer, level, outcome, code):
    settings.AGUI = {"RUN_TIMEOUT_SECONDS": 0.2 if outcome == "timed_out" else 60}
    with script(answer):
        await client.run("Hi")
    record = end_of(log)
    assert (record.levelname, record.outcome, getattr(record, "code", None)) == (level, outcome, code)


@pytest.mark.parametrize("debug", [False, True])
async def test_error_of_a_provider_is_one_line_with_its_cause(client: Client, log, settings, debug):
    settings.DEBUG = debug
    with script(fail(ModelHTTPError(429, "gpt", {"message": "Slow\ndown"}))):
        await client.run("Hi")
    [record] = [record for record in log.records if record.levelname == "ERROR"]
    assert "model_unavailable: ModelHTTPError: status_code: 429" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert bool(record.exc_info) is debug
