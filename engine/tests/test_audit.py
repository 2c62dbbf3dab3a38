"""The audit trail: complete, redacted, off the event loop, and never in the way."""

import asyncio
import json
import logging
import threading
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from pydantic import TypeAdapter
from pydantic_ai import DeferredToolResults, FunctionToolset, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from agui import AgentConfig, AgentDeps, LoggingAuditLogger, NullAuditLogger, ToolRegistry, build_agent, tool
from agui.conf import EngineSettings
from agui.models import AuditRecord
from agui.testing import ScriptedModel, call, say
from agui.tools import audit
from agui.tools.audit import AuditEvent, ModelAuditLogger, record_event, resolve_audit_logger
from agui.tools.call import FAILED
from agui.tools.redaction import redact, redact_text
from agui.tools.secret_arguments import REDACTED
from agui.tools.timer import ToolCallTimer
from tests.conftest import Client, body_of

pytestmark = pytest.mark.database

USER = SimpleNamespace(pk=7)
EVENT = AuditEvent(
    user_id=None,
    thread_id="t1",
    run_id="r1",
    tool_call_id="c1",
    tool_name="pay",
    arguments={"amount": 5},
    started_at=datetime(2026, 2, 3, tzinfo=UTC),
    duration_ms=1.5,
    outcome="success",
    result_size=4,
)


class Memory:
    """A sink that remembers, and in which thread."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []
        self.threads: list[int] = []

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)
        self.threads.append(threading.get_ident())


class Broken:
    def record(self, event: AuditEvent) -> None:
        raise RuntimeError("The disk is full.")


class Asynchronous:
    async def record(self, event: AuditEvent) -> None:
        pass


def test_an_event_has_the_words_of_older_sinks():
    event = replace(EVENT, outcome="denied", arguments={"name": "Zoë"})
    assert (event.success, event.arguments_repr) == (False, '{"name": "Zoë"}')


# --- Sinks


async def test_the_null_logger_keeps_nothing(caplog):
    caplog.set_level(logging.INFO)
    await record_event(NullAuditLogger(), EVENT)
    assert caplog.records == []


async def test_the_logging_logger_writes_one_line_of_json_and_warns_of_failures(caplog):
    caplog.set_level(logging.INFO)
    for outcome in ("success", "failed", "denied"):
        event = replace(EVENT, arguments={"text": "two\nlines"}, outcome=outcome)
        await record_event(LoggingAuditLogger(), event)
    levels = [(record.name, record.levelno) for record in caplog.records]
    assert levels == [("agui.audit", level) for level in (logging.INFO, logging.WARNING, logging.WARNING)]
    line = caplog.records[0].getMessage()
    assert "\n" not in line
    written = json.loads(line)
    assert written["arguments"] == {"text": "two\nlines"}
    assert written["started_at"] == "2026-02-03 00:00:00+00:00"
    assert (written["tool_name"], written["outcome"], written["duration_ms"]) == ("pay", "success", 1.5)


@pytest.mark.django_db(transaction=True)
async def test_the_model_logger_keeps_a_row():
    user = await get_user_model().objects.acreate(username="ada")
    failed = {"outcome": "failed", "error": "Sold out.", "result_size": None}
    await record_event(ModelAuditLogger(), replace(EVENT, user_id=user.pk))
    await record_event(ModelAuditLogger(), replace(EVENT, **failed))
    common = {**asdict(EVENT), "error": ""}
    expected = [{**common, "user_id": user.pk}, {**common, **failed}]
    assert [row async for row in AuditRecord.objects.order_by("pk").values(*common)] == expected


async def test_a_failing_sink_is_logged_and_breaks_nothing(caplog):
    await record_event(Broken(), EVENT)
    record = caplog.records[0]
    assert record.name == "agui.audit"
    assert record.getMessage() == "Recording call c1 of tool 'pay' in run r1 failed"
    assert "The disk is full." in record.exc_text


class Slow(Memory):
    """A sink that is at work until it is told to end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.release, self.ended = threading.Semaphore(0), threading.Event(), threading.Event()

    def record(self, event: AuditEvent) -> None:
        self.begun.release()
        self.release.wait(60)
        super().record(event)
        self.ended.set()

    async def record_all(self) -> list[str]:
        self.release.set()
        await asyncio.wait_for(asyncio.gather(*audit.recording), 60)
        return sorted(event.tool_call_id for event in self.events)


