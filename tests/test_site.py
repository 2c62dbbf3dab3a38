"""The manual as a site."""

import json
import re
import subprocess

from conftest import ROOT
from servers import project_environment

SITE = ROOT / ".site/html"


def test_the_site_has_every_page_and_a_search_and_needs_no_other_host():
    """mkdocs fails for a link or an anchor that leads nowhere."""
    command = ["make", "--old-file=.venv/.dev", "docs"]
    done = subprocess.run(command, cwd=ROOT, env=project_environment(), capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted((ROOT / ".site/pages").rglob("*.md"))
    assert len(pages) > 35
    found = {
        entry["location"].partition("#")[0]
        for entry in json.loads((SITE / "search/search_index.json").read_text())["docs"]
    }
    for page in pages:
        name = str(page.relative_to(ROOT / ".site/pages").with_suffix(""))
        assert re.sub(r"(^|/)(index|README)$", r"\1", name).rstrip("/") in {one.rstrip("/") for one in found}
    for page in SITE.rglob("*.html"):
        assert not re.search(r'<(?:script|link|img)[^>]* (?:src|href)="?https?:(?!//127)', page.read_text()), page
