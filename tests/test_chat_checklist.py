"""The list of what a chat has: each item is held by a test that exists, or says why it is not there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
LIST = TESTS.parent / "docs/chat-checklist.md"
MISSING = "Not there: "


def read_items() -> list[tuple[str, str]]:
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", LIST.read_text(), re.MULTILINE)
    return [row for row in rows if row[1] != "test"]


def test_each_item_has_a_test_or_a_reason():
    tests = {
        name for path in TESTS.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    for item, held_by in read_items():
        assert held_by.startswith(MISSING) or held_by.strip("`") in tests, item


def test_most_items_are_there():
    items = read_items()
    assert len(items) >= 65
    assert sum(not held_by.startswith(MISSING) for _, held_by in items) >= 55
