"""The English of pages, docstrings and comments keeps to the rules of benchmarks/prose.py."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import prose


def rules_of(text: str, suffix: str, folder: Path) -> list[str]:
    path = folder / f"page{suffix}"
    path.write_text(text)
    readers = {".md": prose.in_page, ".py": prose.in_python, ".js": prose.in_javascript}
    return [finding.rule for part in readers[suffix](path) for finding in prose.findings(part)]


@pytest.mark.parametrize("name", ["*.md", "*.py", "*.js"])
def test_prose_is_plain(name: str):
    found = [str(finding) for finding in prose.all_findings() if finding.path.relative_to(ROOT).match(name)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "suffix", "rules"),
    [
        ("A page for whoever reads it.", ".md", ["whoever"]),
        ("The user opens the page,\nand he reads it.", ".md", ["they, for a user"]),
        ("Of a request it reads only what is new.", ".md", ["fronted object"]),
        ("Where a key is missing, the demo model answers.", ".md", ["if, not where"]),
        ("Who hangs up stops nothing.", ".md", ["who as a subject"]),
        ("Users who sign in see their own rows. `he` is a name.", ".md", []),
        ("```\nhe\n```\n", ".md", []),
        ('"""Who answers."""\n', ".py", ["who as a subject"]),
        ("# It has readers.\n# So keep it.\n", ".py", ["pronoun first"]),
        ("# A client reads the log.\n# It is kept.\n", ".py", []),
        ("f(); // It has readers\n", ".js", ["pronoun first"]),
        ("/**\n * The log.\n * It has readers.\n */\n", ".js", []),
    ],
)
def test_rule_finds_what_it_is_about(text: str, suffix: str, rules: list[str], tmp_path: Path):
    assert rules_of(text, suffix, tmp_path) == rules
