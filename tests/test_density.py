"""How much there is to read, and how dense it is: these figures may get smaller, and larger only with a reason."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME

sys.path.append(str(ROOT / "benchmarks"))
import density

PROJECT = ROOT / TEMPLATE_NAME
ELEMENT = PROJECT / "agui/static/agui"
# Lines of all text files of a new project, tests and migrations included.
# The element's core is in lines of 100 columns, which are more.
MOST_LINES = {"minimal": 47_000, "standard": 51_000, "everything": 63_000}


def test_core_is_small_and_readable():
    core = density.core(PROJECT)
    assert core.lines <= 20_000
    assert core.tokens_a_line <= 8
    assert core.comprehensions_a_thousand <= 17
    assert core.conditionals_a_thousand <= 9
    assert 0.02 <= core.comment_share <= 0.05
    assert core.long == 0


def test_no_module_is_long():
    measured = [density.core(PROJECT), *density.parts(PROJECT).values()]
    assert {path: lines for one in measured for path, lines in one.modules.items() if lines > 300} == {}


# Modules of the element that are longer than 300 lines: these become fewer.
LONG_MODULES = {
    "agui-chat.js": 350,
}


def test_no_module_of_the_element_is_long():
    lengths = {path.name: len(path.read_text().splitlines()) for path in ELEMENT.glob("*.js")}
    long = {name: lines for name, lines in lengths.items() if lines > LONG_MODULES.get(name, 300)}
    assert long == {}


def test_lines_of_the_element_are_not_wide():
    wide = {}
    for path in ELEMENT.rglob("*.js"):
        lines = [line for line in path.read_text().splitlines() if len(line) > 100]
        if lines:
            wide[path.name] = lines
    assert wide == {}


@pytest.mark.parametrize("parts", MOST_LINES)
def test_project_is_small(bake, parts: str):
    project: Path = bake(parts=parts)
    assert sum(lines for _, lines in density.text_files(project)) <= MOST_LINES[parts]
