"""Lines of the log: how they are written, and which run they belong to."""

import asyncio
import io
import json
import logging
import logging.config
from asyncio import Event
from decimal import Decimal

import pytest
from django.conf import settings as project
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.usage import RequestUsage

from agui.log_fields import RunFields, current, log_fields
from agui.models import Run
from agui.stores.model import ModelConversationStore
from agui.testing import Response, call, fail, say, wait
from tests.conftest import Client, script


@pytest.fixture
def written():
    """What a logger of the project writes with a format."""
    root = logging.getLogger()
    before = root.handlers[:], root.level

    def write(log_format, say):
        stream = io.StringIO()
        console = {**project.LOGGING["handlers"]["console"], "formatter": log_format, "stream": stream}
        config = {**project.LOGGING, "handlers": {"console": console}}
        logging.config.dictConfig(config)
        say(logging.getLogger("assistant.sample"))
        return stream.getvalue()

    yield write
    root.handlers[:], root.level = before


@pytest.mark.parametrize(
    ("message", "value", "line"),
    [
        ("Sold %s", "out", "INFO assistant.sample: Sold out"),
        # Users can write no line of their own, and colours of a terminal are no text.
        ("Said %s", "x\n2026 ERROR: down\r\x1b[2J\u2028y\tz", r"Said x\n2026 ERROR: down\r\x1b[2J\u2028y" + "\tz"),
        ("\x1b[32;1mHTTP GET %s\x1b[0m 200", "/", "assistant.sample: HTTP GET / 200"),
    ],
)
def test_text_is_a_line_that_ends_with_the_run(written, message, value, line):
    def say(logger):
        with log_fields(run_id="r1", thread_id="t\n1"):
            logger.info(message, value)
        logger.info(message, value)

    first, second = written("text", say).splitlines()
    assert first.endswith(line + r' [run_id="r1" thread_id="t\n1"]')
    assert second.endswith(line)


def test_exception_writes_no_line_that_looks_like_one_of_the_log(written):
    forged = "x\n2026-01-01 00:00:00,000 ERROR root: down\rOops\u2028Oops\x1b[2J\x85Oops"

    def say(logger):
        try:
            raise ValueError(forged)
        except ValueError:
            logger.exception("It failed", stack_info=True)

    first, *others = written("text", say).splitlines()
    assert first.endswith("ERROR assistant.sample: It failed")
    assert "    Traceback (most recent call last):" in others
    assert r"    2026-01-01 00:00:00,000 ERROR root: down\rOops\u2028Oops\x1b[2J\x85Oops" in others
    assert [line for line in others if not line.startswith("    ")] == []


def test_json_is_one_object_a_line(written):
    def say(logger):
        with log_fields(run_id="r1", thread_id="t1", user_id="7", trace_id="0af7"):
            logger.warning("Two\nlines of %r", object)
        try:
            raise KeyError("shelf")
        except KeyError:
            logger.exception("It failed")

    told, failed = map(json.loads, written("json", say).splitlines())
    assert told.pop("time").endswith("+00:00")
    about = {"level": "WARNING", "logger": "assistant.sample", "message": "Two\nlines of <class 'object'>"}
    assert told == {**about, "run_id": "r1", "thread_id": "t1", "user_id": "7", "trace_id": "0af7"}
    assert failed["exception"].endswith("KeyError: 'shelf'")


# --- Whose lines they are


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
        "CONVERSATION_STORE": "tests.test_logs.TalkingStore",
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
