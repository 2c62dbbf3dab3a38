"""Make .env from its example, and say what comes next. Nothing here can fail a generation for lack of a tool."""

import shutil
import sys
from pathlib import Path

SLUG = "{{ cookiecutter.project_slug }}"  # pre_gen_project.py let only letters, digits and _ pass
PROVIDER = "{{ cookiecutter.model_provider }}"

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
    if not Path(".env").exists():
        shutil.copyfile(".env.example", ".env")
    print(NEXT_STEPS)
    if PROVIDER != "demo":
        print(KEY)


main()
