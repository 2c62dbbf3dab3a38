"""How the engine is built: a package that could be lifted out of the project."""

import ast
import re
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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_engine_knows_nothing_of_the_project(path):
    own = {name for name in imports(path) if name.split(".")[0] in ("assistant", "users", "config")}
    assert own == set()


def test_only_two_modules_of_the_server_know_the_types_of_ag_ui():
    server = [path for path in MODULES if "client" not in path.parts]
    who = {
        str(path.relative_to(ROOT)) for path in server if any(name.split(".")[0] == "ag_ui" for name in imports(path))
    }
    assert who == {"protocol/messages.py", "events/stream.py"}


def test_every_promised_name_can_be_imported():
    for name in agui.__all__:
        assert getattr(agui, name) is not None, name


def reading_order() -> dict[str, list[str]]:
    """The rooms of the docstring, each with its modules."""
    rooms: dict[str, list[str]] = {}
    for line in agui.__doc__.splitlines():
        if room := re.match(r" {4}(\w+)/ ", line):
            rooms[room[1]] = []
        elif module := re.match(r" {8}([\w/]+\.py) ", line):
            rooms[[*rooms][-1]].append(module[1])
    return rooms


def test_the_reading_order_has_every_module_of_every_room():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert {*reading_order()} == folders - {"admin", "contrib", "management", "migrations", "templatetags", "tests"}
    for room, modules in reading_order().items():
        there = [
            str(path.relative_to(ROOT / room)) for path in (ROOT / room).rglob("*.py") if path.name != "__init__.py"
        ]
        assert sorted(modules) == sorted(there), room


def test_the_documented_order_is_the_one_in_the_docstring():
    rows = re.findall(r"^\| `(\w+)/` \|", (ROOT.parent / "docs/architecture.md").read_text(), re.MULTILINE)
    assert rows == [*reading_order()]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path):
    lines = path.read_text().count("\n")
    assert lines <= 350
