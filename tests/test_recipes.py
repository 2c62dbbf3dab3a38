"""agui/manual/recipes/: their code uses each group of pydantic-ai's classes, and fits the project.

GROUPS has the groups that the specification describes and some more, with where their classes are in pydantic_ai.
"""

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME
from projects import execute
from tests.recipe_pages import BLOCK, PAGES, read_page, read_recipes

GROUPS = {
    "Tool": ["Tool", "Tool.from_schema", "tools.DocstringFormat"],
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
    "Events of output tools": ["OutputToolCallEvent", "OutputToolResultEvent"],
    "MCP": ["mcp.MCPToolset", "mcp.load_mcp_toolsets"],
    "Binary content": ["BinaryContent", "BinaryImage", "BinaryAudio"],
    "Files by address": ["FileUrl", "ImageUrl", "AudioUrl", "VideoUrl", "DocumentUrl", "UploadedFile"],
    "Downloads": ["messages.ForceDownloadMode"],
    "Multimodal types": ["ImageMediaType", "AudioMediaType", "VideoMediaType", "DocumentMediaType"],
    "Multimodal content": ["MultiModalContent"],
    "Formats": ["ImageFormat", "AudioFormat", "VideoFormat", "DocumentFormat"],
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
        *(f"capabilities.{name}" for name in ("WebSearch", "WebFetch", "ImageGeneration", "XSearch")),
    ],
    "Usage limits": ["UsageLimits", "UsageLimitExceeded"],
    "Usage": ["usage.RunUsage", "usage.RequestUsage"],
    "Instrumentation": ["InstrumentationSettings", "capabilities.Instrumentation"],
    "Concurrency": ["ConcurrencyLimit", "ConcurrencyLimitedModel"],
    "Output types": ["NativeOutput", "ToolOutput", "PromptedOutput"],
    "Direct requests": ["direct.model_request"],
    "Embeddings": ["Embedder"],
    "Hooks of capabilities": [
        "capabilities.AbstractCapability",
        *(f"capabilities.AbstractCapability.wrap_{what}" for what in ("run", "node_run", "run_event_stream")),
        *(
            f"capabilities.AbstractCapability.wrap_{what}"
            for what in ("model_request", "tool_validate", "tool_execute")
        ),
        *(f"capabilities.AbstractCapability.wrap_output_{what}" for what in ("validate", "process")),
    ],
    "CombinedCapability": ["capabilities.CombinedCapability"],
    "Hooks": ["capabilities.Hooks", "capabilities.HookTimeoutError"],
    "WrapperCapability": ["capabilities.WrapperCapability"],
    "DynamicCapability": ["capabilities.DynamicCapability"],
    "Order of capabilities": [f"capabilities.Capability{name}" for name in ("Ordering", "Position", "Ref")],
    "Capabilities by name": ["capabilities.CAPABILITY_TYPES", "agent.AgentSpec"],
    "Capabilities on demand": ["capabilities.Capability.defer_loading"],
    "Descriptions of capabilities": ["capabilities.AbstractCapability.get_description"],
    "Pending messages": ["RunContext.enqueue", "UndrainedPendingMessagesError"],
    "AgentStream": [
        "result.AgentStream",
        *(f"result.AgentStream.{name}" for name in ("stream_text", "stream_output", "stream_response", "cancel")),
    ],
    "FinalResult": ["FinalResultEvent", "result.FinalResult"],
    "Errors": ["exceptions.UserError", "exceptions.UsageLimitExceeded", "exceptions.ConcurrencyLimitExceeded"],
    "Models for tests": ["models.test.TestModel", "models.function.FunctionModel"],
}

# What the specification describes besides, of other packages: GROUPS has names of pydantic_ai alone.
BESIDES = {"DRF": ["DrfMcpToolset"], "Graphs": ["GraphBuilder"], "Evals": ["Dataset", "Case", "Evaluator"]}
NOT_SHOWN = {"UndrainedPendingMessagesError": "pydantic-ai 2 keeps the name for `except`, and raises it nowhere"}

RESOLVE = """
import json, sys
from pydoc import locate

def is_there(path):
    owner, _, name = path.rpartition(".")
    fields = getattr(locate(owner), "__dataclass_fields__", ()) if owner else ()
    return name in fields or locate(path) is not None

print(json.dumps([path for path in json.load(sys.stdin) if not is_there(path)]))
"""


