"""The static files of production: fewer, shorter, named after their content, and never broken."""

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.core.checks import run_checks
from django.core.files.storage import storages

import agui
from agui import parts
from agui.contrib.bundle.join import flatten
from agui.contrib.bundle.storage import StaticFiles, minified
from tests import pages

ENGINE = Path(agui.__file__).parent
ELEMENT = ENGINE / "static/agui"
PARTS = [
    next(path.parent.glob("static/agui_*"))
    for path in ENGINE.glob("contrib/*/apps.py")
    if "page_modules = " in path.read_text()
]
SHARED = "export const a = 1;\n"
TEXT = re.compile("`[^`]*`")


def modules_of(folder: Path) -> dict[str, str]:
    modules = [path for path in folder.rglob("*.js") if path.parent.name != "languages"]
    return {path.relative_to(folder.parent).as_posix(): path.read_text() for path in modules}


SOURCES = modules_of(ELEMENT)
JOINED = flatten(SOURCES, "agui/agui-chat.js", map(modules_of, PARTS))


def test_the_elements_modules_can_all_be_joined():
    # The one file that the page names needs no other to begin.
    assert not re.findall(r"^import .*", JOINED["agui/agui-chat.js"], re.MULTILINE)
    assert not re.findall(r"^export const .*, \w+ = ", "".join(SOURCES.values()), re.MULTILINE)


@pytest.mark.skipif(sys.platform != "linux", reason="the minifier is installed on Linux")
def test_all_modules_and_styles_can_be_minified(caplog: pytest.LogCaptureFixture):
    files = {**JOINED, **{path.name: path.read_text() for path in ELEMENT.glob("*.css")}}
    for name, text in files.items():
        short = minified(name, text)
        assert "/*" not in short
        # A style in a module is a text, which stays.
        assert len(TEXT.sub("", short)) < 0.95 * len(TEXT.sub("", text)), name
    assert not caplog.messages


def test_what_cannot_be_minified_is_served_as_it_is(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    assert minified("new.js", "a b;\n") == "a b;\n"
    assert "Serving new.js unminified" in caplog.text
    monkeypatch.setitem(sys.modules, "minify", None)
    assert minified("good.js", "a ;\n") == "a ;\n"


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "./shared.js";',
        'import "./shared.js";',
        'import { a as c } from "./shared.js";',
        "import { a } from './shared.js';",
        'import { a } from "./shared.js"; // why',
        "export default class {}",
        "export { a };",
        "export let c = 1;",
        "export const { d } = {};",
        "export const a = 2;",  # as another module does
    ],
)
def test_modules_that_are_written_otherwise_are_served_one_by_one(line: str):
    first = 'import { a } from "./shared.js";\nexport const b = a;\n'
    assert flatten({"first.js": first, "shared.js": SHARED}, "first.js").keys() == {"first.js"}
    assert flatten({"first.js": first + line + "\n", "shared.js": SHARED}, "first.js") == {}


def test_small_modules_are_copied_unless_they_keep_state():
    first = 'import("./a.js");\nimport("./b.js");\nexport const first = 1;\n'
    user = 'import {{ small }} from "./small.js";\nexport const {name} = small;\n'
    modules = {"first.js": first, "a.js": user.format(name="a"), "b.js": user.format(name="b")}
    joined = flatten(modules | {"small.js": "export const small = () => 1;\n"}, "first.js")
    assert "import" not in joined["a.js"] + joined["b.js"]
    joined = flatten(modules | {"small.js": "export const small = new Map();\n"}, "first.js")
    assert joined["a.js"].startswith('import { small } from "./small.js";\n')


# --- Modules of parts


