"""What is made faster in pydantic-ai does the same, and is left alone where pydantic-ai has changed."""

import asyncio
import dataclasses
from copy import copy
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

import anyio
import pytest
from pydantic_ai import Agent, FunctionToolset, RunContext, ToolKind, _agent_graph, _utils, result
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import CombinedToolset
from pydantic_ai.toolsets.abstract import AGENT_TOOLSET_ID
from pydantic_ai.usage import RunUsage

from agui.contrib.fast import pydantic_ai_patches as patches
from agui.contrib.fast.guard import Changed
from tests import urls

CONTEXT: dict[str, Any] = {"deps": ["kept"], "model": TestModel(), "usage": RunUsage(), "run_step": 3}


@pytest.mark.parametrize(
    "instance",
    [
        type("OtherContext", (RunContext,), {})(**CONTEXT),  # As durable executors of pydantic-ai have them
        ToolDefinition(name="echo", parameters_json_schema={}, metadata={"a": 1}),
    ],
)
def test_a_copy_has_all_fields_and_is_a_copy(instance: Any):
    assert instance.__copy__.__func__ is patches.copy_fields
    ours = copy(instance)
    assert type(ours) is type(instance)
    assert all(vars(ours)[name] is value for name, value in vars(instance).items())
    ours.added = 4
    assert not hasattr(instance, "added")


@dataclass
class Computing:
    """As a durable executor's context, it computes a field."""

    number: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.number


@pytest.fixture(autouse=True)
def in_use() -> None:
    """As soon as the process has built an agent."""
    patches.make_faster()


@dataclass
class WithComputedField:
    computed: int = field(default=1, init=False)


@pytest.mark.parametrize(
    "kind", [type("Slotted", (), {"__slots__": ("deps",)}), type("Own", (), {"__copy__": lambda self: self})]
)
def test_a_class_with_slots_or_a_copy_of_its_own_is_left_alone(kind: type):
    before = dict(vars(kind))
    with pytest.raises(Changed, match=f"{kind.__name__}.__copy__"):
        patches.make_copies_fast(kind)
    assert dict(vars(kind)) == before


@pytest.mark.parametrize("kind", [WithComputedField, Computing])
def test_a_class_that_computes_its_fields_is_copied_by_python(kind: type):
    with pytest.raises(Changed, match=kind.__name__):
        patches.learn_fields(f"{__name__}:{kind.__name__}", set())
    assert kind not in patches.computed_by_type


def example_tool(text: str) -> str:
    return text


async def copied() -> list[tuple[Any, dict[str, Any]]]:
    """An object of each class that is copied so, as pydantic-ai makes it, and what changes."""
    context = RunContext(**CONTEXT)
    tools = CombinedToolset([FunctionToolset([example_tool], id="tools")])
    tool = (await tools.get_tools(context))["example_tool"]
    definition = {"defer_loading": True, "with_native": "tool_search"}
    return [(context, {"run_step": 4}), (tool, {"max_retries": 7}), (tool.tool_def, definition)]


async def test_a_copy_by_fields_is_as_python_makes_it():
    types = set()
    for instance, changes in await copied():
        before = vars(instance).copy()
        ours, of_python = patches.replace(instance, **changes), dataclasses.replace(instance, **changes)
        assert type(ours) is type(instance)
        assert vars(ours) == vars(of_python)
        assert all(getattr(ours, one.name) is getattr(of_python, one.name) for one in fields(instance))
        assert vars(instance) == before
        types.add(type(instance))
    assert types == set(patches.computed_by_type)
    assert len(types) == len(patches.COPIED)


async def test_fields_that_are_computed_are_computed_by_python():
    *_, (definition, _) = await copied()
    assert patches.replace(definition, tool_kind=ToolKind("tests", "example")).tool_kind == "tests.example"
    assert patches.replace(Computing(1), number=2).double == 4


def test_a_module_that_replaces_in_its_own_way_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_agent_graph, "replace", own := object())
    with pytest.raises(Changed, match="of its own"):
        patches.make_replacing_fast("pydantic_ai._agent_graph")
    assert _agent_graph.replace is own


class Stream:
    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = anyio.Lock()


async def is_taken_at_once(lock: anyio.Lock) -> bool:
    """Whether nothing else runs before the lock is taken."""
    others: list[str] = []
    asyncio.get_running_loop().call_soon(others.append, "another task")
    async with lock:
        return not others


async def test_a_lock_that_nobody_has_is_taken_at_once():
    assert not await is_taken_at_once(Stream(1).lock)
    patches.make_locks_fast(f"{__name__}:Stream")
    init = Stream.__init__
    patches.make_locks_fast(f"{__name__}:Stream")
    assert Stream.__init__ is init
    stream = Stream(2)
    assert (stream.size, await is_taken_at_once(stream.lock)) == (2, True)


def test_an_agent_has_its_own_toolset_as_soon_as_that_has_a_tool():
    assert AGENT_TOOLSET_ID not in [one.id for one in urls.view.agent.toolsets]
    tools: FunctionToolset[Any] = FunctionToolset(id="tools")
    agent = Agent(TestModel(), toolsets=[tools])
    assert list(agent.toolsets) == [tools]
    agent.tool_plain(lambda: "Noon.", name="tell_time")
    assert [one.id for one in agent.toolsets] == [AGENT_TOOLSET_ID, "tools"]
    assert [one.id for one in Agent(TestModel()).toolsets] == [AGENT_TOOLSET_ID]
    build = Agent._build_toolset_list
    patches.leave_out_empty_toolsets()
    assert Agent._build_toolset_list is build


def test_all_of_it_is_in_use_with_this_pydantic_ai():
    for name in patches.REPLACING:
        assert vars(import_module(name))["replace"] is patches.replace
    for stream in (result.AgentStream, _utils.PeekableAsyncStream):
        assert stream.__init__.__name__ == "__init__"
        assert hasattr(stream.__init__, "__wrapped__")
    assert hasattr(Agent._build_toolset_list, "__wrapped__")
