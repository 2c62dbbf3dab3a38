"""agui/manual/recipes/: their code fits the project. Tests of the engine run each recipe."""

import re
import shutil
from pathlib import Path

import pytest
from projects import execute
from tests.recipe_pages import BLOCK, read_recipes


@pytest.fixture(scope="session")
def pasted(rendered: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a copy of assistant/ for each recipe, its code in it: `assistant_<page>_<section>`."""
    project = tmp_path_factory.mktemp("pasted") / "project"
    shutil.copytree(rendered["demo"], project)
    for name, text in read_recipes().items():
        package = f"assistant_{re.sub('[-#]', '_', name)}"
        blocks = BLOCK.findall(text)
        files = [file.removesuffix(".py").removesuffix("/__init__") for file, _ in blocks]
        written = {file.removeprefix("assistant/") for file in files if file.startswith("assistant/")} - {"tools"}
        own = re.compile(rf"from assistant\.({'|'.join(written | {'agent'})})\b")
        for file, code in blocks:
            if not file.startswith("assistant/"):
                continue
            path = project / package / file.removeprefix("assistant/")
            path.parent.mkdir(parents=True, exist_ok=True)
            for directory in (project / package, path.parent):
                (directory / "__init__.py").touch()
            there = project / file
            before = there.read_text().partition("\nview = ")[0] if there.exists() else ""
            path.write_text(own.sub(rf"from {package}.\1", f"{before}\n\n{code}"))
        for module in ("agent", "tools"):
            path = project / package / f"{module}.py"
            code = path.read_text() if path.exists() else (project / f"assistant/{module}.py").read_text()
            if path.parent.exists():
                view = "\nview = DjangoAGUIView(registry, config, skills=skills, get_user=get_user)\n"
                path.write_text(code + (view if module == "agent" and "\nview = " not in code else ""))
    return project


@pytest.mark.engine
def test_the_code_of_the_recipes_fits_the_files_that_it_is_pasted_into(pasted: Path, environment: Path):
    """No name is missing, as if a user had pasted one recipe and nothing else."""
    packages = sorted(path.name for path in pasted.glob("assistant_*"))
    assert len(packages) == len([text for text in read_recipes().values() if "\n# assistant/" in text])
    # Of a project's own rules, all but those that ask for imports at the top, and once.
    imports = "E402,F401,F811,I001"
    execute(pasted, environment / "bin/ruff", "check", "--no-cache", "--extend-ignore", imports, *packages)


@pytest.mark.nightly
def test_types_of_the_code_of_the_recipes_hold(pasted: Path, environment: Path):
    blocks = [
        block for text in read_recipes().values() for block in re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)
    ]
    with (pasted / "pyproject.toml").open("a") as file:
        file.writelines(blocks)
    packages = sorted(path.name for path in pasted.glob("assistant_*"))
    mypy = [environment / "bin/mypy", "--no-incremental", "--disable-error-code", "no-redef", *packages]
    execute(pasted, *mypy, DEBUG="1")
