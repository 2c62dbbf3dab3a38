"""The recipes of agui/manual/recipes/, as their code runs in a project.

Each block of Python begins with the name of its file. A recipe is pasted into stand-ins for assistant/'s files, which
hold what the generated ones offer: the template's own tests see to that.
"""

import ast
import inspect
import sys
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from agui import DjangoAGUIView, get_urls
from tests.recipe_pages import BLOCK, read_recipes

STAND_INS = {
    "assistant/tools.py": """
from typing import Annotated, Any
from pydantic import BaseModel, Field
from pydantic_ai import ModelRetry, RunContext
from agui import AgentDeps, ToolRegistry, show_chart, tool
registry = ToolRegistry()
class TaskState(BaseModel):
    category: str = ""
""",
    "assistant/skills.py": "from agui import SkillRegistry\nskills = SkillRegistry()\n",
    "assistant/auth.py": "from typing import Any\nfrom agui.http.auth import get_user\n",
    "assistant/agent.py": """
from agui import AgentConfig, DjangoAGUIView
from assistant.auth import get_user
from assistant.skills import skills
from assistant.tools import TaskState, registry
INSTRUCTIONS = "You help the user to keep a list of tasks."
config = AgentConfig(instructions=INSTRUCTIONS, state_type=TaskState)
""",
}


class CallRecorder(ast.NodeTransformer):
    """Let each function of a file record that it was called."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.functions: set[str] = set()

    def visit_function(self, node: Any) -> Any:
        self.generic_visit(node)
        name = f"{self.file}:{node.lineno} {node.name}"
        self.functions.add(name)
        after_docstring = 0 if ast.get_docstring(node) is None else 1
        node.body[after_docstring:after_docstring] = ast.parse(f"__called__.add({name!r})").body
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_function


def order(file: str, code: str = "") -> int:
    """When a file is read: one that the recipe adds comes before the agent, unless it imports the agent."""
    known = ["config/settings.py", *STAND_INS]
    if file in known:
        return 2 * known.index(file)
    needs_agent = "/tests/" in file or "from assistant.agent import" in code
    return order("assistant/agent.py") + (1 if needs_agent else -1)


class Recipe:
    """A recipe's code in a project: its modules, and the agent's endpoint at /agent/."""

    def __init__(self, name: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.functions: set[str] = set()
        self.called: set[str] = set()
        self._settings, self._monkeypatch = settings, monkeypatch
        for file, code in STAND_INS.items():
            self.run(file, code)
        blocks = BLOCK.findall(read_recipes()[name])
        for file, code in sorted(blocks, key=lambda block: order(*block)):
            if order(file, code) > order("assistant/agent.py"):
                self.build_view()
            if file == "config/settings.py":
                self.configure(code)
            else:
                self.run(file, code)
        agent = self.build_view()
        urls = ModuleType("recipe_urls")
        urls.urlpatterns = get_urls(agent.view)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "recipe_urls", urls)
        settings.ROOT_URLCONF = "recipe_urls"

    def build_view(self) -> Any:
        """End assistant/agent.py as it ends."""
        agent: Any = self.modules["assistant/agent.py"]
        if "view" not in vars(agent):
            get_user = self.modules["assistant/auth.py"].get_user
            agent.view = DjangoAGUIView(agent.registry, agent.config, skills=agent.skills, get_user=get_user)
        return agent

    def run(self, file: str, code: str) -> None:
        """Append code to a file."""
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if file not in self.modules:
            self.modules[file] = ModuleType(name)
            self._monkeypatch.setitem(sys.modules, name, self.modules[file])
        recorder = CallRecorder(file)
        tree = ast.fix_missing_locations(recorder.visit(ast.parse(code)))
        self.functions |= recorder.functions
        vars(self.modules[file])["__called__"] = self.called
        exec(compile(tree, f"{file} of a recipe", "exec"), vars(self.modules[file]))  # noqa: S102

    def configure(self, code: str) -> None:
        """Append code to the settings."""
        names: dict[str, Any] = {"AGUI": dict(self._settings.AGUI), "BASE_DIR": self._settings.BASE_DIR}
        exec(compile(code, "config/settings.py of a recipe", "exec"), names)  # noqa: S102
        for name in names.keys() - {"BASE_DIR"}:
            if name.isupper():
                setattr(self._settings, name, names[name])

    def __getattr__(self, name: str) -> Any:
        """Find what the recipe's code has defined."""
        for module in reversed(list(self.modules.values())):
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(f"The recipe defines no {name!r}.")

    async def run_tests(self, **fixtures: Any) -> int:
        """Run the tests that the recipe shows; how many there are."""
        tests = [
            found
            for file, module in self.modules.items()
            if "/tests/" in file
            for name, found in vars(module).items()
            if name.startswith("test_")
        ]
        users = get_user_model().objects.all()
        there = [user.pk async for user in users]
        for test in tests:
            outcome = test(**{name: fixtures[name] for name in inspect.signature(test).parameters})
            if inspect.isawaitable(outcome):
                await outcome
            await users.exclude(pk__in=there).adelete()
        return len(tests)
