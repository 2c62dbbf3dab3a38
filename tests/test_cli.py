"""The `cookiecutter` command, as people run it: offline, without tools, twice, from git, with answers typed."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import PROVIDERS, TEMPLATE_NAME
from projects import make, tree


@pytest.fixture
def made(run_cli) -> Path:
    """The project of the usual answers."""
    done = run_cli("--no-input")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cd my_assistant\n    make run\n" in done.stdout
    return run_cli.output / "my_assistant"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_typed_answers_are_used(run_cli, provider: str):
    choice = PROVIDERS.index(provider) + 1
    done = run_cli(input=f"Über Agent\n\nHilft gern.\n{choice}\n\n\n")
    assert done.returncode == 0, done.stderr
    questions = ("[1/6] Name of the project", "[4/6] Who answers", "[5/6] Which parts", "[6/6] How the engine")
    assert [question for question in questions if question not in done.stdout] == []
    project = run_cli.output / "uber_agent"
    assert (project / "README.md").read_text().startswith("# Über Agent\n")
    assert tomllib.loads((project / "pyproject.toml").read_text())["project"]["description"] == "Hilft gern."
    assert ("The demo model answers until" in done.stdout) == (provider != "demo")


def test_replay_gives_the_same_project(run_cli):
    assert run_cli("--no-input", "project_name=Again", "model_provider=openai").returncode == 0
    first = tree(run_cli.output / "again")
    shutil.rmtree(run_cli.output / "again")
    done = run_cli("--replay")
    assert done.returncode == 0, done.stderr
    assert tree(run_cli.output / "again") == first


def test_git_address_gives_the_tracked_files(run_cli, clone: Path, bake, tmp_path: Path):
    done = run_cli("--no-input", source=f"git+file://{clone}")
    assert done.returncode == 0, done.stderr
    assert tree(run_cli.output / "my_assistant") == tree(bake(tmp_path / "baked", parts="standard", engine="package"))


def test_second_run_fails_and_changes_nothing_unless_it_is_forced(run_cli, made):
    """By force it keeps .env. That it skips files is no upgrade, of which agui/manual/upgrading.md warns."""
    names = (".env", "README.md", "assistant/tools.py", "notes.txt")
    for name in names:
        (made / name).write_text("# mine\n")
    before = tree(made)
    done = run_cli("--no-input")
    assert done.returncode == 1
    assert "already exists" in done.stderr + done.stdout
    assert tree(made) == before
    for options, kept in [(["-s"], {".env", "README.md", "notes.txt"}), ([], {".env", "notes.txt"})]:
        assert run_cli("--no-input", "-f", *options).returncode == 0
        assert {name for name in names if (made / name).read_text() == "# mine\n"} == kept


@pytest.mark.nightly
def test_without_hooks_make_copies_env(run_cli):
    done = run_cli("--no-input", "--accept-hooks", "no")
    assert done.returncode == 0, done.stderr
    project = run_cli.output / "my_assistant"
    assert not (project / ".env").exists()
    make(project, ".env")
    assert (project / ".env").read_text() == (project / ".env.example").read_text()


def test_rendered_files_have_unix_lines_whatever_the_checkout_has(run_cli, template: Path, tmp_path: Path):
    """As of a clone on Windows: `_new_lines` says it."""
    checkout = tmp_path / "checkout"
    shutil.copytree(template, checkout)
    readme = checkout / TEMPLATE_NAME / "README.md"
    readme.write_bytes(readme.read_bytes().replace(b"\n", b"\r\n"))
    assert run_cli("--no-input", source=str(checkout)).returncode == 0
    assert b"\r" not in (run_cli.output / "my_assistant/README.md").read_bytes()


def test_offline(run_cli):
    namespace = ("unshare", "-rn")
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let us make an empty network namespace (unshare -rn)")
    done = run_cli("--no-input", prefix=namespace)
    assert done.returncode == 0, done.stderr
    assert (run_cli.output / "my_assistant/.env").exists()


def test_without_any_program_on_the_path(run_cli, tmp_path: Path):
    done = run_cli("--no-input", env={"PATH": str(tmp_path / "nothing")})
    assert done.returncode == 0, done.stderr
    assert (run_cli.output / "my_assistant/.env").exists()


def test_typed_answers_are_not_evaluated(run_cli):
    done = run_cli(input="{{ 7*7 }}\n\n\n1\n\n\n")
    assert done.returncode == 1
    assert "project_name '{{ 7*7 }}' contains {" in done.stderr
    assert list(run_cli.output.iterdir()) == []


def test_only_the_rendered_hooks_stay_in_the_temporary_directory(run_cli, tmp_path: Path):
    """cookiecutter forgets those; nothing else may be left where the user does not look."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for answers in ([], ["project_slug=a/b"]):
        run_cli("--no-input", *answers, env={"TMPDIR": str(temporary)})
    left = [path.name for path in temporary.iterdir()]
    assert len(left) == 3
    assert all(name.endswith(".py") for name in left)


@pytest.mark.nightly
def test_private_answers_cannot_move_the_project(run_cli, tmp_path: Path):
    for name in ("__safe_slug", "__answered_slug"):
        before = {path.name for path in tmp_path.iterdir() if path.suffix != ".py"}
        done = run_cli("--no-input", "-f", f"{name}=../escape")
        assert [path.name for path in run_cli.output.iterdir()] in ([], ["my_assistant"]), done.stderr
        assert {path.name for path in tmp_path.iterdir() if path.suffix != ".py"} == before
