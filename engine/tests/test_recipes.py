"""agui/manual/recipes/: every recipe names its files and has a test that runs it, and pages stay short."""

import ast
from pathlib import Path

import pytest

from tests.recipe_pages import BLOCK, PAGES, read_page, read_recipes


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short(page):
    assert read_page(page).count("\n") <= 205


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_is_in_a_recipe_and_names_its_file(page):
    recipes = [text for name, text in read_recipes().items() if name.startswith(f"{page}#")]
    assert sum(len(BLOCK.findall(text)) for text in recipes) == read_page(page).count("```python")


def test_every_recipe_has_a_test_that_runs_it():
    pasted: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name("paste"), args=[ast.Constant(str(name))]):
                    pasted.add(name)
    assert set(read_recipes()) == pasted