@pytest.mark.parametrize("is_stopped", [False, True], ids=["its time is over", "its run is stopped"])
async def test_a_record_that_is_not_waited_for_is_not_lost(is_stopped, settings, clock, caplog):
    """Most of them wait for a thread, which all belong to the first."""
    settings.AGUI = {**settings.AGUI, "DATABASE_THREADS": 2}
    sink = Slow()
    tasks = [asyncio.create_task(record_event(sink, replace(EVENT, tool_call_id=f"c{n}"))) for n in range(5)]
    assert await asyncio.to_thread(sink.begun.acquire, timeout=60)
    if is_stopped:
        for task in tasks:
            task.cancel()
    else:
        clock.advance(audit.RECORD_SECONDS)
    await asyncio.wait(tasks, timeout=60)
    assert (sink.events, len(audit.recording)) == ([], 5)
    assert await sink.record_all() == ["c0", "c1", "c2", "c3", "c4"]
    slow = f"takes more than {audit.RECORD_SECONDS} s: the run goes on"
    words = [] if is_stopped else [slow] * 5
    assert [record.getMessage().partition("run r1 ")[2] for record in caplog.records] == words


async def test_a_record_that_ends_while_the_event_loop_is_blocked_is_not_called_lost(clock, caplog):
    sink = Slow()
    task = asyncio.create_task(record_event(sink, EVENT))
    assert await asyncio.to_thread(sink.begun.acquire, timeout=60)
    sink.release.set()
    assert sink.ended.wait(60)
    clock.advance(audit.RECORD_SECONDS)
    await asyncio.wait_for(task, 60)
    assert await sink.record_all() == ["c1"]
    assert "failed" not in caplog.text


# --- The setting


def test_the_setting_names_a_class_of_your_own(settings):
    assert isinstance(resolve_audit_logger(), ModelAuditLogger)
    settings.AGUI = {"AUDIT_LOGGER": "tests.test_audit.Memory"}
    assert isinstance(resolve_audit_logger(), Memory)


@pytest.mark.parametrize("name", ["tests.test_audit.Asynchronous", "builtins.object"])
def test_what_can_not_record_is_refused_with_the_cure(settings, name):
    settings.AGUI = {"AUDIT_LOGGER": name}
    with pytest.raises(ImproperlyConfigured, match=rf"{name}' has no usable record\(event\): write it as a plain"):
        resolve_audit_logger()


# --- Redaction


SECRET_NAMES = [
    "apikey", "apiKey", "API_KEY", "x-api-key", "OPENAI_API_KEY", "passwd", "db_passwd", "userPassword", "PWD",
    "access_token", "accessToken", "refresh-token", "secret_key", "client_secret", "clientSecret", "token",
    "privateKey", "aws_access_key_id", "Authorization", "proxy-authorization", "Set-Cookie", "credentials",
]  # fmt: skip
PLAIN_NAMES = ["title", "key", "pass", "keyboard", "author", "user", "email", "note", "monkey"]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_of_secrets_are_known_however_they_are_written(name):
    names = EngineSettings().audit_redact
    given = {"nested": [{name: {"deep": "x"}, "accept": "*/*"}, ["plain", {name: "x"}]], name: "x"}
    nested = [{name: REDACTED, "accept": "*/*"}, ["plain", {name: REDACTED}]]
    assert redact(given, names) == {"nested": nested, name: REDACTED}
    assert given[name] == "x"
    for words in ("{}=V", "{}: V", '{{"{}": "V"}}', "GET https://bank/?a=b&{}=V&c=d", "a={}=V"):
        said = words.format(name)
        told = redact_text(said.replace("V", "hunter2"), ToolCallPart("pay", {}), names)
        assert told == said.replace("V", REDACTED)


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_other_names_stay_readable(name):
    names = EngineSettings().audit_redact
    assert redact({name: "x"}, names) == redact({name: "x"}, ["", "-"]) == {name: "x"}
    words = f"GET https://bank/?{name}=x and {name}: x"
    assert redact_text(words, ToolCallPart("pay", {}), names) == words


