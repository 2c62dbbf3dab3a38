"""Remove the parts that were not chosen, make .env from its example, and say what comes next.

Without this hook everything is there: docs/parts.md says how to remove a part by hand. Nothing here can fail a
generation for lack of a tool.
"""

import re
import runpy
import shutil
import sys
from pathlib import Path

SLUG = "{{ cookiecutter.project_slug }}"  # pre_gen_project.py let only letters, digits and _ pass
PROVIDER = "{{ cookiecutter.model_provider }}"
PARTS = "{{ cookiecutter.parts }}"
ENGINE = "{{ cookiecutter.engine }}"

MINIMAL = {"admin"}
STANDARD = {"admin", "attachments", "dashboard", "evals", "export", "fast", "feedback", "spending"}
# What belongs to a part outside of its folder: a page of docs/, other files, and lines of pyproject.toml. Its sections
# of other pages begin with its name.
PAGES = {"client": "client", "fast": "fast"}
FILES = {"evals": ["assistant/evals"]}
# What AGENTS.md says of it.
PHRASES = {
    "evals": [", and evaluated with a model", ", `assistant/evals/`"],
    "terminal": ["- Ask the agent: `.venv/bin/python manage.py chat --message 'list_tasks' --json`.\n"],
}
REQUIREMENTS = {
    "drf_mcp": ["drf-mcp"],
    "durable": ["durable"],
    "evals": ["evals"],
    "mcp": ["mcp"],
    "observe": ["otel"],
}
# What the package of the engine installs for a part, if it is named as an extra.
EXTRAS = {"attachments", "terminal"}

NEXT_STEPS = f"""
Your project is in {SLUG}. What comes next:

    cd {SLUG}
    make run

Then open http://127.0.0.1:8000 and sign in with the password that `make run` has printed.
"""
# A section of this level ends with the next heading like that.
LEVELS = (("##", ""), ("###", "#?"))
KEY = f"The demo model answers until {PROVIDER.upper()}_API_KEY is set in {SLUG}/.env\n"


def main():
    # uv finds no versions for a project that has the name of something that it needs.
    pinned = {line.split("==")[0].replace("-", "_") for line in Path("constraints.txt").read_text().splitlines()}
    if SLUG in pinned:
        sys.exit(f"project_slug {SLUG!r} is the name of a package that the project needs: choose another.")
    if ENGINE == "package" and sys.version_info >= (3, 11):  # The package is described in TOML.
        pack_engine()
    if PARTS != "everything":
        chosen = STANDARD if PARTS == "standard" else MINIMAL
        for part in sorted(installed() - chosen):
            remove(part)
    if not Path(".env").exists():
        shutil.copyfile(".env.example", ".env")
    print(NEXT_STEPS)
    if PROVIDER != "demo":
        print(KEY)


def pack_engine():
    """Replace the engine's source by its package."""
    Path("vendor").mkdir(exist_ok=True)
    runpy.run_path("agui/distribution/pack.py")["build_wheel"]("vendor")
    shutil.rmtree("agui")
    change("pyproject.toml", r"\[tool\.uv\.sources\]\nagui-django = .*\n\n")
    change("pyproject.toml", "package = false\n", r'\g<0>find-links = ["vendor"] # the engine\n')


def installed():
    """Return the parts that the settings have."""
    return set(re.findall(r'"agui\.contrib\.(\w+)"', Path("config/settings.py").read_text("utf-8")))


def remove(part):
    """Remove a part, and what belongs to it elsewhere."""
    shutil.rmtree(f"agui/contrib/{part}", ignore_errors=True)
    if part in EXTRAS:
        change("pyproject.toml", rf"(agui-django\[.*),{part}", r"\1")
    change("config/settings.py", rf'    "agui\.contrib\.{part}",\n')
    change("docs/settings.md", rf"\| `{part.upper()}` \| section \|.*\n")
    for name in FILES.get(part, ()):
        shutil.rmtree(name, ignore_errors=True)
    for name in REQUIREMENTS.get(part, ()):
        change("pyproject.toml", rf'(?m)^( *"{name}[^\w-].*|{name} = .*)\n')
    for phrase in PHRASES.get(part, ()):
        change("AGENTS.md", re.escape(phrase))
    for file in (".env.example", "compose.yaml"):
        change(file, rf"(?:^|(?<=\n\n))(?:.+\n)*.*\(part {part}: .*\n(?:.+\n)*\n?")
    if part in PAGES:
        Path(f"docs/{PAGES[part]}.md").unlink(missing_ok=True)
        unlink(rf"{PAGES[part]}\.md(?:#[\w-]*)?")
    for page in Path("docs").glob("*.md"):
        remove_sections(page, part)


def remove_sections(page, part):
    """Remove the sections of a page that begin with the name of the part, and the links to their headings."""
    text = page.read_bytes().decode()
    section = "|".join(rf"\n{level} [^\n]*\n\n\*Part `{part}`\.\*\n.*?(?=\n##{end} |\Z)" for level, end in LEVELS)
    titles = re.findall(r"(?m)^##+ (.*)", "".join(re.findall(rf"(?s){section}", text)))
    change(page, rf"(?s){section}")
    for title in titles:
        anchor = re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))
        entry = rf" ·\s\[[^\]]*\]\(#{anchor}\)"  # The table of contents has one for each section.
        change(page, entry)
        change(page, rf"\[([^\]]*)\]\(#{anchor}\)", r"\1")
        unlink(rf"{page.stem}\.md#{anchor}")


def unlink(target):
    for file in [Path("README.md"), Path("AGENTS.md"), *Path("docs").glob("*.md")]:
        change(file, rf"\[([^\]]*)\]\((?:docs/)?{target}\)", r"\1")


def change(file, pattern, replacement=""):
    # With the line ends that the template has, on every system.
    path = Path(file)
    text = path.read_bytes().decode() if path.exists() else ""
    changed = re.sub(pattern, replacement, text)
    if changed != text:
        path.write_bytes(changed.encode())


main()
