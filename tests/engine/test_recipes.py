"""docs/recipes/: every page is in the table, is short, and has a test that runs its code."""

import ast
import re
from pathlib import Path

import pytest

from engine.recipes import BLOCK, DIRECTORY, read_page

PAGES = sorted(path.stem for path in DIRECTORY.glob("*.md") if path.stem != "README")
INDEX = read_page("README")


def test_the_table_has_every_page():
    listed = re.findall(r"\]\(([\w-]+)\.md\)", INDEX)
    assert set(PAGES) <= set(listed)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short_and_says_what_the_user_sees(page):
    text = read_page(page)
    assert text.count("\n") <= 65
    assert re.search(r"^## What (the user|you) sees?$", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_names_its_file(page):
    assert len(BLOCK.findall(read_page(page))) == read_page(page).count("```python")


def test_every_page_has_a_test_that_runs_it():
    written: set[str] = set()
    for path in Path(__file__).parent.glob("test_recipes_*.py"):
        written |= {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.AsyncFunctionDef)}
    assert {f"test_{page.replace('-', '_')}" for page in PAGES} <= written
