"""How much there is to read, and how dense it is: these figures may get smaller, and larger only with a reason."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME

sys.path.append(str(ROOT / "benchmarks"))
import density

PROJECT = ROOT / TEMPLATE_NAME
# Lines of all text files of a new project, tests and migrations included.
MOST_LINES = {"minimal": 37_680, "standard": 41_450, "everything": 52_320}


def test_core_is_small_and_readable():
    core = density.core(PROJECT)
    assert core.lines <= 19_375
    assert core.tokens_a_line <= 8
    assert core.comprehensions_a_thousand <= 17
    assert core.conditionals_a_thousand <= 9
    assert 0.02 <= core.comment_share <= 0.05
    assert core.long == 0


def test_no_module_is_long():
    measured = [density.core(PROJECT), *density.parts(PROJECT).values()]
    assert {path: lines for one in measured for path, lines in one.modules.items() if lines > 300} == {}


@pytest.mark.parametrize("parts", MOST_LINES)
def test_project_is_small(bake, parts: str):
    project: Path = bake(parts=parts)
    assert sum(lines for _, lines in density.text_files(project)) <= MOST_LINES[parts]
