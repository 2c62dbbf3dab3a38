"""The English of pages, docstrings and comments keeps to the rules of benchmarks/prose.py, and names what exists."""

import re
import sys
from pathlib import Path

import pytest
import snapshot
from conftest import ROOT, TEMPLATE_NAME

sys.path.append(str(ROOT / "benchmarks"))
import prose

MORE = ("must, should or will", "if, not where", "otherwise", "verb first")


def rules_of(text: str, suffix: str, folder: Path) -> list[str]:
    path = folder / f"page{suffix}"
    path.write_text(text)
    readers = {".md": prose.in_page, ".py": prose.in_python, ".js": prose.in_javascript}
    return [finding.rule for part in readers[suffix](path) for finding in prose.findings(part)]


@pytest.mark.parametrize("name", ["*.md", "*.py", "*.js", "*.mjs"])
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
        ("Whoever reads it puts a word in the place of another.", ".md", ["whoever", "instead of"]),
        ("Neither is it tried again, where there is none, or else it is to be.", ".md", [*MORE]),
        ("Of several periods it is the last one.", ".md", ["fronted object"]),
        ('"""Who answers."""\n', ".py", ["who as a subject"]),
        ("# It has readers.\n# So keep it.\n", ".py", ["pronoun first"]),
        ("# A client reads the log.\n# It is kept.\n", ".py", []),
        ("f(); // It has readers\n", ".js", ["pronoun first"]),
        ("/**\n * The log.\n * It has readers.\n */\n", ".js", []),
    ],
)
def test_rule_finds_what_it_is_about(text: str, suffix: str, rules: list[str], tmp_path: Path):
    assert rules_of(text, suffix, tmp_path) == rules


# --- What pages about the code name

FILE = r"[\w./-]*\w\.(py|[mc]?js|d\.ts|md|ini|ya?ml|conf|json|css|toml|txt|html|mk)"
PATH = re.compile(rf"{FILE}|[\w./-]+/|agui(\.\w+)+")
# Files and folders that other programs, the installer, `agentify` and a user's project make.
MADE = {".agentify/", ".cruft.json", ".site/html/", "agui/installed.json", "base_site.html"}


def paths_in(text: str) -> set[str]:
    """Find the files, folders and modules that a page names in backticks."""
    named = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    return {name for name in named if PATH.fullmatch(name)} - MADE


@pytest.mark.parametrize("page", ["docs/decisions.md", "docs/contributing.md", f"{TEMPLATE_NAME}/docs/architecture.md"])
def test_files_that_a_page_names_exist(page: str):
    there = {f"/{path}" for file in map(Path, snapshot.files()) for path in (file, *file.parents)}
    missing = []
    for name in paths_in((ROOT / page).read_text()):
        path = name.replace(".", "/") if re.fullmatch(r"agui(\.\w+)+", name) else name.rstrip("/")
        if not any(other.endswith((f"/{path}", f"/{path}.py")) for other in there):
            missing.append(name)
    assert missing == []
