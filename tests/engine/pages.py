"""The pages of docs/ that tests hold to the code."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


def read(name: str) -> str:
    """Read a page; a project without it skips the test."""
    page = DOCS / name
    if not page.exists():
        pytest.skip(f"docs/{name} is gone", allow_module_level=True)
    return page.read_text("utf-8")