def test_modules_of_the_engines_parts_are_files_of_their_own_that_use_what_the_page_has():
    page = JOINED["agui/agui-chat.js"].splitlines()
    exported = set(re.findall(r"^export (.*)$", "".join(SOURCES.values()), re.MULTILINE)) & set(page)
    assert any(line.startswith("function h(") for line in exported)
    takes_h = re.compile(r'^const \{ .*\bh\b.* \} = globalThis\[Symbol.for\("agui"\)\];$', re.MULTILINE)
    for folder in PARTS:
        for path in folder.glob("*.js"):
            text = JOINED[f"{folder.name}/{path.name}"]
            assert not exported & set(text.splitlines()), path
            assert bool(takes_h.search(text)) == bool(re.search(r"\bh\(", text)), path
            imported = re.findall(r'^import .* from "(.*)/.*";', text, re.MULTILINE)
            assert [place for place in imported if place != "." and not place.startswith("../agui/")] == [], path


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A chat, and what the part of somebody else has in its folder."""
    modules = {"activity:map": "weather/map.js", "activity:gone": "weather/gone.js"}
    part = SimpleNamespace(name="weather", label="weather", page_modules=modules)
    monkeypatch.setattr(parts, "installed", cache(lambda: (part,)))
    return {
        "agui/agui-chat.js": 'import { a } from "./shared.js";\nexport const load = () => import("./later.js");\n'
        "// why\nexport const chat = a;\n",
        "agui/shared.js": SHARED,
        "agui/small.js": 'export const small = () => import("./later.js");\n',
        "agui/later.js": "export const later = 1;\n",
        "weather/map.js": 'import { a } from "../agui/shared.js";\nimport { small } from "../agui/small.js";\n'
        'import { line } from "./line.js";\n// why\nexport const view = () => [a, line, small()];\n',
        "weather/line.js": "export const line = 2;\nexport const width = 2;\n",
        "weather/script.js": "// A script, not a module\nvar line = 1;\n",
    }


def chat_and_part(weather: dict[str, str]) -> list[dict[str, str]]:
    return [{name: text for name, text in weather.items() if name.startswith(folder)} for folder in ("agui", "weather")]


def test_a_module_of_somebody_elses_part_is_joined_and_has_no_second_copy_of_the_pages(collected, weather):
    texts = collected(weather)
    drawn = texts["weather/map.js"]
    assert 'globalThis[Symbol.for("agui")]' in drawn
    assert "shared" not in drawn
    assert "line.js" not in drawn
    # The minifier may get wrong what our tests don't know.
    assert "// why\n" in drawn
    # A copy of a small module of the element finds its own neighbours.
    assert re.search(r'import\("\.\./agui/later\.[0-9a-f]{12}\.js"\)', drawn)
    assert texts["weather/script.js"] == weather["weather/script.js"]


def test_two_modules_that_no_other_one_imports_may_export_one_name(weather):
    chat, part = chat_and_part(weather)
    part["weather/wind.js"] = 'import { line } from "./line.js";\nexport const view = () => [line];\n'
    joined = flatten(chat, "agui/agui-chat.js", [part])
    for name in ("weather/map.js", "weather/wind.js"):
        assert "export const { view } = (() => {" in joined[name]


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "../agui/shared.js";\n',
        'import { a } from "../agui/nowhere.js";\n',
        'import { line } from "../vendor/line.js";\n',
        "export const width = 1;\n",  # as a module does that it imports
    ],
)
def test_a_part_that_is_written_otherwise_leaves_the_others_joined(line, weather, caplog):
    chat, part = chat_and_part(weather)
    part["weather/map.js"] = line + part["weather/map.js"]
    other = {"sea/map.js": 'import { a } from "../agui/shared.js";\nexport const view = () => a;\n'}
    joined = flatten(chat, "agui/agui-chat.js", [part, other])
    assert not [name for name in joined if name.startswith("weather/")]
    assert joined["agui/agui-chat.js"].startswith("export const")
    assert "globalThis" in joined["sea/map.js"]
    assert "weather/map.js has" in caplog.text


JOIN = 'import { a } from "../agui/shared.js";\nexport const join = () => [a, import("./deep.js")];\n'


def test_what_every_page_loads_of_parts_comes_in_the_pages_file(collected, weather, monkeypatch):
    places = {"composer:weather": "weather", "answer:sea": "sea", "composer:other": "weather"}
    added = []
    for place, folder in places.items():
        modules = {place: f"{folder}/join.js"}
        is_ours = place != "composer:other"
        name = f"agui.contrib.{folder}" if is_ours else "other"
        added.append(SimpleNamespace(name=name, label=name.rpartition(".")[2], page_modules=modules))
        weather |= {f"{folder}/join.js": JOIN, f"{folder}/deep.js": "export const deep = 1;\n"}
    monkeypatch.setattr(parts, "installed", lambda: added)
    page = collected(weather)["agui/agui-chat.js"]
    # Both export one name, and find their neighbours from the page's folder.
    for place in ("composer:weather", "answer:sea"):
        # The last module makes the element, which looks for them at once.
        assert 0 < page.index(f'["{place}"]=(()=>') < page.index('Symbol.for("agui")]=')
        assert re.search(rf'import\("\.\./{places[place]}/deep\.[0-9a-f]{{12}}\.js"\)', page)
    assert "composer:other" not in page


def test_a_module_that_shares_another_one_with_its_part_stays_a_file_of_its_own(weather):
    chat, _ = chat_and_part(weather)
    part = {"weather/line.js": "export const line = 2;\n"}
    part["weather/join.js"] = 'import { line } from "./line.js";\nexport const join = () => line;\n'
    at_once = {"composer:weather": "weather/join.js", "answer:weather": "weather/nowhere.js"}
    joined = flatten(chat, "agui/agui-chat.js", [part], at_once)
    assert "composer:weather" not in joined["agui/agui-chat.js"]
    assert "export const" in joined["weather/join.js"]


# --- What `collectstatic` writes


@pytest.fixture
def collected(tmp_path: Path, settings: Any) -> Callable[[dict[str, str]], dict[str, str]]:
    """Run what `collectstatic` runs over files; the new text of each."""

    def process(files: dict[str, str]) -> dict[str, str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        storage = StaticFiles(location=str(tmp_path), base_url="/static/")
        found = storage.post_process({name: (storage, name) for name in files})
        return {name: (tmp_path / new).read_text() for name, new, _ in found if not new.endswith(".gz")}

    return process


def test_scripts_of_others_are_left_as_they_are_and_named_after_their_content(collected):
    """Django would look for what is imported in a comment, or only in a bundle, and stop."""
    theirs = '/* import { a } from "./nowhere.js"; */\nimport{b}from"./bundled";\n'
    texts = collected(
        {
            "agui/agui-chat.js": "// why\nexport const b = 1;\n",
            "vendor/lib.js": theirs,
            "vendor/lib.css": 'a { background: url("dot.svg"); }\n',
            "vendor/dot.svg": "<svg/>",
        }
    )
    assert texts["vendor/lib.js"] == theirs
    assert "why" not in texts["agui/agui-chat.js"]
    assert re.search(r"\bdot\.[0-9a-f]{12}\.svg\b", texts["vendor/lib.css"])


@pytest.fixture
def unlisted(settings: Any) -> None:
    """A project whose owner has removed the part's line."""
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "agui.contrib.bundle"]


