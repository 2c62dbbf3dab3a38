"""Bring the engine, take out the lines of parts that were not chosen, make .env, and say what comes next.

Nothing here can fail a generation for lack of a tool.
"""

import os
import re
import runpy
import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

SLUG = "{{ cookiecutter.project_slug }}"  # pre_gen_project.py let only letters, digits and _ pass
PROVIDER = "{{ cookiecutter.model_provider }}"
PARTS = "{{ cookiecutter.parts }}"
ENGINE = "{{ cookiecutter.engine }}"
VERSION = "{{ cookiecutter._version }}"  # A replay of answers to another version of the template has that one's.
# A bytes literal: no quote in it can end the string. None: a replay of answers to an older template.
TEMPLATE = {{template_directory() if template_directory is defined else None}}

MINIMAL = {"admin", "bundle", "charts", "demo", "pacing", "redis"}
STANDARD = MINIMAL | {
    "attachments", "dashboard", "documents", "evals", "export", "feedback", "formulas", "queue", "spending", "titles",
}  # fmt: skip

NEXT_STEPS = f"""
Your project is in {SLUG}. What comes next:

    cd {SLUG}
    make run

Then open http://127.0.0.1:8000 and sign in with the password that `make run` has printed.
"""
KEY = f"The demo model answers until {PROVIDER.upper()}_API_KEY is set in {SLUG}/.env\n"


def main():
    if TEMPLATE is None:
        sys.exit("cookiecutter 2.3 or newer is needed to replay these answers: upgrade it, or answer the questions.")
    # uv finds no versions for a project that has the name of something that it needs.
    pinned = {line.split("==")[0].replace("-", "_") for line in Path("constraints.txt").read_text().splitlines()}
    if SLUG in pinned:
        sys.exit(f"project_slug {SLUG!r} is the name of a package that the project needs: choose another.")
    bring_engine()
    if PARTS != "everything":
        choose(STANDARD if PARTS == "standard" else MINIMAL)
    if not Path(".env").exists():
        shutil.copyfile(".env.example", ".env")
    print(NEXT_STEPS)
    if PROVIDER != "demo":
        print(KEY)


def bring_engine():
    """Pack the engine into vendor/, or unpack its source into agui/, and require its version."""
    pack = Path(os.fsdecode(TEMPLATE), "engine/agui/distribution/pack.py")
    with TemporaryDirectory() as directory:
        wheel = Path(directory, runpy.run_path(str(pack))["build_wheel"](directory))
        if ENGINE == "package":
            Path("vendor").mkdir(exist_ok=True)
            shutil.copyfile(wheel, Path("vendor", wheel.name))
        else:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(members=[name for name in archive.namelist() if name.startswith("agui/")])
    version = wheel.name.split("-")[1]
    replace("pyproject.toml", f"=={VERSION}", f"=={version}")
    replace("README.md", f"from version {VERSION} of", f"from version {version} of")


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
