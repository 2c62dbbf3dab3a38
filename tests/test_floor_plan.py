"""The floor plan of the engine: which room imports which, and in which order one reads them.

floor_plan.ini is the contract, and import-linter holds each import to it. What an import statement does not show is
looked at here: modules that are named in a string, and the reading order that people are told.
"""

import ast
import configparser
import re
from graphlib import TopologicalSorter
from os.path import dirname, join, normpath
from pathlib import Path

from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME
from projects import execute

PLAN = ROOT / "tests/floor_plan.ini"
ANOTHER_CLOCK = re.compile(
    r"\btime\.(time|monotonic|perf_counter)(_ns)?\b|\btimezone\.(now|local(date|time)\((\)|timezone=))"
    r"|\b(datetime\.(now|utcnow|today)|date\.today)\("
)
# Beside the spine, and leaves that every room may use.
NO_ROOMS = {"contrib", "distribution", "management", "manual", "migrations", "templatetags", "testing", "tests"}


def layers() -> list[list[str]]:
    """The layers of the contract, from the top, each with its modules."""
    plan = configparser.ConfigParser()
    plan.read(PLAN)
    return [re.findall(r"\w+", line) for line in plan["importlinter:contract:rooms"]["layers"].split("\n") if line]


def reading_order() -> dict[str, list[str]]:
    """The rooms of the docstring, each with its modules."""
    docstring = ast.get_docstring(ast.parse((ENGINE / "__init__.py").read_text()), clean=False) or ""
    rooms: dict[str, list[str]] = {}
    for line in docstring.splitlines():
        if room := re.match(r" {4}(\w+)/ ", line):
            modules = rooms[room[1]] = []
        elif module := re.match(r" {8}([\w/]+\.py) ", line):
            modules.append(module[1])
    return rooms


def named_modules(path: Path) -> set[str]:
    """The modules of the engine that are imported by a string: `LazyImport("agui.x")`, `import_module("agui.x")`."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args]
    given = [call.args[0] for call in calls if getattr(call.func, "id", "") in ("LazyImport", "import_module")]
    names = [argument.value for argument in given if isinstance(argument, ast.Constant)]
    return {name for name in names if str(name).startswith("agui.")}


def test_imports_keep_to_the_floor_plan():
    command = ["lint-imports", "--config", PLAN, "--no-cache", "--no-logo"]
    execute(ROOT / TEMPLATE_NAME, *command, NO_COLOR="1", COLUMNS="200", PYTHONPATH=str(ENGINE.parent))


def test_modules_named_in_strings_keep_to_the_floor_plan():
    place = {name: number for number, names in enumerate(layers()) for name in names}
    for path in ENGINE.rglob("*.py"):
        room = path.relative_to(ENGINE).parts[0].removesuffix(".py")
        if room not in place:
            continue
        above = [name for name in named_modules(path) if place[name.split(".")[1]] < place[room]]
        assert above == [], path


def test_reading_order_is_that_of_imports_and_has_every_module():
    rooms = reading_order()
    folders = {path.name for path in ENGINE.iterdir() if (path / "__init__.py").exists()}
    assert {*rooms} == folders - NO_ROOMS
    for room, modules in rooms.items():
        there = [path for path in (ENGINE / room).rglob("*.py") if path.name != "__init__.py"]
        assert sorted(modules) == sorted(str(path.relative_to(ENGINE / room)) for path in there), room
    assert [name for names in layers() for name in names if name in rooms] == [*rooms]


ELEMENT = ENGINE / "static/agui"
# Parts whose names the page uses as words of English or of JavaScript.
ORDINARY = {
    "admin", "client", "export", "fast", "notifications", "observe", "queue", "sources", "terminal", "views",
}  # fmt: skip
# What says `attachments`: a message can have files, whoever uploads them.
WITH_FILES = {
    "agui-chat.js", "composer/additions.js", "composer/composer.js", "messages/queued.js",
    "messages/thread-markdown.js", "messages/views.js", "page/chat-page.js", "session/outbox.js",
    "session/refused-turn.js",
}  # fmt: skip
IMPORTED = re.compile(r"""(?:\bfrom |\bimport\()["'](\.[^"']+\.js)["']""")


COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)


def test_modules_of_the_page_import_from_rooms_below():
    """At once, on demand, or for a type. The manual lists the rooms from the top, and the element is above all."""
    rooms = re.findall(r"^\| `static/agui/(\w+)/` \|", (MANUAL / "architecture.md").read_text(), re.MULTILINE)
    place = {folder: number for number, folder in enumerate(rooms)}
    assert {path.name for path in ELEMENT.iterdir() if path.is_dir()} == {*rooms}
    assert [path.name for path in ELEMENT.glob("*.js")] == ["agui-chat.js"]
    for path in ELEMENT.rglob("*.js"):
        room = place.get(path.parent.relative_to(ELEMENT).parts[0], -1) if path.parent != ELEMENT else -1
        for address in IMPORTED.findall(path.read_text()):
            imported = normpath(path.parent / address)
            if not address.startswith("../../agui_"):
                assert place[Path(imported).relative_to(ELEMENT).parts[0]] >= room, (path, address)


def test_page_has_no_names_of_parts():
    parts = {path.name for path in (ENGINE / "contrib").iterdir() if path.is_dir()} - ORDINARY
    said = {}
    for path in [*ELEMENT.rglob("*.js"), *ELEMENT.glob("*.css")]:
        if path.parent.name != "languages":
            words = set(re.findall(r"[a-z]+", COMMENT.sub("", path.read_text()).lower()))
            said[path.relative_to(ELEMENT).as_posix()] = words & parts
    assert {name: words for name, words in said.items() if words} == {key: {"attachments"} for key in WITH_FILES}


def test_modules_of_the_page_import_each_other_in_no_circle():
    """In production a module's name has a digest of its text, with the names of what it imports. A circle has none."""
    named = {}
    for root in (ENGINE / "static", *ENGINE.glob("contrib/*/static")):
        for path in root.rglob("*.js"):
            name = path.relative_to(root).as_posix()
            named[name] = [
                normpath(join(dirname(name), address))
                for address in IMPORTED.findall(COMMENT.sub("", path.read_text()))
            ]
    assert [*TopologicalSorter(named).static_order()]


def test_every_module_asks_the_one_clock():
    """A module that asked another clock would have a time that tests can't turn."""
    # The default of a column can't change without a migration, and a script has no time to turn.
    others = {"clock.py", "models.py", "script.py"}
    modules = [path for path in ENGINE.rglob("*.py") if path.name not in others and "migrations" not in path.parts]
    assert [path for path in modules if ANOTHER_CLOCK.search(path.read_text())] == []
