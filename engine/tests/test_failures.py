"""What is said of a run that failed: to its user, to a developer with DEBUG, to the operator in the log and admin."""

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ModelHTTPError, RunCancelled, UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from agui.errors import RUN_ERRORS, RunFailed
from agui.events.failures import HINTS, cause_of, describe, error_code, hint_of
from agui.models import Run
from agui.testing import ScriptedModel, fail
from tests.conftest import Client, script
from tests.mounting import answering, mounted
from tests.provider_stub import Answer, ProviderStub, Refusal

SECRET = "Incorrect API key provided: a secret"
KEY_ERROR = Refusal(401, {"error": {"message": SECRET, "type": "invalid_request_error", "code": "invalid_api_key"}})


async def failed_run() -> Run:
    return await Run.objects.exclude(code="").alatest("started_at")


async def test_a_run_has_one_id_everywhere(client: Client, caplog: Any):
    with script(fail(ModelHTTPError(500, "m", SECRET))):
        events = await client.run("Hi")
    run = await failed_run()
    assert events[-1]["metadata"]["runId"] == str(run.pk)[:8]
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert str(run.pk) in record.getMessage()
    assert run.run_id not in caplog.text.replace(f'run_id="{run.run_id}"', "") or run.run_id == str(run.pk)


@pytest.mark.parametrize("debug", [False, True])
async def test_a_developer_alone_reads_the_cause_with_the_setting_to_look_at(client, stub, settings, debug: bool):
    pytest.importorskip("openai")
    settings.DEBUG, settings.AGENT_MODEL = debug, "openai:gpt-5.6-terra"
    stub.replies = [KEY_ERROR]
    with answering(model="openai:gpt-5.6-terra"):
        events = await client.run("Hi")
        thread = await client.thread()
    assert SECRET in (await failed_run()).cause
    if not debug:
        assert "debug" not in events[-1]["metadata"]
        assert "a secret" not in json.dumps([events, thread])
        return
    [kept] = thread["failures"].values()
    told = events[-1]["metadata"]["debug"]
    assert SECRET in told["cause"]
    assert SECRET in kept["debug"]["cause"]
    assert told["hint"] == "The provider does not know the key: look at OPENAI_API_KEY in .env."


def lists_tools_of(address: str) -> dict[str, Any]:
    mcp = pytest.importorskip("pydantic_ai.mcp", exc_type=ImportError)
    return {"toolsets": [mcp.MCPToolset(address)]}


def has_instructions_that_raise(error: Exception) -> dict[str, Any]:
    async def rules() -> str:
        raise RuntimeError("It was wrapped.") from error

    return {"instructions": [rules]}


def has_a_hook_that_hangs() -> dict[str, Any]:
    hooks: Hooks[Any] = Hooks()

    @hooks.on.before_run(timeout=0.001)
    async def hang(ctx: Any) -> None:
        await asyncio.Event().wait()

    return {"capabilities": [hooks]}


CUT_OFF = ExceptionGroup("", [ConnectionError(SECRET)])


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda stub: lists_tools_of("http://127.0.0.1:9/mcp"), "service_unavailable"),
        (lambda stub: lists_tools_of(f"{stub.url}/mcp"), "service_unavailable"),
        (lambda stub: has_instructions_that_raise(TimeoutError(SECRET)), "service_unavailable"),
        (lambda stub: has_instructions_that_raise(CUT_OFF), "service_unavailable"),
        (lambda stub: has_instructions_that_raise(KeyError(SECRET)), "internal_error"),
        (lambda stub: has_a_hook_that_hangs(), "hook_timeout"),
    ],
)
async def test_a_failure_of_others_has_a_code_of_its_own(client, stub, settings, caplog, make: Any, code: str):
    settings.DEBUG = True
    stub.replies = [Refusal(500, {})] * 3
    with mounted(model=ScriptedModel([]), **make(stub)):
        events = await client.run("Hi")
    assert (events[-1]["type"], events[-1]["code"], events[-1]["message"]) == ("RUN_ERROR", code, RUN_ERRORS[code])
    assert SECRET not in json.dumps(events)
    assert any(record.exc_info for record in caplog.records if f"failed: {code}" in record.getMessage())


@pytest.mark.parametrize("code", RUN_ERRORS)
def test_no_code_tells_a_client_more_without_debug_nor_of_our_own_exceptions_with_it(settings: Any, code: str):
    settings.DEBUG = False
    assert describe(code, "0123456789", cause="a secret", hint="a hint") == {"runId": "01234567"}
    settings.DEBUG = True
    assert describe("internal_error", cause="a secret", hint="a hint") == {"debug": {"hint": "a hint"}}


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429])
def test_the_hint_fits_the_status(settings: Any, status: int):
    settings.AGENT_MODEL = "anthropic:claude-sonnet-5-5"
    hint = hint_of("model_refused", ModelHTTPError(status, "m"))
    assert hint != HINTS["model_refused"]
    assert ("ANTHROPIC_API_KEY" in hint) == (status in (401, 403))


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([], "empty_answer"),
        ([TextPart("")], "empty_answer"),
        ([ThinkingPart("Hm")], "empty_answer"),
        ([TextPart("Words")], "model_error"),
        ([ToolCallPart("x")], "model_error"),
    ],
)
def test_an_empty_answer_is_an_error_of_its_own(parts: Any, code: str):
    error = UnexpectedModelBehavior("Exceeded maximum output retries")
    assert error_code(error, [ModelResponse(parts)]) == code


@pytest.mark.parametrize("when", ["before the first word", "after it"])
async def test_a_model_that_hangs_has_a_deadline(client: Client, stub: ProviderStub, settings: Any, when: str):
    pytest.importorskip("openai")
    settings.AGUI = {**settings.AGUI, "MODEL_TIMEOUT_SECONDS": 0.3}
    gate = threading.Event()
    stub.replies = [Answer("One two" if when == "after it" else " two", gate)]
    try:
        with answering(model="openai-chat:gpt-5.6-terra"):
            events = await client.run("Hi")
    finally:
        gate.set()
    assert events[-1]["code"] == "model_timeout"
    assert ("One" in json.dumps(await client.thread())) == (when == "after it")


def test_a_cause_is_one_line():
    try:
        try:
            raise ValueError("the\nroot")
        except ValueError as error:
            raise RuntimeError("out of\n reach " + "x" * 5000) from error
    except RuntimeError as error:
        cause = cause_of(error)
    assert cause.startswith("RuntimeError: out of reach xxx")
    assert len(cause) == 1000
    assert cause_of(RunFailed("timeout")) == cause_of(RunCancelled("x")) == ""
