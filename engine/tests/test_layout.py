"""How the engine is built: a package that could be lifted out of the project."""

import ast
from pathlib import Path

import pytest

import agui

ROOT = Path(agui.__file__).parent
MODULES = [path for path in ROOT.rglob("*.py") if not {"tests", "migrations"} & {*path.parts}]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_only_two_rooms_of_the_server_know_the_types_of_ag_ui():
    server = [path for path in MODULES if "client" not in path.parts]
    knowing = [path for path in server if any(name.split(".")[0] == "ag_ui" for name in imports(path))]
    assert {path.relative_to(ROOT).parts[0] for path in knowing} == {"protocol", "events"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path):
    lines = path.read_text().count("\n")
    assert lines <= 300
