"""Pack the engine, take out the lines of parts that were not chosen, make .env, and say what comes next.

Without this hook everything is there, and the engine is source. Nothing here can fail a generation for lack of a tool.
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

MINIMAL = {"admin", "bundle", "charts", "demo", "pacing", "redis"}
STANDARD = MINIMAL | {
    "attachments", "dashboard", "documents", "evals", "export", "fast", "feedback", "formulas", "queue", "spending",
    "titles",
}  # fmt: skip

NEXT_STEPS = f"""
Your project is in {SLUG}. What comes next:

    cd {SLUG}
    make run

Then open http://127.0.0.1:8000 and sign in with the password that `make run` has printed.
"""
KEY = f"The demo model answers until {PROVIDER.upper()}_API_KEY is set in {SLUG}/.env\n"


def main():
    # uv finds no versions for a project that has the name of something that it needs.
    pinned = {line.split("==")[0].replace("-", "_") for line in Path("constraints.txt").read_text().splitlines()}
    if SLUG in pinned:
        sys.exit(f"project_slug {SLUG!r} is the name of a package that the project needs: choose another.")
    if ENGINE == "package" and sys.version_info >= (3, 11):  # The package is described in TOML.
        pack_engine()
    if PARTS != "everything":
        choose(STANDARD if PARTS == "standard" else MINIMAL)
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
    replace("pyproject.toml", '[tool.uv.sources]\nagui-django = { path = "agui" } # the engine\n\n', "")
    replace("pyproject.toml", "package = false\n", 'package = false\nfind-links = ["vendor"] # the engine\n')


def choose(parts):
    """Leave out the lines of all other parts, and what only the part `evals` uses."""
    chosen = {f'"agui.contrib.{part}",' for part in parts}
    for line in Path("config/settings.py").read_text("utf-8").splitlines():
        if re.fullmatch(r'"agui\.contrib\.\w+",', line.strip()) and line.strip() not in chosen:
            replace("config/settings.py", line + "\n", "")
    if "evals" not in parts:
        shutil.rmtree("assistant/evals")


def replace(name, before, after):
    path = Path(name)
    path.write_bytes(path.read_bytes().replace(before.encode(), after.encode()))  # Its line ends stay.


main()
