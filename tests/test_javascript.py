"""The element's modules, by Node's test runner, in happy-dom and by public suites; the types of all, by TypeScript."""

import json
import re
import shutil
import subprocess
from html.entities import html5
from pathlib import Path

import pytest
from conftest import ENGINE, ROOT, element_modules, npm_install, page_folders
from projects import execute
from servers import manage

SWEEPS = ("growth.test.mjs", "markdown-sweep.test.mjs")
CHANGES_GLOBALS = re.compile(r"globalThis\.|\./page\.mjs")


def run_element_tests(directory: Path, package: Path = ENGINE, sweep: int = 1) -> None:
    """As `make element` does: the tests import the modules of the package from beside them.

    `sweep` is the length of the units that are repeated to see how the time grows; 0 leaves those tests out.
    """
    packages = npm_install(ROOT / "tests/element/package.json")
    shutil.copytree(ROOT / "tests/element", directory)
    # Copies: Node follows links, and beside a part's own folder there is no `../agui/`.
    for folder in page_folders(package):
        shutil.copytree(folder, directory / folder.name)
    (directory / "node_modules").symlink_to(packages)
    files = [path for path in sorted(directory.glob("*.test.mjs")) if sweep or path.name not in SWEEPS]
    # Node starts a process for each file that it is given. What changes no globals can share one.
    alone = [path for path in files if CHANGES_GLOBALS.search(path.read_text())]
    together = directory / "together.mjs"
    together.write_text("".join(f'import "./{path.name}";\n' for path in files if path not in alone))
    # The reporter that names the tests that failed at the end of its output.
    command = ["node", "--test", "--test-reporter=spec", together, *alone]
    assert " tests 0\n" not in execute(ROOT, *command, AGUI_SWEEP=str(sweep)).stdout


def test_modules_without_a_dom(tmp_path: Path):
    run_element_tests(tmp_path / "element", sweep=0)


@pytest.mark.nightly
@pytest.mark.alone
def test_modules_without_a_dom_over_a_wider_sweep(tmp_path: Path):
    """Read all pairs of Markdown's characters, and see how the time grows with the size of a text."""
    run_element_tests(tmp_path / "element", sweep=2)


# Types in the element's comments that say nothing: these become fewer.
MOST_ANY = 30
COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)
TYPE = re.compile(r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")


def test_types_hold():
    modules = npm_install(ROOT / "tests/types/package.json")
    execute(ROOT, modules / ".bin/tsc", "--project", ROOT / "tests/types", "--pretty", "false")


def test_types_are_within_reach_of_a_project_with_the_package(bake_furnished):
    project = bake_furnished(engine="package")
    assert not (project / "agui").exists()
    (project / "jsconfig.json").write_text(manage(project, "jsconfig"))
    modules = npm_install(ROOT / "tests/types/package.json")
    tsc = (modules / ".bin/tsc", "--project", "jsconfig.json", "--pretty", "false")
    execute(project, *tsc)
    with (project / "assistant/static/assistant/chat.js").open("a") as script:
        script.write("chat.sendMesage();\n")
    said = subprocess.run([*tsc], cwd=project, capture_output=True, text=True).stdout
    assert "Property 'sendMesage' does not exist on type 'AguiChatElement'. Did you mean 'sendMessage'?" in said


def test_types_say_something():
    types = "".join("".join(TYPE.findall("".join(COMMENT.findall(path.read_text())))) for path in element_modules())
    assert len(re.findall(r"\bany\b", types)) <= MOST_ANY


@pytest.mark.nightly
def test_characters_have_the_names_that_html_gives_them():
    if not shutil.which("node"):
        pytest.skip("node is not on the PATH")
    script = """
        import { CHARACTERS } from "./markdown/entities.js";
        import { read } from "./markdown/nodes.js";
        const isKnown = (name) => !read(`&${name};`, false, new Map(), { copy: "" }).lacks;
        const always = JSON.parse(process.argv[1]).filter(isKnown);
        console.log(JSON.stringify([Object.fromEntries(CHARACTERS), always]));
    """
    names = {name.removesuffix(";"): text for name, text in html5.items() if name.endswith(";")}
    command = ["node", "--input-type=module", "--eval", script, "--", json.dumps(list(names))]
    loaded, always = json.loads(execute(ENGINE / "static/agui", *command).stdout)
    assert {**loaded, **{name: names[name] for name in always}} == names
    assert len(always) < 10