def used_names(code: str) -> set[str]:
    """The names that code uses: not those that it only imports, or mentions in a string or a comment."""
    tree = ast.parse(code)
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                names.add(name)
            case ast.ClassDef(body=body):
                names |= {one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    return names


def used_by_pages() -> dict[str, set[str]]:
    used: dict[str, set[str]] = {page: set() for page in PAGES}
    for name, text in read_recipes().items():
        page = name.partition("#")[0]
        for _, code in BLOCK.findall(text) if page in used else ():
            used[page] |= used_names(code)
    return used


@pytest.mark.parametrize("group", GROUPS | BESIDES)
def test_code_of_some_page_uses_each_class_of_a_group(group: str):
    wanted = {path.rpartition(".")[2] for path in (GROUPS | BESIDES)[group]} - NOT_SHOWN.keys()
    assert wanted - set().union(*used_by_pages().values()) == set()


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from a import B", set()),
        ("'B'", set()),
        ("# B", set()),
        ("B(c=1)", {"B", "c"}),
        ("a.b()", {"a", "b"}),
        ("class A:\n    async def wrap_run(self): ...", {"wrap_run"}),
    ],
)
def test_names_that_are_only_mentioned_are_not_used(code: str, names: set[str]):
    assert used_names(code) == names


def test_the_contents_name_what_the_code_of_a_page_uses():
    table = re.findall(r"^\| \[[^]]+\]\(([\w-]+)\.md\) \| (.*) \|$", read_page("README"), re.MULTILINE)
    named = {page: set(re.findall(r"`([\w.]+)`", names)) for page, names in table}
    used = used_by_pages()
    assert sorted(named) == PAGES
    assert {page: names - used[page] for page, names in named.items() if names - used[page]} == {}
    wanted = {path.rpartition(".")[2] for paths in (GROUPS | BESIDES).values() for path in paths}
    assert wanted - NOT_SHOWN.keys() - set().union(*named.values()) == set()


def test_pages_name_the_version_that_they_run_with():
    pinned = re.search(r"pydantic-ai-slim==(\S+)", (ROOT / TEMPLATE_NAME / "constraints.txt").read_text())[1]
    assert f"pydantic-ai {pinned}" in " ".join(read_page("README").split())


@pytest.fixture(scope="session")
def pasted(rendered: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a copy of assistant/ for each recipe, its code in it: `assistant_<page>_<section>`."""
    project = tmp_path_factory.mktemp("pasted") / "project"
    shutil.copytree(rendered["demo"], project)
    for name, text in read_recipes().items():
        package = f"assistant_{re.sub('[-#]', '_', name)}"
        blocks = BLOCK.findall(text)
        files = [file.removesuffix(".py").removesuffix("/__init__") for file, _ in blocks]
        written = {file.removeprefix("assistant/") for file in files if file.startswith("assistant/")} - {"tools"}
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
        for module in ("agent", "tools"):
            path = project / package / f"{module}.py"
            code = path.read_text() if path.exists() else (project / f"assistant/{module}.py").read_text()
            if path.parent.exists():
                view = "\nview = DjangoAGUIView(registry, config, skills=skills, get_user=get_user)\n"
                path.write_text(code + (view if module == "agent" and "\nview = " not in code else ""))
    return project


@pytest.mark.engine
def test_the_code_of_the_recipes_fits_the_files_that_it_is_pasted_into(pasted: Path, environment: Path):
    """No name is missing, as if a user had pasted one recipe and nothing else."""
    packages = sorted(path.name for path in pasted.glob("assistant_*"))
    assert len(packages) == len([text for text in read_recipes().values() if "\n# assistant/" in text])
    # Of a project's own rules, all but those that ask for imports at the top, and once.
    imports = "E402,F401,F811,I001"
    execute(pasted, environment / "bin/ruff", "check", "--no-cache", "--extend-ignore", imports, *packages)


@pytest.mark.nightly
def test_types_of_the_code_of_the_recipes_hold(pasted: Path, environment: Path):
    packages = sorted(path.name for path in pasted.glob("assistant_*"))
    mypy = [environment / "bin/mypy", "--no-incremental", "--disable-error-code", "no-redef", *packages]
    execute(pasted, *mypy, DEBUG="1")


@pytest.mark.engine
def test_every_name_and_every_import_is_where_the_pages_say(environment: Path):
    """In the installed pydantic-ai, with all extras."""
    wanted = {f"pydantic_ai.{path}" for paths in GROUPS.values() for path in paths}
    for text in read_recipes().values():
        for module, names in re.findall(r"^\s*from (pydantic_[\w.]+) import ([^(\n]+)$", text, re.MULTILINE):
            wanted |= {f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(",")}
    said = execute(ROOT, environment / "bin/python", "-c", RESOLVE, stdin=json.dumps(sorted(wanted))).stdout
    assert json.loads(said) == []
