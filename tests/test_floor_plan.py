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

# Parts whose names the core uses as words of English.
ORDINARY = {"admin", "client", "export", "fast", "notifications", "queue", "sources", "terminal", "views"}
# What the core says of parts: which model answers before one is chosen, and what clients and tools find.
OF_PARTS = {
    "agents/keys.py": {"demo"},
    "agents/llm.py": {"demo"},
    "checks.py": {"redis"},  # A cache of Django
    "conf.py": {"demo"},
    "deps.py": {"attachments"},
    "http/catalogs.py": {"feedback"},  # A key of AG-UI's capabilities
}


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


def words_of(path: Path) -> set[str]:
    """The words of a module's names and texts, without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    expressions = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    docs = {id(value) for value in expressions if isinstance(value, ast.Constant)}
    texts: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            texts.append(node.value)
        texts += [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module")]
    return set(re.findall(r"[a-z]+", " ".join(text for text in texts if isinstance(text, str)).lower()))


def test_core_has_no_words_of_parts():
    parts = {path.name for path in (ENGINE / "contrib").iterdir() if path.is_dir()} - ORDINARY
    above = ("contrib", "contract", "distribution", "management", "testing")
    said = {}
    for name in (name for names in layers() for name in names if not name.startswith(above)):
        for path in [*ENGINE.glob(f"{name}.py"), *(ENGINE / name).rglob("*.py")]:
            said[str(path.relative_to(ENGINE))] = words_of(path) & parts
    assert {place: words for place, words in said.items() if words} == OF_PARTS


def test_reading_order_is_that_of_imports_and_of_the_documentation_and_has_every_module():
    rooms = reading_order()
    folders = {path.name for path in ENGINE.iterdir() if (path / "__init__.py").exists()}
    assert {*rooms} == folders - NO_ROOMS
    for room, modules in rooms.items():
        there = [path for path in (ENGINE / room).rglob("*.py") if path.name != "__init__.py"]
        assert sorted(modules) == sorted(str(path.relative_to(ENGINE / room)) for path in there), room
    assert [name for names in layers() for name in names if name in rooms] == [*rooms]
    rows = re.findall(r"^\| `(\w+)/` \| (.*) \|$", (MANUAL / "architecture.md").read_text(), re.MULTILINE)
    lines = (ENGINE / "__init__.py").read_text().splitlines()
    questions = [match for line in lines if (match := re.match(r" {4}(\w+)/ +(.*)", line))]
    assert rows == [match.groups() for match in questions]


ELEMENT = ENGINE / "static/agui"
IMPORTED = re.compile(r"""(?:\bfrom |\bimport\()["'](\.[^"']+\.js)["']""")


def rooms_of_the_page() -> list[str]:
    """The folders of the element's modules, from the top, as the manual lists them."""
    return re.findall(r"^\| `static/agui/(\w+)/` \|", (MANUAL / "architecture.md").read_text(), re.MULTILINE)


def room_of(path: Path, rooms: list[str]) -> int:
    """The place of a module's room; the element itself is above all."""
    folder = path.resolve().relative_to(ELEMENT.resolve()).parts[0]
    return rooms.index(folder) if folder in rooms else -1


def imports_up(path: Path, rooms: list[str]) -> list[str]:
    """What a module of the element imports from rooms above its own: at once, on demand, or a type."""
    imported = IMPORTED.findall(path.read_text())
    own = [address for address in imported if not address.startswith("../../agui_")]
    return [address for address in own if room_of(path.parent / address, rooms) < room_of(path, rooms)]


def test_modules_of_the_page_import_from_rooms_below():
    rooms = rooms_of_the_page()
    assert {path.name for path in ELEMENT.iterdir() if path.is_dir()} == {*rooms}
    assert [path.name for path in ELEMENT.glob("*.js")] == ["agui-chat.js"]
    up = {str(path.relative_to(ELEMENT)): imports_up(path, rooms) for path in ELEMENT.rglob("*.js")}
    assert {name: addresses for name, addresses in up.items() if addresses} == {}


def test_modules_of_the_page_import_each_other_in_no_circle():
    """In production a module's name has a digest of its text, with the names of what it imports. A circle has none."""
    named = {}
    for root in (ENGINE / "static", *ENGINE.glob("contrib/*/static")):
        for path in root.rglob("*.js"):
            name = path.relative_to(root).as_posix()
            named[name] = [normpath(join(dirname(name), address)) for address in IMPORTED.findall(code_of(path))]
    assert [*TopologicalSorter(named).static_order()]


def test_imports_of_all_forms_are_found():
    text = 'import { A } from "./a.js";\nawait import("./b.js");\n/** @type {import("../c.js").C} */\n'
    assert IMPORTED.findall(text) == ["./a.js", "./b.js", "../c.js"]
    assert IMPORTED.findall(COMMENT.sub("", text)) == ["./a.js", "./b.js"]


# --- What serves one part stands beside its Python

MODULES = [path for path in ELEMENT.rglob("*.js") if path.parent.name != "languages"]
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
# What says `attachments`: a message can have files, whoever uploads them.
WITH_FILES = {
    "agui-chat.js", "composer/additions.js", "composer/composer.js", "messages/queued.js",
    "messages/thread-markdown.js", "messages/views.js", "page/chat-page.js", "session/outbox.js",
    "session/refused-turn.js",
}  # fmt: skip


def code_of(path: Path) -> str:
    return COMMENT.sub("", path.read_text())


def modules_of_parts() -> dict[str, str]:
    """The text of all modules of each part."""
    found: dict[str, str] = {}
    for path in sorted(ENGINE.glob("contrib/*/static/agui_*/*.js")):
        part = path.relative_to(ENGINE / "contrib").parts[0]
        found[part] = found.get(part, "") + code_of(path)
    return found


def words_in(text: str) -> set[str]:
    """The names in the tables of words of a module."""
    tables = re.findall(r"^export const (?:\w+_WORDS|STRINGS) = \{(.*?)\};?$", text, re.MULTILINE | re.DOTALL)
    return {name for table in tables for name in re.findall(r"(?:^|[{,]) *(\w+):", table, re.MULTILINE)}


def classes_in(text: str) -> set[str]:
    """The classes that modules give to elements, or look for."""
    named = re.findall(r"""\bclass: ["`]([^"`$]+)["`]|classList\.\w+\("([\w-]+)\"""", text)
    return {name for pair in named for names in pair for name in names.split()}


def styled_in(text: str) -> set[str]:
    return set(re.findall(r"\.([a-z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", text)))


