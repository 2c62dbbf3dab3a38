"""Give the tools to the agent: agent.py imports `assistant/model_tools.py`, which imports them."""

import ast
from collections.abc import Iterable
from pathlib import Path

from agui.contrib.agentify.source import call, imports, quoted

OWN = ("agui", "assistant", "config", "users")
IMPORT = "import assistant.model_tools  # noqa: F401"


def write_model_tools(assistant: Path, modules: Iterable[str]) -> None:
    """Write the module that imports all modules of tools."""
    names = sorted(name for name in modules if (assistant / f"{name}.py").exists())
    lines = ['"""The tools that `manage.py agentify` has written, and that the agent has."""', ""]
    lines += imports({"assistant": set(names)})
    lines += ["", *call("__all__ = [", [quoted(name) for name in names], "]")]
    (assistant / "model_tools.py").write_text("\n".join(lines) + "\n")


def add_import(agent: Path) -> bool:
    """Let the agent import the tools, where ruff would sort it. False if there is no place."""
    text = agent.read_text() if agent.exists() else ""
    if "model_tools" in text:
        return True
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        if (statement.module or "").partition(".")[0] in OWN:
            lines = text.splitlines(keepends=True)
            lines.insert(statement.lineno - 1, f"{IMPORT}\n")
            agent.write_text("".join(lines))
            return True
    return False
