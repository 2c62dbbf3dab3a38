"""The line of `assistant/agent.py` that imports the tools of a model."""

import ast
from pathlib import Path

OWN = ("agui", "assistant", "config", "users")


def import_line(module: str) -> str:
    return f"import assistant.{module}  # noqa: F401"


def add_import(agent: Path, module: str) -> bool:
    """Add the import, where ruff would sort it. False if there is no place for it."""
    line = import_line(module)
    text = agent.read_text() if agent.exists() else ""
    lines = text.splitlines(keepends=True)
    if any(existing.startswith(f"import assistant.{module} ") for existing in lines):
        return True
    place = _place(text, module)
    if place is None:
        return False
    lines.insert(place, f"{line}\n")
    agent.write_text("".join(lines))
    return True


def _place(text: str, module: str) -> int | None:
    """Find the number of lines before the new one: plain imports stand before `from` imports."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom):
            if (statement.module or "").partition(".")[0] in OWN:
                return statement.lineno - 1
        elif isinstance(statement, ast.Import):
            name = statement.names[0].name
            if name.partition(".")[0] in OWN and name > f"assistant.{module}":
                return statement.lineno - 1
    return None
