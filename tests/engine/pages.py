"""The pages of docs/ that tests hold to the code."""

import pytest
from django.conf import settings

DOCS = settings.BASE_DIR / "docs"


def read(name: str) -> str:
    """Read a page; a project without it skips the test."""
    page = DOCS / name
    if not page.exists():
        pytest.skip(f"docs/{name} is gone", allow_module_level=True)
    return page.read_text("utf-8")
