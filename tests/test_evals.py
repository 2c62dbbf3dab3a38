"""`make eval` of a generated project: its own installation, the table, and the threshold."""

import tomllib
from importlib.metadata import requires

import pytest
from conftest import requirements
from packaging.requirements import Requirement
from projects import make, replace


@pytest.mark.nightly
@pytest.mark.engine
def test_make_eval_prints_a_table_and_fails_under_the_threshold(bake_furnished):
    project = bake_furnished(project_slug="evaluated", parts="standard")
    (project / ".venv/.evals").unlink(missing_ok=True)  # make must install them.
    said = make(project, "--no-print-directory", "eval").stdout
    assert "Evaluation Summary" in said
    assert said.splitlines()[-1] == "6 of 6 cases passed."
    assert (project / ".venv/.evals").exists()

    replace(project / "assistant/evals/tasks.yaml", "Says: Pay the rent", "Says: Pay the milkman")
    assert "5 of 6 cases passed. At least 100% have to." in make(project, "eval", status=2).stderr
    make(project, "eval", "MIN=0.8")
    assert not (project / "db.sqlite3").exists()


def closure(lines: list[str]) -> set[str]:
    """The names of all packages that these need, and they themselves."""
    found = set()
    waiting = [(Requirement(line), {""}) for line in lines]
    while waiting:
        one, extras = waiting.pop()
        key = one.name.lower().replace("_", "-"), frozenset(one.extras)
        applies = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
        if applies and key not in found:
            found.add(key)
            waiting += [(Requirement(line), one.extras | {""}) for line in requires(one.name) or ()]
    return {name for name, _ in found}


@pytest.mark.parametrize("parts", ["minimal", "standard", "everything"])
def test_what_the_evals_need_is_there_or_installed_with_them(rendered, bake, parts: str):
    """They are installed without what they ask for, and `evaluate` imports all of it."""
    project = bake(parts=parts)
    evals = tomllib.loads((rendered["demo"] / "pyproject.toml").read_text())["dependency-groups"]["evals"]
    named = {Requirement(line).name for line in evals}
    assert closure(evals) - closure(requirements(project, "dev")) - named == set()