# --- From a run's tool calls to events


def timed(arguments: Any = None, user: Any = None, meanwhile: Any = None, **result: Any) -> AuditEvent:
    timer = ToolCallTimer(AgentDeps(user=user, thread_id="t1", run_id="r1"))
    timer.start(ToolCallPart("pay", arguments or {}, "c1"))
    if meanwhile:
        meanwhile()
    event = timer.stop(ToolReturnPart("pay", **{"content": "paid", **result}, tool_call_id="c1"))
    assert event is not None
    assert timer.stop(ToolReturnPart("pay", "again", "c1")) is None
    return event


def test_a_successful_call(clock):
    before = clock.now()
    event = timed('{"amount": 5, "token": "x"}', USER, lambda: clock.advance(1.5), content={"paid": True})
    assert (event.user_id, event.thread_id, event.run_id, event.tool_call_id) == (7, "t1", "r1", "c1")
    assert (event.tool_name, event.arguments) == ("pay", {"amount": 5, "token": REDACTED})
    assert (event.started_at, event.duration_ms) == (before, 1500)
    assert (event.outcome, event.error, event.result_size) == ("success", None, len('{"paid":true}'))


@pytest.mark.parametrize(
    ("outcome", "recorded"), [("denied", "denied"), ("retried", "failed"), ("interrupted", "failed")]
)
def test_any_other_end_keeps_what_the_model_was_told(outcome, recorded):
    event = timed(content="Sold out.", outcome=outcome)
    assert (event.outcome, event.error, event.result_size) == (recorded, "Sold out.", None)


# --- Why a call failed


class Sealed(Exception):
    pass


def failing_tools() -> ToolRegistry:
    registry = ToolRegistry()

    @tool(registry)
    def pay(amount: int, api_key: str) -> str:
        """Pay."""
        raise Sealed(f"The bank refused {amount} with {api_key}: GET https://bank/?api_key={api_key}&amount={amount}")

    @tool(registry)
    async def say_no() -> str:
        """Say no."""
        raise ToolFailed("Sold out.")

    @tool(registry)
    def check(amount: int) -> str:
        """Check."""
        TypeAdapter(dict[str, int]).validate_python({"pin": "letters"})
        return ""

    return registry


CAUSE = f"Sealed: The bank refused 5 with {REDACTED}: GET https://bank/?api_key={REDACTED}&amount=5"
FAILURES = [call("pay", amount=5, api_key="s3cr3t"), call("say_no"), call("check", amount=1)]
CAUSES = {
    "pay": CAUSE,
    "say_no": "Sold out.",
    "check": "ValidationError: pin: Input should be a valid integer, unable to parse string as an integer",
}


async def test_the_trail_has_the_cause_that_nobody_else_is_told(client: Client, mount):
    sink = Memory()
    mount(failing_tools(), FAILURES, say("Sorry."), audit_logger=sink)
    events = await client.run("Pay")
    assert {event.tool_name: event.error for event in sink.events} == CAUSES
    assert {event.outcome for event in sink.events} == {"failed"}
    exported = await body_of(await client.get("export/"))
    for told in (json.dumps(events), json.dumps(await client.thread()), exported.decode()):
        assert "Sealed" not in told
        assert FAILED in told


