"""Which model answers, and how the agent is made."""

import sys

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import FunctionToolset, Tool
from pydantic_ai.models.test import TestModel

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, build_agent
from agui.agents.config import usage_limits
from agui.agents.llm import resolve_model
from agui.checks import check_model
from tests.urls import registry

a_model = TestModel(model_name="mine")
a_config = AgentConfig()


def make_model():
    return TestModel(model_name="made")


def test_a_function_may_make_the_model():
    assert resolve_model("python:tests.test_agent.make_model").model_name == "made"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python:tests.nothing", "can't be imported"),
        ("python:tests.test_agent.AgentConfig", "is a AgentConfig: name a pydantic-ai Model"),
        ("python:tests.test_agent.a_config", "is a AgentConfig: name a pydantic-ai Model"),
        ("", "AGENT_MODEL is empty: name a model"),
        *((name, "lacks a name beside a comma") for name in ("demo,", ",demo", "demo,,demo")),
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


def test_a_project_without_the_demo_is_told_what_it_needs(settings, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    settings.DEBUG = True
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "agui.contrib.demo"]
    with pytest.raises(ImproperlyConfigured, match="needs OPENAI_API_KEY"):
        resolve_model("openai:gpt-5.2")
    with pytest.raises(ImproperlyConfigured, match=r"a model of the part 'agui.contrib.demo': add it"):
        resolve_model("demo")
    settings.AGENT_MODEL = "demo"
    assert [message.id for message in check_model()] == ["agui.W004"]


def test_the_environment_names_the_model_unless_the_config_does(settings):
    settings.AGENT_MODEL = "python:tests.test_agent.a_model"
    assert build_agent(ToolRegistry(), AgentConfig()).model is a_model
    assert build_agent(ToolRegistry(), AgentConfig(model="demo")).model.model_name == "demo"


def test_the_config_can_not_be_changed():
    with pytest.raises(AttributeError):
        AgentConfig().name = "other"


@pytest.mark.parametrize(
    ("option", "cure"),
    [
        ("tools", "register functions with @tool"),
        ("system_prompt", "its name is instructions"),
        ("prepare_tools", "PrepareTools"),
        ("deps_type", "agui.AgentDeps"),
        ("modle", "use one of instructions, model, models"),
    ],
)
def test_an_option_of_another_agent_is_told_with_its_cure(option, cure):
    with pytest.raises(TypeError, match=f"AgentConfig has no option '{option}'.*{cure}"):
        AgentConfig(**{option: None})


def test_two_tools_of_one_name_are_refused_when_the_agent_is_built():
    mine = FunctionToolset([Tool(lambda: "mine", name="echo")], id="mine")
    view = DjangoAGUIView(registry, AgentConfig(toolsets=[mine]))
    with pytest.raises(ImproperlyConfigured, match=r"Two tools have the name 'echo'.*'tools'.*'mine'. Rename one"):
        _ = view.agent


def test_a_name_of_a_part_without_its_packages_is_told_with_its_cure(monkeypatch):
    for name in [each for each in sys.modules if each.startswith("agui.contrib.drf_mcp.toolset")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rest_framework_mcp", None)
    with pytest.raises(ImportError, match=r"install agui-django\[drf_mcp\]"):
        from agui import DrfMcpToolset  # noqa: F401


def test_every_limit_of_a_run_is_a_setting(settings):
    names = ["REQUESTS", "TOOL_CALLS", "TOTAL_TOKENS", "INPUT_TOKENS", "OUTPUT_TOKENS", "REQUEST_INPUT_TOKENS"]
    settings.AGUI = {"LIMITS": {**dict(zip(names, range(1, 7), strict=True)), "COUNT_TOKENS": True}}
    limits = usage_limits(AgentConfig())
    assert (limits.request_limit, limits.tool_calls_limit, limits.total_tokens_limit) == (1, 2, 3)
    assert (limits.input_tokens_limit, limits.output_tokens_limit) == (4, 5)
    assert (limits.per_request_input_tokens_limit, limits.count_tokens_before_request) == (6, True)
