"""The pages of agui/manual/recipes/: each section with code is a recipe, which is pasted into a project on its own.

So are those of own-code.md.
"""

import re
from functools import cache
from pathlib import Path

import agui

MANUAL = Path(agui.__file__).parent / "manual"
DIRECTORY = MANUAL / "recipes"
PAGES = sorted(path.stem for path in DIRECTORY.glob("*.md") if path.stem != "README")
IN_MANUAL = ["own-code"]
BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def read_page(name: str) -> str:
    return ((MANUAL if name in IN_MANUAL else DIRECTORY) / f"{name}.md").read_text()


@cache
def read_recipes() -> dict[str, str]:
    """Read the recipes of all pages, by `page#anchor`."""
    recipes = {}
    for page in PAGES + IN_MANUAL:
        for title, text in SECTION.findall(read_page(page)):
            anchor = re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))
            if BLOCK.search(text):
                recipes[f"{page}#{anchor}"] = text
    return recipes
