"""What a project consists of: which kinds of files lie where, and which lines cookiecutter changes in them."""

import difflib
import hashlib
import os
import re
from pathlib import Path, PurePosixPath

import pytest
from conftest import PROVIDERS, ROOT, TEMPLATE_NAME
from test_generation import RENDERED, files, project

__all__ = ["project"]

GOLDEN = ROOT / "tests/golden"

# A file that fits nowhere here is a decision, or a mistake.
PYTHON = r"[a-z0-9_]+\.py"
PLACES = {
    ".": r"\.dockerignore|\.env|\.env\.example|\.gitignore|\.pre-commit-config\.yaml|AGENTS\.md|Dockerfile|Makefile"
    r"|README\.md|compose\.yaml|conftest\.py|constraints\.txt|manage\.py|nginx\.conf|pyproject\.toml|requirements\.py",
    r"\.agents/skills/change-the-agent": r"SKILL\.md",
    ".github/workflows": r"ci\.yml",
    "agui/manual": r"__(init|main)__\.py|[a-z-]+\.md|openapi\.yaml",
    "agui/manual/recipes": r"([a-z-]+|README)\.md",
    "agui/manual/pictures": r"[a-z-]+\.png",
    "agui": rf"package\.json|pyproject\.toml|py\.typed|{PYTHON}",
    "agui/(agents(/demo)?|blocking|distribution|events|http|protocol|runlog|runs|server|stores)": PYTHON,
    "agui/(testing|tools|turns)": PYTHON,
    "agui/contrib(/[a-z_]+(/management(/commands)?)?)?": PYTHON,
    "agui/contrib/mcp/accounts": PYTHON,
    "agui/contrib/[a-z_]+/templates/(admin|agui)(/[a-z_]+)*": r"[a-z_]+\.html",
    "agui(/contrib/[a-z_]+)?/templatetags": PYTHON,
    "agui/management(/commands)?": PYTHON,
    "agui/static/agui(/[a-z]+(/languages)?)?": r"[a-z-]+\.(js|css|svg)|(types|agui-chat)\.d\.ts",
    "agui/templates/agui": r"[a-z_]+\.html",
    "agui/contrib/[a-z_]+/templates/[a-z_]+(/[a-z_]+){0,2}": r"[a-z_]+\.html",
    "agui/contrib/[a-z_]+/static/[a-z_]+": r"[a-z-]+\.(js|css|svg)",
    # They stand inside the document of a frame, and have no address of their own.
    "agui/contrib/views/app": r"app\.(js|css)|relay\.js",
    "assistant": PYTHON,
    "assistant/evals": r"__init__\.py|tasks\.yaml",
    "assistant/static/assistant": r"chat\.js|page\.css|icon\.svg",
    "assistant/templates/assistant": r"[a-z]+\.html",
    "config": PYTHON,
    "users": PYTHON,
    "users/templates/registration": r"(login|locked_out)\.html",
    "agui/management/agent_template(/[a-z]+(/app_name)?)?": r"[a-z_]+\.(py-tpl|yaml|css|html|svg)",
    "agui/locale/(ar|de|es|fr|ja)/LC_MESSAGES": r"django\.(po|mo)",
    "(agui(/contrib/[a-z_]+)?|assistant|users)/migrations": r"__init__\.py|\d{4}_[a-z0-9_]+\.py",
    "(assistant|users)/tests": PYTHON,
}
RESERVED_ON_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def fits(name: str) -> bool:
    path = PurePosixPath(name)
    return any(
        re.fullmatch(place, str(path.parent)) and re.fullmatch(kind, path.name) for place, kind in PLACES.items()
    )


def test_every_file_is_of_a_kind_that_belongs_there(project: Path):
    assert [name for name in sorted(files(project)) if not fits(name)] == []


def test_every_file_is_text(project: Path):
    """Anything else would be copied with whatever it holds: the manual's pictures are made by tests.

    test_translations.py compares the words of the pages, as Django reads them, with their source.
    """
    others = {name: (project / name).read_bytes() for name in files(project) if not name.endswith(".mo")}
    others = {name: data for name, data in others.items() if b"\0" in data}
    assert {str(PurePosixPath(name).parent) for name in others} == {"agui/manual/pictures"}
    assert all(data.startswith(b"\x89PNG\r\n\x1a\n") for data in others.values())


def test_file_names_are_good_on_windows(template: Path):
    names = files(template)
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        parts = PurePosixPath(name).parts
        assert not re.search(r'[<>:"|?*\\]', name), name
        assert not any(RESERVED_ON_WINDOWS.match(part) or part.endswith((".", " ")) for part in parts), name
    # What is left of the 260 characters of a path is for where the project lies.
    for directory in (template / TEMPLATE_NAME, template / "engine"):
        assert max(map(len, files(directory))) < 100


@pytest.mark.parametrize("provider", PROVIDERS)
def test_rendering_changes_these_lines(rendered: dict[str, Path], template: Path, provider: str):
    """UPDATE_GOLDEN=1 keeps the new ones: a reviewer then sees what an edit does to each project."""
    changes = []
    for name in sorted(RENDERED):
        before, after = (
            (directory / name).read_text().splitlines() for directory in (template / TEMPLATE_NAME, rendered[provider])
        )
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        changes += [name, *("    " + line for line in lines if not line.startswith(("---", "+++", "@@"))), ""]
    text = "\n".join(changes)
    golden = GOLDEN / f"{provider}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


def test_migrations_stay_as_they_are(template: Path):
    """A database may have had them: what comes later is a migration of its own. UPDATE_GOLDEN=1 adds new ones only."""
    now = {}
    for directory in (template / TEMPLATE_NAME, template / "engine"):
        for path in directory.rglob("migrations/[0-9]*.py"):
            now[str(path.relative_to(directory))] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    golden = GOLDEN / "migrations.txt"
    kept = dict(line.split() for line in golden.read_text().splitlines())
    if os.environ.get("UPDATE_GOLDEN"):
        kept = now | kept
        golden.write_text("".join(f"{name} {digest}\n" for name, digest in sorted(kept.items())))
    assert now == kept
