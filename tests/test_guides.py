"""The guides of the generated project: their links lead somewhere, and what they name exist."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
import snapshot
from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME
from projects import execute
from servers import copy_migrated

PROJECT = ROOT / TEMPLATE_NAME
REPOSITORY = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "engine/README.md", *(ROOT / "docs").rglob("*.md")]
)
PAGES = sorted([PROJECT / "README.md", PROJECT / "AGENTS.md", *MANUAL.rglob("*.md")])


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *REPOSITORY], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    # What a project's README links to in the template's repository.
    own = [
        path for _, path in re.findall(r"https://github\.com/\{\{ source\[3:\] \}\}/(tree|blob)/main/([^)\s]*)", prose)
    ]
    assert all((ROOT / path).exists() for path in own), own
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", prose):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


def test_the_readme_of_the_engine_shows_a_project(tmp_path: Path):
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", (ENGINE.parent / "README.md").read_text(), re.M | re.S)
    django = "from django.conf.global_settings import *\nSECRET_KEY, ROOT_URLCONF = 'secret', 'config.urls'\n"
    django += "INSTALLED_APPS = ['django.contrib.auth', 'django.contrib.contenttypes']\n"
    for name, code in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(django + code if name == "config/settings.py" else code)
    command = [sys.executable, "-m", "django", "check", "--settings=config.settings"]
    execute(tmp_path, *command, PYTHONPATH=str(tmp_path))
    (tmp_path / "assistant/models.py").unlink()
    execute(tmp_path, *command, status=1, PYTHONPATH=str(tmp_path))


def test_the_contents_lead_to_every_page():
    linked = set(re.findall(r"\]\((?:\./)?([\w./-]+)\)", (MANUAL / "contents.md").read_text()))
    pages = {path.name for path in MANUAL.glob("*.md")} - {"contents.md"}
    assert linked == pages | {"openapi.yaml", "recipes/README.md"}


def test_every_page_is_listed_with_its_path():
    command = [sys.executable, "-m", "agui.manual"]
    there = {}
    for line in execute(ENGINE.parent, *command).stdout.splitlines():
        title, path = re.split(r" {2,}", line)
        there[Path(path)] = title
    assert set(there) == {*MANUAL.rglob("*.md")}
    assert there[MANUAL / "tools.md"] == "Give the agent tools"
    printed = execute(ENGINE.parent, *command, "recipes/observe").stdout
    assert printed == (MANUAL / "recipes/observe.md").read_text() + "\n"
    said = execute(ENGINE.parent, *command, "tolls", status=1).stderr
    assert "There is no page 'tolls', only agent, " in said


FILE = r"[\w./-]*\w\.(py|[mc]?js|d\.ts|md|ini|ya?ml|conf|json|css|toml|txt|html|mk)"
PATH = re.compile(rf"{FILE}|[\w./-]+/|agui(\.[a-z]\w*)+")
# Files and folders that other programs, the installer, `agentify` and a user's project make.
MADE = {
    ".agentify/", ".agui.json", ".cruft.json", ".site/html/", ".test-cache/durations/", "base_site.html", "media/",
    "vendor/",
}  # fmt: skip
NAMING = [ROOT / "docs/decisions.md", ROOT / "docs/contributing.md", PROJECT / "AGENTS.md", MANUAL / "architecture.md"]


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_files_and_modules_in_backticks_exist(page: Path):
    there = {f"/{path}" for file in map(Path, snapshot.files()) for path in (file, *file.parents)}
    text = page.read_text()
    named = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    named = {name for name in named if PATH.fullmatch(name)} | set(re.findall(r"\btests/test_\w+\.py\b", text))
    missing = []
    for name in named - MADE:
        path = name.replace(".", "/") if re.fullmatch(r"agui(\.[a-z]\w*)+", name) else name.rstrip("/")
        if not any(other.endswith((f"/{path}", f"/{path}.py")) for other in there):
            missing.append(name)
    assert missing == []


# A command in a block or in backticks.
MAKE = re.compile(r"^make ([a-z]+)(.*)", re.M)


def targets(makefile: Path) -> set[str]:
    return set(re.findall(r"^([a-z]+):", makefile.read_text(), re.M))


def test_commands_that_pages_and_messages_name_work_in_every_project():
    """Extras that only some answers bring stand in no page."""
    declared = re.sub(r"\{%- if .*?endif %\}", "", (PROJECT / "pyproject.toml").read_text(), flags=re.S)
    optional = declared.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    there = {"EXTRAS": set(re.findall(r"^([\w-]+) = \[", optional, re.M))}
    engine = tomllib.loads((ENGINE.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    parts = {path.parent.name for path in (ENGINE / "contrib").glob("*/apps.py")}
    there["PARTS"] = {"minimal", "standard", "everything"} | parts
    files = [ROOT / name for name in snapshot.files()]
    sources = [path for path in files if PROJECT in path.parents or (ENGINE in path.parents and path.suffix == ".py")]
    wrong = []
    for page in {*PAGES, *REPOSITORY, *sources} - {ROOT / "CHANGELOG.md"}:
        text = re.sub("<!--.*?-->", "", page.read_text(errors="replace"))
        known = targets(PROJECT / "Makefile") | (targets(ROOT / "Makefile") if page in REPOSITORY else set())
        blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S) if page.suffix == ".md" else []
        blocks += re.findall(r"`([^`\n]+)`", text)
        wrong += [(page.name, found[0]) for found in MAKE.findall("\n".join(blocks)) if found[0] not in known]
        for kind, names in re.findall(r"make \w+(?: [A-Z]+=\S+)* (EXTRAS|PARTS)=(\"[\w, -]+|[\w,-]*\w)", text):
            wrong += [(page.name, name) for name in re.findall(r"[\w-]+", names) if name not in there[kind]]
        for names in re.findall(r"agui-django\[([\w,]+)\]", text):
            wrong += [(page.name, name) for name in names.split(",") if name not in engine]
        wrong += [(page.name, name) for name in re.findall(r"\bagui\.contrib\.([a-z]\w*)", text) if name not in parts]
    assert wrong == []


def test_a_project_names_no_file_of_the_engines_source():
    """In most projects the engine is a package: `make manual` says where its pages are."""
    own = [ROOT / name for name in snapshot.files() if name.startswith(TEMPLATE_NAME)]
    named = {
        (path.name, found)
        for path in own
        for found in re.findall(r"[\w/]*\bagui/(?:manual|\w+\.py)", path.read_text(errors="replace"))
    }
    assert named == {("README.md", "/blob/main/engine/agui/manual")}


def test_every_variable_of_the_environment_is_there():
    page = (MANUAL / "settings.md").read_text().split("\n## Environment\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = [name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)]
    read = re.findall(r"\benv\.\w+\(\"([A-Z_]+)\"", (PROJECT / "config/settings.py").read_text())
    example = re.findall(r"^(?:\{\{.*?\}\})?(?:# )?([A-Z_]+)=", (PROJECT / ".env.example").read_text(), re.M)
    assert sorted(documented) == sorted({*read, *example})


@pytest.mark.servers
def test_the_command_for_coding_assistants_answers(bake_furnished):
    project = bake_furnished(project_slug="asked")
    [command] = re.findall(r"`(\.venv/bin/python manage\.py chat .*?)`", (project / "AGENTS.md").read_text())
    copy_migrated(project)
    said = execute(project, "sh", "-c", command).stdout
    assert '"RUN_FINISHED"' in said.splitlines()[-1].replace(" ", "")
