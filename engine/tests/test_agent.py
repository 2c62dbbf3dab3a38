"""Which model answers, and how the agent is made."""

import sys

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from agui import AgentConfig, AgentDeps, ToolRegistry, build_agent
from agui.agents.config import usage_limits
from agui.agents.llm import resolve_model
from tests.urls import view

a_model = TestModel(model_name="mine")
a_config = AgentConfig()


def make_model():
    return TestModel(model_name="made")


def test_the_agent_is_built_once():
    assert view.agent is view.agent


def test_demo_needs_nothing():
    assert resolve_model("demo").model_name == "demo"


@pytest.mark.parametrize(("name", "found"), [("a_model", "mine"), ("make_model", "made")])
def test_a_model_of_ones_own(name, found):
    assert resolve_model(f"python:tests.test_agent.{name}").model_name == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python:tests.nothing", "can't be imported"),
        ("python:tests.test_agent.AgentConfig", "is a AgentConfig: name a pydantic-ai Model"),
        ("python:tests.test_agent.a_config", "is a AgentConfig: name a pydantic-ai Model"),
        ("", "AGENT_MODEL is empty: name a model"),
        ("nonsense", "AGENT_MODEL = 'nonsense' can't be used: write the provider before it"),
        ("nobody:knows", "AGENT_MODEL = 'nobody:knows' can't be used"),
    ],
)
def test_a_wrong_model_is_named_with_its_cure(name, message):
    with pytest.raises(ImproperlyConfigured, match=message):
        resolve_model(name)


def test_a_provider_without_its_package_is_named_with_its_cure(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setitem(sys.modules, "openai", None)
    for name in [one for one in sys.modules if one.startswith("pydantic_ai.") and "openai" in one]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImproperlyConfigured, match=r"'openai:gpt-5.2' needs a package: add the extra"):
        resolve_model("openai:gpt-5.2")


def test_a_provider_without_a_key_is_played_by_the_demo_in_development_only(settings, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    settings.DEBUG = True
    assert resolve_model("openai:gpt-5.2").model_name == "demo"
    settings.DEBUG = False
    with pytest.raises(ImproperlyConfigured, match="needs OPENAI_API_KEY"):
        resolve_model("openai:gpt-5.2")


def test_the_environment_names_the_model_unless_the_config_does(settings):
    settings.AGENT_MODEL = "python:tests.test_agent.a_model"
    assert build_agent(ToolRegistry(), AgentConfig()).model is a_model
    assert build_agent(ToolRegistry(), AgentConfig(model="demo")).model.model_name == "demo"


def test_a_factory_replaces_it_all(settings):
    settings.AGUI = {"AGENT_FACTORY": "tests.test_agent.factory"}
    assert build_agent(ToolRegistry(), AgentConfig()).name == "from the factory"


def factory(registry, config):
    return Agent(a_model, name="from the factory", deps_type=AgentDeps)


def test_the_config_can_not_be_changed():
    with pytest.raises(AttributeError):
        AgentConfig().name = "other"


def test_every_limit_of_a_run_is_a_setting(settings):
    names = ["REQUESTS", "TOOL_CALLS", "TOTAL_TOKENS", "INPUT_TOKENS", "OUTPUT_TOKENS", "REQUEST_INPUT_TOKENS"]
    settings.AGUI = {"LIMITS": {**dict(zip(names, range(1, 7), strict=True)), "COUNT_TOKENS": True}}
    limits = usage_limits(AgentConfig())
    assert (limits.request_limit, limits.tool_calls_limit, limits.total_tokens_limit) == (1, 2, 3)
    assert (limits.input_tokens_limit, limits.output_tokens_limit) == (4, 5)
    assert (limits.per_request_input_tokens_limit, limits.count_tokens_before_request) == (6, True)
