"""How much there is to read at most, and how dense it may be."""

import sys

from conftest import ENGINE, ROOT, element_modules

sys.path.append(str(ROOT / "benchmarks"))
import density


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


def test_modules_of_the_element_are_neither_long_nor_wide():
    for path in element_modules():
        lines = path.read_text().splitlines()
        # The element itself has all methods that a page may call.
        assert len(lines) <= (400 if path.name == "agui-chat.js" else 300), path
        assert max(map(len, lines)) <= 100, path
