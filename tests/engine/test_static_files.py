"""The static files of production: fewer, shorter, named after their content, and never broken."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import agui
from agui.server.bundle import flatten
from agui.server.static_files import StaticFiles, minified

ELEMENT = Path(agui.__file__).parent / "static" / "agui"
SHARED = "export const a = 1;\n"


def sources() -> dict[str, str]:
    return {path.name: path.read_text() for path in ELEMENT.glob("*.js")}


def test_the_elements_modules_can_all_be_joined():
    joined = flatten(sources(), "agui-chat.js")
    assert joined
    # The one file that the page names needs no other to begin.
    assert not re.findall(r"^import .*", joined["agui-chat.js"], re.MULTILINE)
    assert not re.findall(r"^export const .*, \w+ = ", "".join(sources().values()), re.MULTILINE)


@pytest.mark.skipif(sys.platform != "linux", reason="the minifier is installed on Linux")
def test_all_modules_and_styles_can_be_minified(caplog: pytest.LogCaptureFixture):
    files = {**flatten(sources(), "agui-chat.js"), **{path.name: path.read_text() for path in ELEMENT.glob("*.css")}}
    for name, text in files.items():
        short = minified(name, text)
        assert "/*" not in short
        assert len(short) < 0.95 * len(text), name
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


def processed(directory: Path, files: dict[str, str]) -> dict[str, str]:
    """Run what `collectstatic` runs over these files; the new text of each."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    storage = StaticFiles(location=str(directory), base_url="/static/")
    found = storage.post_process({name: (storage, name) for name in files})
    return {name: (directory / new).read_text() for name, new, _ in found}


def test_scripts_of_others_are_left_as_they_are(tmp_path: Path, settings: Any):
    """Django would look for what is imported in a comment, or only in a bundle, and stop."""
    theirs = '/* import { a } from "./nowhere.js"; */\nimport{b}from"./bundled";\n'
    ours = 'import { a } from "./shared.js";\n// why\nexport const b = a;\n'
    texts = processed(tmp_path, {"vendor/lib.js": theirs, "agui/agui-chat.js": ours, "agui/shared.js": SHARED})
    assert texts["vendor/lib.js"] == theirs
    assert "why" not in texts["agui/agui-chat.js"]


def test_files_are_named_after_their_content_where_others_load_them(tmp_path: Path, settings: Any):
    chat = 'export const load = () => import("./later.js");\n'
    files = {"agui/agui-chat.js": chat, "agui/later.js": SHARED, "vendor/dot.svg": "<svg/>"}
    texts = processed(tmp_path, files | {"vendor/lib.css": 'a { background: url("dot.svg"); }\n'})
    assert re.search(r"/later\.[0-9a-f]{12}\.js\b", texts["agui/agui-chat.js"])
    assert re.search(r"\bdot\.[0-9a-f]{12}\.svg\b", texts["vendor/lib.css"])