def test_page_has_no_names_of_parts():
    parts = {path.name for path in (ENGINE / "contrib").iterdir() if path.is_dir()} - ORDINARY - {"observe"}
    said = {str(path.relative_to(ELEMENT)): set(re.findall(r"[a-z]+", code_of(path).lower())) for path in MODULES}
    named = {name: words & parts for name, words in said.items() if words & parts}
    assert named == {name: {"attachments"} for name in WITH_FILES}
    for path in ELEMENT.glob("*.css"):
        assert set(re.findall(r"[a-z]+", path.read_text().lower())) & parts == set()


def test_page_has_no_words_of_parts():
    """Some module of the page uses each word in the page's tables, and parts have theirs in their own."""
    code = "".join(code_of(path) for path in MODULES)
    words = {word for path in MODULES for word in words_in(code_of(path))}
    assert len(words) > 150
    assert [word for word in sorted(words) if len(re.findall(rf"\b{word}\b", code)) < 2] == []
    of_parts = {word for text in modules_of_parts().values() for word in words_in(text)}
    # Buttons of both, and the forms of a number.
    assert words & of_parts <= {"cancel", "dismiss", "one", "other"}
    assert len(of_parts) > 50


def test_page_has_no_rules_of_parts():
    """A class that only modules of parts use has no rule in the page's styles, which every project has."""
    own = set().union(*(classes_in(code_of(path)) for path in MODULES))
    of_parts = {name for text in modules_of_parts().values() for name in classes_in(text)} - own
    assert {"file", "voice", "sources", "feedback"} < of_parts
    for path in ELEMENT.glob("*.css"):
        assert styled_in(path.read_text()) & of_parts == set(), path.name


def test_page_has_no_icons_of_parts():
    """Some module of the page draws each icon in the page's table."""
    table = (ELEMENT / "dom/elements.js").read_text().split("const ICONS = {")[1].split("};")[0]
    icons = re.findall(r"^  (\w+):", table, re.MULTILINE)
    code = "".join(code_of(path) for path in MODULES)
    assert len(icons) > 10
    drawn = r"""(?:icon(?:Button)?\(|icon: |\? |: )"%s\""""
    assert [name for name in icons if not re.search(drawn % name, code)] == []


def test_page_has_no_module_for_one_part():
    """A module of the page that no other one imports, on demand or for a type, serves several parts."""
    users: dict[Path, set[str]] = {}
    for path in [*MODULES, *ENGINE.glob("contrib/*/static/agui_*/*.js")]:
        user = "page" if path in MODULES else path.relative_to(ENGINE / "contrib").parts[0]
        for address in re.findall(r"""^import .* from "(\..*)";|\bimport\("(\.[^"]+\.js)"\)""", code_of(path), re.M):
            folder = path.parent if user == "page" else ELEMENT.parent / path.parent.name
            users.setdefault((folder / "".join(address)).resolve(), set()).add(user)
    alone = {path.name: users.get(path.resolve(), {"page"}) for path in MODULES}
    assert [name for name, used in alone.items() if len(used) == 1 and used != {"page"}] == []


def test_every_module_asks_the_one_clock():
    """A module that asked another clock would have a time that tests can't turn."""
    for call in ("time.monotonic()", "timezone.now()", "timezone.localtime()", "date.today()"):
        assert ANOTHER_CLOCK.search(call)
    # The default of a column can't change without a migration, and a script has no time to turn.
    others = {"clock.py", "models.py", "script.py"}
    modules = [path for path in ENGINE.rglob("*.py") if path.name not in others and "migrations" not in path.parts]
    assert [path for path in modules if ANOTHER_CLOCK.search(path.read_text())] == []
