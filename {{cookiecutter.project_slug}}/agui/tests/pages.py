"""The pages of docs/ that tests hold to the code."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


def read(name: str) -> str:
    """A page's text. Who has deleted it from the project misses nothing of its tests."""
    page = DOCS / name
    if not page.exists():
        pytest.skip(f"docs/{name} is gone", allow_module_level=True)
    return page.read_text("utf-8")
