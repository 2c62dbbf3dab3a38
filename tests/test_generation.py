"""Every option renders a complete, clean project, and nothing of the template is left in it or lost from it."""

import ast
import difflib
import hashlib
import json
import os
import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest
import yaml
from conftest import PROVIDERS, PYTHONS, ROOT, TEMPLATE_NAME, pins
from projects import git

RENDERED = {"README.md", "pyproject.toml", ".env.example", "compose.yaml"}
GOLDEN = ROOT / "tests/golden"
RESERVED_ON_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
JUNK = re.compile(r"__pycache__|\.pyc$|\.DS_Store|sqlite3|\.venv|node_modules|_cache|\.orig$|\.rej$|~$")


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()}


def texts(project: Path):
    for name in sorted(files(project)):
        content = (project / name).read_bytes()
        if b"\0" not in content:
            yield name, content.decode("utf-8")


@pytest.fixture(params=PROVIDERS)
def project(request: pytest.FixtureRequest, rendered: dict[str, Path]) -> Path:
    return rendered[request.param]


def test_project_has_the_templates_files_and_env(project: Path, template: Path):
    own = {name for name in files(project) if not name.startswith("agui/")}
    assert own == files(template / TEMPLATE_NAME) | {".env"}


def test_source_of_the_engine_is_copied_with_its_description(project: Path, template: Path):
    engine = template / "engine"
    copied = {f"agui/{name}" for name in files(engine / "agui")} | {"agui/pyproject.toml"}
    assert {name for name in files(project) if name.startswith("agui/")} == copied
    description = (engine / "pyproject.toml").read_text().replace('["agui/distribution"]', '["distribution"]')
    assert (project / "agui/pyproject.toml").read_text() == description
    own = copied - {"agui/pyproject.toml"}
    assert [name for name in own if (engine / name).read_bytes() != (project / name).read_bytes()] == []


def test_template_has_no_links(template: Path):
    """cookiecutter would follow them, and a clone on Windows has a file with a path in it instead."""
    assert [path for path in template.rglob("*") if path.is_symlink()] == []


def test_only_four_files_are_rendered_and_wholly(project: Path, template: Path):
    source = template / TEMPLATE_NAME
    assert len(files(source)) > 30
    assert {name for name in files(source) if (source / name).read_bytes() != (project / name).read_bytes()} <= RENDERED
    marks = re.compile(r"\{\{-?\s*cookiecutter|\{%-?\s*(if|set|for) cookiecutter|\{% raw")
    assert {name for name, text in texts(source) if marks.search(text)} <= RENDERED
    for name in RENDERED:
        assert not re.search(r"\{\{|\{%", (project / name).read_text()), name


def test_a_project_knows_its_version(project: Path, template: Path):
    """The template, the engine and the installer have one version, which the changelog begins with."""
    version = json.loads((template / "cookiecutter.json").read_text())["_version"]
    assert f"made from version {version} of its template" in (project / "README.md").read_text()
    assert f'\n__version__ = "{version}"\n' in (project / "agui/__init__.py").read_text()
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == version
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version


def test_files_can_be_parsed(project: Path):
    data = tomllib.loads((project / "pyproject.toml").read_text())
    assert data["project"]["name"] == project.name
    for name, text in texts(project):
        if name.endswith(".py"):
            ast.parse(text, name, feature_version=(3, 11))
        if name.endswith((".yaml", ".yml")):
            yaml.safe_load(text)
        if name.endswith(".json"):
            json.loads(text)


def test_text_is_utf8_with_unix_lines_and_one_final_newline(project: Path):
    for name, text in texts(project):
        assert "\r" not in text, name
        assert not text.startswith("\ufeff"), f"{name} begins with a byte order mark"
        assert text == "" or re.search(r"[^\n]\n\Z", text), f"{name} does not end in one newline"


def test_only_manage_is_executable(project: Path):
    modes = {name: (project / name).stat().st_mode & 0o111 for name in files(project)}
    assert {name: mode for name, mode in modes.items() if mode} == {"manage.py": 0o111}


def test_what_a_project_makes_stays_out_of_git(bake):
    """Secrets, data and caches: of what lies in a project that is used, git sees what was generated."""
    project = bake()
    generated = files(project) - {".env"}
    for name in (
        "db.sqlite3", "db.sqlite3-wal", "media/attachments/mine.png", "staticfiles/agui/a.js", ".venv/bin/python",
        "agui/__pycache__/conf.cpython-311.pyc", "node_modules/a/b.js", ".mypy_cache/a", ".ruff_cache/a",
        ".pytest_cache/a",
    ):  # fmt: skip
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    git(project, "init", "--quiet")
    assert set(git(project, "ls-files", "--others", "--exclude-standard").splitlines()) == generated


def test_no_path_and_no_registry_is_in_the_project(project: Path, template: Path):
    here = "|".join(re.escape(str(path)) for path in (ROOT, template, project.parent))
    local = re.compile(here + r"|/root/|/home/\w|/Users/\w|/tmp/\w|C:\\Users")
    hosts = re.compile(
        r"pypi\.org|pythonhosted|npmjs\.(org|com)|index-url|find-links\W+(https?|/)|\bghcr\.io|docker\.io"
    )
    for name, text in texts(project):
        assert not local.search(text), name
        assert not hosts.search(text), f"{name} names a registry"


def test_constraints_are_pins_only(project: Path):
    lines = (project / "constraints.txt").read_text().splitlines()
    pin = re.compile(r"[a-z0-9][a-z0-9.-]*==[0-9][\w.]*(; python_version (<|>=) \"3\.\d+\")?")
    assert [line for line in lines if not pin.fullmatch(line)] == []
    assert len({frozenset(pins(project, python)) for python in PYTHONS}) == 1


def test_what_is_in_the_repository(project: Path):
    """What git would add is what a clone holds: no caches, databases or environments. contributing.md has the top."""
    names = git(ROOT, "ls-files").splitlines()
    assert [name for name in [*names, *files(project)] if JUNK.search(name)] == []
    top = {name.partition("/")[0] for name in names if not name.startswith(".")}
    table = (ROOT / "docs/contributing.md").read_text().split("\n| at the top |")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert {name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)} == top
    assert len(top) <= 14


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
