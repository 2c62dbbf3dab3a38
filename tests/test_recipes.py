"""docs/recipes/: no group of pydantic-ai's classes is missing, and each page fits the project.

GROUPS has the groups that the specification describes and some more, with where their classes are in pydantic_ai.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME

RECIPES = ROOT / "docs/recipes"
GROUPS = {
    "Tool": ["Tool"],
    "RunContext": ["RunContext"],
    "Prepare functions": ["tools.ToolPrepareFunc", "capabilities.PrepareTools"],
    "Kinds of tools": ["ToolDefinition", "tools.ToolDefinitionKind"],
    "Sequential tools": ["Tool.sequential"],
    "ToolSearch": ["capabilities.ToolSearch"],
    "Deferred requests": ["DeferredToolRequests", "DeferredToolResults", "ToolApproved", "ToolDenied"],
    "Deferred calls": ["CallDeferred", "ApprovalRequired"],
    "FunctionToolset": ["toolsets.FunctionToolset"],
    "AbstractToolset": ["toolsets.AbstractToolset", "toolsets.ToolsetTool"],
    "Events of tools": ["FunctionToolCallEvent", "FunctionToolResultEvent", "ToolReturnPart"],
    "MCP": ["mcp.MCPToolset", "mcp.load_mcp_toolsets"],
    "Binary content": ["BinaryContent", "BinaryImage", "BinaryAudio"],
    "Files by address": ["FileUrl", "ImageUrl", "AudioUrl", "VideoUrl", "DocumentUrl", "UploadedFile"],
    "Multimodal types": ["ImageMediaType", "AudioMediaType", "DocumentMediaType", "MultiModalContent"],
    "format_as_xml": ["format_as_xml"],
    "MessagesBuilder": ["ui.MessagesBuilder", "ui.BuilderCheckpoint"],
    "CompactionPart": ["CompactionPart", "models.anthropic.AnthropicCompaction", "models.openai.OpenAICompaction"],
    "CachePoint": ["CachePoint", "capabilities.Caching"],
    "UIAdapter": ["ui.UIAdapter", "ui.ag_ui.AGUIAdapter"],
    "History": ["capabilities.ProcessHistory"],
    "Model settings": ["ModelSettings", "capabilities.Thinking"],
    "Choice of models": ["models.fallback.FallbackModel", "capabilities.SelectModel"],
    "NativeTool": ["capabilities.NativeTool"],
    "NativeOrLocalTool": [
        "capabilities.NativeOrLocalTool",
        "capabilities.WebSearch",
        "capabilities.WebFetch",
        "capabilities.ImageGeneration",
        "capabilities.XSearch",
    ],
    "Usage limits": ["UsageLimits", "UsageLimitExceeded"],
    "Usage": ["usage.RunUsage", "usage.RequestUsage"],
    "Instrumentation": ["InstrumentationSettings", "capabilities.Instrumentation"],
    "Concurrency": ["ConcurrencyLimit", "ConcurrencyLimitedModel"],
    "Output types": ["NativeOutput", "ToolOutput", "PromptedOutput"],
    "Direct requests": ["direct.model_request"],
    "Embeddings": ["Embedder"],
    "Hooks of capabilities": ["capabilities.AbstractCapability"],
    "Hooks": ["capabilities.Hooks", "capabilities.HookTimeoutError"],
    "WrapperCapability": ["capabilities.WrapperCapability"],
    "DynamicCapability": ["capabilities.DynamicCapability"],
    "Order of capabilities": [
        "capabilities.CapabilityOrdering",
        "capabilities.CapabilityPosition",
        "capabilities.CapabilityRef",
    ],
    "Capabilities by name": ["capabilities.CAPABILITY_TYPES", "agent.AgentSpec"],
    "Capabilities on demand": [
        "capabilities.Capability.defer_loading",
        "capabilities.AbstractCapability.get_description",
    ],
    "Pending messages": ["RunContext.enqueue", "UndrainedPendingMessagesError"],
    "AgentStream": ["result.AgentStream"],
    "FinalResult": ["FinalResultEvent", "result.FinalResult"],
    "Errors": ["exceptions.UserError", "exceptions.UsageLimitExceeded", "exceptions.ConcurrencyLimitExceeded"],
    "Models for tests": ["models.test.TestModel", "models.function.FunctionModel"],
}

# What the specification describes besides, of other packages: GROUPS has names of pydantic_ai alone.
BESIDES = {"DRF": ["DrfMcpToolset"]}

BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

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


def rows() -> dict[str, list[str]]:
    """The table: for each page the names that it is about."""
    table = (RECIPES / "README.md").read_text()
    lines = re.findall(r"^\| (`.*) \| \[[\w-]+\]\(([\w-]+)\.md\) \|$", table, re.MULTILINE)
    return {page: re.findall(r"`([\w.]+)`", names) for names, page in lines}


@pytest.mark.parametrize("group", GROUPS | BESIDES)
def test_every_group_has_a_row_and_a_page_that_names_its_classes(group: str):
    wanted = {path.rpartition(".")[2] for path in (GROUPS | BESIDES)[group]}
    pages = [page for page, names in rows().items() if wanted <= {name.split(".")[-1] for name in names}]
    assert pages
    for page in pages:
        text = (RECIPES / f"{page}.md").read_text()
        assert [name for name in wanted if not re.search(rf"\b{name}\b", text)] == []


def test_pages_name_the_version_that_they_run_with():
    pinned = re.search(r"pydantic-ai-slim==(\S+)", (ROOT / TEMPLATE_NAME / "constraints.txt").read_text())[1]
    assert f"with pydantic-ai {pinned}." in (RECIPES / "README.md").read_text()


def test_every_page_has_a_row():
    assert set(rows()) == {path.stem for path in RECIPES.glob("*.md")} - {"README"}


@pytest.fixture(scope="session")
def pasted(rendered: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a copy of assistant/ for each page, its code in it: `assistant_<page>`."""
    project = tmp_path_factory.mktemp("pasted") / "project"
    shutil.copytree(rendered["demo"], project)
    for page in RECIPES.glob("*.md"):
        package = f"assistant_{page.stem.replace('-', '_')}"
        blocks = BLOCK.findall(page.read_text())
        written = {Path(file).stem for file, _ in blocks if file.startswith("assistant/")} & {"agent", "auth"}
        own = re.compile(rf"from assistant\.({'|'.join(written | {'agent'})})\b")
        for file, code in blocks:
            if not file.startswith("assistant/"):
                continue
            path = project / package / file.removeprefix("assistant/")
            path.parent.mkdir(parents=True, exist_ok=True)
            for directory in (project / package, path.parent):
                (directory / "__init__.py").touch()
            there = project / file
            before = there.read_text().partition("\nview = ")[0] if there.exists() else ""
            path.write_text(own.sub(rf"from {package}.\1", f"{before}\n\n{code}"))
        for name in ("agent", "tools"):
            path = project / package / f"{name}.py"
            text = path.read_text() if path.exists() else (project / f"assistant/{name}.py").read_text()
            if path.parent.exists():
                view = "\nview = DjangoAGUIView(registry, config, skills=skills, get_user=get_user)\n"
                path.write_text(text + (view if name == "agent" and "\nview = " not in text else ""))
    return project