def test_secrets_are_taken_out_of_a_cause():
    arguments = {"token": {"deep": ["t0ken", 4711]}, "user": "ada", "password": ""}
    words = "t0ken and 4711 of ada; 'password': 'hunter2', Authorization: Bearer abc.def; postgres://ada:pw1@host/db"
    told = redact_text(words, ToolCallPart("pay", arguments), ["password", "token", "authorization"])
    assert told == (
        f"{REDACTED} and {REDACTED} of ada; 'password': '{REDACTED}', Authorization: Bearer {REDACTED}; "
        f"postgres://ada:{REDACTED}@host/db"
    )


@pytest.mark.parametrize("setting", ["apiKey", "API-Key", "api key", "api.key", "apikey"])
def test_a_setting_may_be_written_in_any_way(setting):
    assert redact({"x_api_key": 1}, [setting]) == {"x_api_key": REDACTED}
    assert redact_text("x_api_key=1", ToolCallPart("pay", {}), [setting]) == f"x_api_key={REDACTED}"


# --- An agent's own logger, and runs without an endpoint


async def test_a_run_without_an_endpoint_is_audited():
    first, second = Memory(), Memory()
    for sink in (first, second):
        config = AgentConfig(audit_logger=sink, model=ScriptedModel([FAILURES, say("Sorry.")]))
        agent = build_agent(failing_tools(), config)
        await agent.run("Pay", deps=AgentDeps(user=USER, thread_id="t1", run_id="r1"))
    for sink in (first, second):
        assert {event.tool_name: event.error for event in sink.events} == CAUSES
        assert {(event.user_id, event.thread_id, event.run_id) for event in sink.events} == {(7, "t1", "r1")}
        assert sink.threads[0] != threading.get_ident()


@pytest.mark.parametrize("error", [None, Sealed("The disk is full.")])
async def test_a_run_without_dependencies_has_the_ids_of_pydantic_ai(error):
    sink, run_ids = Memory(), []

    def plain(ctx: RunContext) -> str:
        """Do it."""
        run_ids.append(ctx.run_id)
        if error:
            raise error
        return "done"

    model = ScriptedModel([call("plain"), say("Done.")])
    config = AgentConfig(audit_logger=sink, model=model, toolsets=[FunctionToolset([plain])])
    with pytest.raises(Sealed) if error else nullcontext():
        await build_agent(ToolRegistry(), config).run("Go", conversation_id="c9")
    (event,) = sink.events
    assert (event.user_id, event.thread_id, [event.run_id]) == (None, "c9", run_ids)
    end = ("failed", False, "Sealed: The disk is full.") if error else ("success", True, None)
    assert (event.outcome, event.success, event.error) == end


async def test_a_call_that_waits_for_approval_is_not_audited_yet():
    sink, registry = Memory(), ToolRegistry()

    @tool(registry, destructive=True)
    def forget() -> str:
        """Forget."""
        return "gone"

    agent = build_agent(registry, AgentConfig(audit_logger=sink, model=ScriptedModel([call("forget"), say("Gone.")])))
    deps = AgentDeps(user=None, thread_id="t1", run_id="r1")
    first = await agent.run("Forget", deps=deps)
    assert sink.events == []
    (asked,) = first.output.approvals
    answers = DeferredToolResults(approvals={asked.tool_call_id: True})
    await agent.run(message_history=first.all_messages(), deferred_tool_results=answers, deps=deps)
    assert [event.outcome for event in sink.events] == ["success"]


@pytest.mark.parametrize("logger", [Asynchronous(), object(), Memory, "tests.test_audit.Memory"])
def test_an_agents_logger_that_can_not_record_is_refused_with_the_cure(logger):
    with pytest.raises(ImproperlyConfigured, match=r"AgentConfig\(audit_logger="):
        AgentConfig(audit_logger=logger)


def test_wrong_arguments_do_not_reveal_their_values():
    details = [{"type": "int_parsing", "loc": ("card", 0), "msg": "Input should be an integer", "input": "secret"}]
    event = timed({"token": "secret"}, content=details, outcome="retried")
    assert event.error == "card.0: Input should be an integer"
    assert "secret" not in repr(event)
    assert timed('{"token": "secr').arguments == {"invalid": REDACTED}
