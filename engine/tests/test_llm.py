"""Which model answers: chains of fallbacks, a client's choice, and what is said when a provider fails."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.template import Context, Template
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelHTTPError,
    UnexpectedModelBehavior,
)
from pydantic_ai.models.test import TestModel

from agui import AgentConfig, DjangoAGUIView, ToolRegistry
from agui.agents.llm import error_code, resolve_model, resolve_models
from agui.checks import check_model
from agui.models import Run
from agui.testing import ScriptedModel, say
from tests.conftest import Client, run_input
from tests.mounting import answering, mounted
from tests.provider_stub import Answer, ProviderStub, Refusal, ToolUse
from tests.wire import check_stream

CHAIN = "openai:gpt-5.6-terra, anthropic:claude-sonnet-5-5"
OVERLOADED = Refusal(529, {"type": "error", "error": {"type": "overloaded_error", "message": "a secret"}})
BROKEN = Refusal(500, {"error": {"type": "server_error", "message": "a secret"}})
TOO_LONG = Refusal(400, {"error": {"code": "context_length_exceeded", "message": "a secret", "type": "invalid"}})

a_model = TestModel(model_name="mine")


@pytest.fixture
def chain(stub: ProviderStub) -> Iterator[ProviderStub]:
    """An agent whose second model answers when the first one fails."""
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    with answering(model=CHAIN):
        yield stub


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.parametrize("failure", [BROKEN, TOO_LONG, Refusal(401, {"error": {"message": "no such key"}})])
async def test_the_next_of_the_chain_answers_when_one_fails(client: Client, chain: ProviderStub, failure: Refusal):
    chain.replies = [failure, ToolUse("echo", {"text": "yes"}), failure, Answer("From the second.")]
    events = await client.run("Hi", thread="chain")

    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["yes"]
    assert text_of(events) == "From the second."
    assert [one.path for one in chain.requests] == ["/v1/responses", "/v1/messages"] * 2
    assert "a secret" not in json.dumps(events)
    check_stream(events)


async def test_a_failure_of_all_has_a_code_and_keeps_its_secrets(client: Client, chain: ProviderStub, caplog: Any):
    chain.replies = [TOO_LONG, OVERLOADED]
    events = await client.run("Hi", thread="chain")
    assert events[-1]["code"] == "model_unavailable"
    assert "a secret" not in json.dumps(events)
    assert "a secret" in caplog.text

    chain.replies = [TOO_LONG]
    with answering(model="openai:gpt-5.6-terra"):
        events = await client.run("Hi", thread="long")
    assert events[-1]["code"] == "context_window"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        *((ModelHTTPError(status, "m"), "model_refused") for status in (400, 401, 404)),
        *((ModelHTTPError(status, "m"), "model_unavailable") for status in (408, 429, 503)),
        (ModelAPIError("m", "out of reach"), "model_unavailable"),
        (ContentFilterError("indecent"), "model_refused"),
        (UnexpectedModelBehavior("nonsense"), "model_error"),
        (FallbackExceptionGroup("all", [ModelHTTPError(400, "m"), ModelHTTPError(503, "m")]), "model_unavailable"),
        (FallbackExceptionGroup("all", [ModelHTTPError(400, "m"), UnexpectedModelBehavior("odd")]), "model_refused"),
        (ValueError("a bug"), None),
    ],
)
def test_a_failure_has_a_code(error: Exception, code: str | None):
    assert error_code(error) == code


@pytest.mark.parametrize(
    ("names", "answers", "lacking", "hint"),
    [
        ("anthropic:claude-sonnet-5-5,python:tests.test_llm.a_model", "mine", ["ANTHROPIC"], "Until then the others"),
        (CHAIN, "demo", ["OPENAI", "ANTHROPIC"], "the demo model answers"),
    ],
)
def test_on_a_developers_machine_those_without_a_key_are_left_out(settings, monkeypatch, names, answers, lacking, hint):
    for provider in ("ANTHROPIC", "OPENAI"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
    settings.DEBUG = True
    settings.AGENT_MODEL = names
    assert resolve_model(names).model_name == answers
    [warning] = check_model()
    assert f"{' and '.join(f'{provider}_API_KEY' for provider in lacking)} is not set" in warning.msg
    assert hint in str(warning.hint)


# --- A client's choice


async def test_a_client_chooses_among_the_models_for_one_run(client: Client):
    quick, deep = ScriptedModel([say("quick")]), ScriptedModel([say("deep")])
    quick.model_name = "gpt-quick"
    # A retry or a resume that names none is the agent's own model's to answer.
    chosen = [{"forwardedProps": {"model": "quick"}}, {}, {"forwardedProps": {"model": "deep"}}]
    chosen.append({"forwardedProps": {"model": None}})
    with mounted(model=ScriptedModel([say("usual")] * 2), models={"quick": quick, "deep": deep}):
        answers = [text_of(await client.run("Hi", **props)) for props in chosen]
        offered = json.loads((await client.get("capabilities/")).content)["custom"]

    assert answers == ["quick", "usual", "deep", "usual"]
    assert offered["models"] == ["quick", "deep"]
    models = [run.model async for run in Run.objects.order_by("started_at")]
    assert models == ["gpt-quick", "scripted", "scripted", "scripted"]


@pytest.mark.parametrize("name", ["openai:gpt-6.1-terra", "", "QUICK", 7, ["quick"], {"quick": 1}])
async def test_any_other_name_is_refused_before_anything_is_kept(client: Client, name: Any):
    with mounted(model=ScriptedModel([]), models={"quick": ScriptedModel([])}):
        response = await client.post(run_input("Hi", forwardedProps={"model": name}))
        thread = await client.get("threads/t1/")

    assert response.status_code == 422
    assert json.loads(response.content)["message"] == "forwardedProps.model has to be one of: quick."
    assert thread.status_code == 404
    assert not await Run.objects.aexists()


@pytest.mark.parametrize("props", [{"model": "anything"}, "quick", None])
async def test_without_a_choice_the_word_means_nothing(client: Client, props: Any):
    with mounted(model=ScriptedModel([say("usual")])):
        assert text_of(await client.run("Hi", forwardedProps=props)) == "usual"


def test_a_page_lists_the_models_if_it_says_so():
    models = {"quick": ScriptedModel([]), 'a "b"': ScriptedModel([])}
    page = Template('{% include "agui/attributes.html" with models=True %}')
    with mounted(model=ScriptedModel([]), models=models):
        (names,) = re.findall('data-models="(.*?)"', page.render(Context()))
        assert json.loads(html.unescape(names)) == ["quick", 'a "b"']
        assert "data-models" not in Template('{% include "agui/attributes.html" %}').render(Context())


def test_names_stand_for_themselves_or_for_others():
    path = "python:tests.test_llm.a_model"
    assert resolve_models([path]) == {path: a_model}
    assert resolve_models({"mine": path}) == {"mine": a_model}
    with pytest.raises(ImproperlyConfigured, match=r"write \['demo'\]"):
        resolve_models("demo")
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model="demo", models=["nobody:knows"]))
    with pytest.raises(ImproperlyConfigured, match="'nobody:knows' can't be used"):
        view.agent  # noqa: B018