def test_without_the_line_of_the_part_files_are_only_named_after_their_content(unlisted, collected, weather):
    texts = collected(weather)
    chat, drawn = texts["agui/agui-chat.js"], texts["weather/map.js"]
    for text in (chat, drawn):
        assert "// why" in text
        assert "globalThis" not in text
    assert re.search(r'from "\./shared\.[0-9a-f]{12}\.js"', chat)
    assert re.search(r'import\("\./later\.[0-9a-f]{12}\.js"\)', chat)
    assert re.search(r'from "\.\./agui/shared\.[0-9a-f]{12}\.js"', drawn)
    assert texts["weather/script.js"] == weather["weather/script.js"]


def test_what_a_comment_imports_need_not_be_there(collected, monkeypatch):
    monkeypatch.setitem(sys.modules, "minify", None)
    chat = (
        "/** @typedef {import('../agui_absent/map.js').Map} Map */\n"
        'export class Chat {\n  /** @type {import("../agui_absent/voice.js").Voice | undefined} */\n  voice;\n'
        '  load = () => import("./later.js"); // import("./later.js")\n}\n'
        'export const host = /** @type {import("../agui/wrong.d.ts").Host} */ (document.body);\n'
        '/**\n * import { a } from "./nowhere.js";\n */\n'
    )
    text = collected({"agui/agui-chat.js": chat, "agui/later.js": SHARED})["agui/agui-chat.js"]
    assert "import('../agui_absent/map.js')" in text
    assert 'import("../agui_absent/voice.js")' in text
    assert 'import("../agui/wrong.d.ts")' in text
    assert re.search(r'=> import\("\./later\.[0-9a-f]{12}\.js"\)', text)


# --- The storage that STORAGES names


class OwnStorage(StaticFiles):
    """A storage that a project has made of the part's."""


@pytest.mark.django_db  # Django 6.1's own checks ask it
@pytest.mark.parametrize(
    ("storage", "debug", "is_told"),
    [
        (StaticFiles, False, False),
        (OwnStorage, False, False),
        (StaticFilesStorage, True, False),
        (StaticFilesStorage, False, True),
    ],
)
def test_another_storage_is_told_where_it_is_deployed(settings: Any, storage: type, debug: bool, is_told: bool):
    settings.DEBUG = debug
    backend = f"{storage.__module__}.{storage.__qualname__}"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
    found = run_checks(include_deployment_checks=True, databases=[])
    hints = [message.hint for message in found if message.id == "agui_bundle.I001"]
    cure = f'STORAGES["staticfiles"] = {{"BACKEND": "{StaticFiles.__module__}.StaticFiles"}}'
    assert [cure in hint for hint in hints] == ([True] if is_told else [])


def test_the_documentation_names_the_storage(settings: Any):
    [backend] = re.findall(r'`STORAGES\["staticfiles"\]` names the storage `(\S+)`', pages.read("deployment.md"))
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
    assert type(storages["staticfiles"]) is StaticFiles
