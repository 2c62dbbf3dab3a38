"""docs/recipes/ of the generated project: no group of pydantic-ai's classes is missing, and each page fits the project.

GROUPS has the groups that the specification describes, with where their classes are today.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

GROUPS = {
    "Tool": ["pydantic_ai.Tool"],
    "RunContext": ["pydantic_ai.RunContext"],
    "Prepare functions": ["pydantic_ai.tools.ToolPrepareFunc", "pydantic_ai.capabilities.PrepareTools"],
    "Kinds of tools": ["pydantic_ai.ToolDefinition", "pydantic_ai.tools.ToolDefinitionKind"],
    "Sequential tools": ["pydantic_ai.Tool.sequential"],
    "Deferred requests": [
        "pydantic_ai.DeferredToolRequests",
        "pydantic_ai.DeferredToolResults",
        "pydantic_ai.ToolApproved",
        "pydantic_ai.ToolDenied",
    ],
    "Deferred calls": ["pydantic_ai.CallDeferred", "pydantic_ai.ApprovalRequired"],
    "FunctionToolset": ["pydantic_ai.toolsets.FunctionToolset"],
    "AbstractToolset": ["pydantic_ai.toolsets.AbstractToolset", "pydantic_ai.toolsets.ToolsetTool"],
    "Events of tools": [
        "pydantic_ai.FunctionToolCallEvent",
        "pydantic_ai.FunctionToolResultEvent",
        "pydantic_ai.ToolReturnPart",
    ],
    "Hooks of capabilities": ["pydantic_ai.capabilities.AbstractCapability"],
    "Hooks": ["pydantic_ai.capabilities.Hooks", "pydantic_ai.capabilities.HookTimeoutError"],
    "WrapperCapability": ["pydantic_ai.capabilities.WrapperCapability"],
    "DynamicCapability": ["pydantic_ai.capabilities.DynamicCapability"],
    "Order of capabilities": [
        "pydantic_ai.capabilities.CapabilityOrdering",
        "pydantic_ai.capabilities.CapabilityPosition",
        "pydantic_ai.capabilities.CapabilityRef",
    ],
    "Capabilities by name": ["pydantic_ai.capabilities.CAPABILITY_TYPES", "pydantic_ai.agent.AgentSpec"],
    "Capabilities on demand": [
        "pydantic_ai.capabilities.Capability.defer_loading",
        "pydantic_ai.capabilities.AbstractCapability.get_description",
    ],
    "Pending messages": ["pydantic_ai.RunContext.enqueue", "pydantic_ai.UndrainedPendingMessagesError"],
    "Models for tests": ["pydantic_ai.models.test.TestModel", "pydantic_ai.models.function.FunctionModel"],
}

RESOLVE = """
import importlib, json, sys, dataclasses
lost = []
for path in json.load(sys.stdin):
    module, found = path.split("."), None
    names = []
    while module and found is None:
        try:
            found = importlib.import_module(".".join(module))
        except ModuleNotFoundError as error:
            if not path.startswith(error.name or " "):
                raise
            names.insert(0, module.pop())
    try:
        for name in names:
            fields = dataclasses.fields(found) if dataclasses.is_dataclass(found) else ()
            found = found if name in {field.name for field in fields} else getattr(found, name)
    except AttributeError:
        lost.append(path)
print(json.dumps(lost))
"""


@pytest.fixture
def recipes(rendered: dict[str, Path]) -> Path:
    return rendered["demo"] / "docs/recipes"


def rows(recipes: Path) -> dict[str, tuple[list[str], str]]:
    """The table: for each page its names and its line."""
    lines = re.findall(
        r"^\| (`.*) \| \[[\w-]+\]\(([\w-]+)\.md\) \|$", (recipes / "README.md").read_text(), re.MULTILINE
    )
    return {page: (re.findall(r"`([\w.]+)`", names), names) for names, page in lines}


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_a_row_and_a_page_that_names_its_classes(recipes: Path, group: str):
    wanted = {path.rpartition(".")[2] for path in GROUPS[group]}
    [page] = [page for page, (names, _) in rows(recipes).items() if wanted <= {name.split(".")[-1] for name in names}]
    text = (recipes / f"{page}.md").read_text()
    assert [name for name in wanted if not re.search(rf"\b{name}\b", text)] == []


def test_every_page_has_a_row(recipes: Path):
    assert set(rows(recipes)) == {path.stem for path in recipes.glob("*.md")} - {"README"}


@pytest.mark.slow
def test_every_name_and_every_import_is_where_the_pages_say(recipes: Path, environment: Path):
    """In the installed pydantic-ai, with all extras."""
    wanted = {path for paths in GROUPS.values() for path in paths}
    for page in recipes.glob("*.md"):
        for module, names in re.findall(
            r"^\s*from (pydantic_[\w.]+) import ([^(\n]+)$", page.read_text(), re.MULTILINE
        ):
            wanted |= {f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(",")}
    told = subprocess.run(
        [environment / "bin/python", "-c", RESOLVE],
        input=json.dumps(sorted(wanted)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(told.stdout) == []
