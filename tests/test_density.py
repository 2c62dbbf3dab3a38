"""How much there is to read at most, and how dense it may be."""

import sys

from conftest import ENGINE, ROOT, element_modules

sys.path.append(str(ROOT / "benchmarks"))
import density

ELEMENT = element_modules()


def test_core_is_small_and_readable():
    core = density.core(ENGINE)
    assert core.lines <= 20_000
    assert core.tokens_a_line <= 8
    assert core.comprehensions_a_thousand <= 17
    assert core.conditionals_a_thousand <= 9
    assert 0.02 <= core.comment_share <= 0.05
    assert core.long == 0


def test_no_module_is_long():
    measured = [density.core(ENGINE), *density.parts(ENGINE).values()]
    assert {path: lines for one in measured for path, lines in one.modules.items() if lines > 300} == {}


def test_no_module_of_the_element_is_long():
    lengths = {str(path.relative_to(ENGINE)): len(path.read_text().splitlines()) for path in ELEMENT}
    assert lengths.pop("static/agui/agui-chat.js") <= 400  # The element has all methods that a page may call.
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}


def test_lines_of_the_element_are_not_wide():
    wide = {}
    for path in ELEMENT:
        lines = [line for line in path.read_text().splitlines() if len(line) > 100]
        if lines:
            wide[path.name] = lines
    assert wide == {}