@pytest.mark.engine
def test_the_code_of_the_pages_fits_the_files_that_it_is_pasted_into(pasted: Path, environment: Path):
    """No name is missing, as if a user had pasted one page and nothing else."""
    packages = sorted(path.name for path in pasted.glob("assistant_*"))
    assert len(packages) > 40
    ruff = [environment / "bin/ruff", "check", "--no-cache", "--select", "F", "--ignore", "F401,F811", *packages]
    told = subprocess.run(ruff, cwd=pasted, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout


@pytest.mark.nightly
def test_types_of_the_code_of_the_pages_hold(pasted: Path, environment: Path):
    packages = sorted(path.name for path in pasted.glob("assistant_*"))
    mypy = [environment / "bin/mypy", "--no-incremental", "--disable-error-code", "no-redef", *packages]
    told = subprocess.run(mypy, cwd=pasted, env={**os.environ, "DEBUG": "1"}, capture_output=True, text=True)
    assert [line for line in told.stdout.splitlines() if ": error: " in line] == []
    assert told.returncode == 0, told.stderr


@pytest.mark.engine
def test_every_name_and_every_import_is_where_the_pages_say(environment: Path):
    """In the installed pydantic-ai, with all extras."""
    wanted = {f"pydantic_ai.{path}" for paths in GROUPS.values() for path in paths}
    for page in RECIPES.glob("*.md"):
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
