"""The `cookiecutter` command, as people run it: offline, without tools, twice, from git, with answers typed."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import PROVIDERS, TEMPLATE_NAME


def tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def test_no_input_says_what_comes_next(run_cli):
    done = run_cli("--no-input")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cd my_assistant\n    make run\n" in done.stdout
    assert (run_cli.output / "my_assistant/manage.py").exists()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_typed_answers_are_used(run_cli, provider: str):
    choice = PROVIDERS.index(provider) + 1
    done = run_cli(input=f"Über Agent\n\nHilft gern.\n{choice}\n\n\n")
    assert done.returncode == 0, done.stderr
    for question in (
        "[1/6] Name of the project",
        "[2/6]",
        "[3/6]",
        "[4/6] Who answers",
        "[5/6] Which parts",
        "[6/6] How the engine",
    ):
        assert question in done.stdout
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


@pytest.mark.nightly
def test_replay_of_a_refused_slug_is_refused(run_cli):
    assert run_cli("--no-input", "project_slug=a/b").returncode != 0
    done = run_cli("--replay")
    assert done.stderr.startswith("project_slug 'a/b'")
    assert list(run_cli.output.iterdir()) == []


def test_git_address_gives_the_tracked_files(run_cli, clone: Path, bake, tmp_path: Path):
    done = run_cli("--no-input", source=f"git+file://{clone}")
    assert done.returncode == 0, done.stderr
    assert tree(run_cli.output / "my_assistant") == tree(bake(tmp_path / "baked", parts="standard", engine="package"))


def test_second_run_fails_and_changes_nothing(run_cli):
    run_cli("--no-input")
    project = run_cli.output / "my_assistant"
    (project / "assistant/tools.py").write_text("# mine\n")
    before = tree(project)
    done = run_cli("--no-input")
    assert done.returncode == 1
    assert "already exists" in done.stderr + done.stdout
    assert tree(project) == before


def test_forced_second_run_keeps_env(run_cli):
    run_cli("--no-input")
    project = run_cli.output / "my_assistant"
    (project / ".env").write_text("OPENAI_API_KEY=mine\n")
    (project / "notes.txt").write_text("mine")
    assert run_cli("--no-input", "-f").returncode == 0
    assert (project / ".env").read_text() == "OPENAI_API_KEY=mine\n"
    assert (project / "notes.txt").read_text() == "mine"


@pytest.mark.nightly
def test_without_hooks_make_copies_env(run_cli):
    done = run_cli("--no-input", "--accept-hooks", "no")
    assert done.returncode == 0, done.stderr
    project = run_cli.output / "my_assistant"
    assert not (project / ".env").exists()
    subprocess.run(["make", ".env"], cwd=project, check=True, capture_output=True)
    assert (project / ".env").read_text() == (project / ".env.example").read_text()


def test_rendered_files_have_unix_lines_whatever_the_checkout_has(run_cli, template: Path, tmp_path: Path):
    """As of a clone on Windows: `_new_lines` says it."""
    checkout = tmp_path / "checkout"
    shutil.copytree(template, checkout)
    readme = checkout / TEMPLATE_NAME / "README.md"
    readme.write_bytes(readme.read_bytes().replace(b"\n", b"\r\n"))
    assert run_cli("--no-input", source=str(checkout)).returncode == 0
    assert b"\r" not in (run_cli.output / "my_assistant/README.md").read_bytes()


@pytest.mark.parametrize("hook", ["pre_gen_project.py", "post_gen_project.py"])
def test_failing_hook_leaves_nothing(run_cli, template: Path, tmp_path: Path, hook: str):
    broken = tmp_path / "broken"
    shutil.copytree(template, broken)
    with (broken / "hooks" / hook).open("a") as stream:
        stream.write("sys.exit(1)\n" if "pre" in hook else "raise SystemExit(1)\n")
    assert run_cli("--no-input", source=str(broken)).returncode == 1
    assert list(run_cli.output.iterdir()) == []


def test_unknown_provider_leaves_nothing(run_cli):
    done = run_cli("--no-input", "model_provider=nope")
    assert done.returncode == 1
    assert "nope provided for choice variable model_provider" in done.stderr
    assert list(run_cli.output.iterdir()) == []


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


@pytest.mark.nightly
def test_users_own_defaults(run_cli):
    (run_cli.home / ".cookiecutterrc").write_text(
        "default_context:\n  full_name: Somebody\n  project_name: From home\n"
    )
    assert run_cli("--no-input").returncode == 0
    assert (run_cli.output / "from_home/manage.py").exists()


def test_hooks_use_the_standard_library_only(template: Path):
    for hook in (template / "hooks").iterdir():
        lines = [
            line.split()[1].split(".")[0]
            for line in hook.read_text().splitlines()
            if line.startswith(("import ", "from "))
        ]
        assert set(lines) <= set(sys.stdlib_module_names)
        assert not {"socket", "urllib", "http", "subprocess", "random", "secrets"} & set(lines)


def test_there_are_six_questions(template: Path):
    context = json.loads((template / "cookiecutter.json").read_text())
    asked = [name for name in context if not name.startswith("_")]
    assert asked == ["project_name", "project_slug", "description", "model_provider", "parts", "engine"]
    assert set(context["__prompts__"]) == set(asked)


def test_typed_answers_are_not_evaluated(run_cli):
    done = run_cli(input="{{ 7*7 }}\n\n\n1\n\n\n")
    assert done.returncode != 0
    assert "project_name '{{ 7*7 }}' contains {" in done.stderr.splitlines()[0]
    assert list(run_cli.output.iterdir()) == []


@pytest.mark.nightly
def test_unknown_variable_is_ignored(run_cli):
    """cookiecutter's own doing: a misspelt answer is no answer."""
    assert run_cli("--no-input", "projct_name=Misspelt").returncode == 0
    assert [path.name for path in run_cli.output.iterdir()] == ["my_assistant"]


@pytest.mark.nightly
def test_forced_second_run_that_skips_files_is_no_upgrade(run_cli):
    """cookiecutter skips only what it renders: agui/manual/upgrading.md warns of it."""
    run_cli("--no-input")
    project = run_cli.output / "my_assistant"
    for name in (".env", "README.md", "assistant/tools.py"):
        (project / name).write_text("# mine\n")
    assert run_cli("--no-input", "-f", "-s").returncode == 0
    mine = {name for name, content in tree(project).items() if content == b"# mine\n"}
    assert mine == {".env", "README.md"}


@pytest.mark.nightly
def test_hook_failing_in_an_existing_project_removes_nothing(run_cli, template: Path, tmp_path: Path):
    run_cli("--no-input")
    before = tree(run_cli.output)
    broken = tmp_path / "broken"
    shutil.copytree(template, broken)
    with (broken / "hooks/post_gen_project.py").open("a") as stream:
        stream.write("raise SystemExit(1)\n")
    assert run_cli("--no-input", "-f", source=str(broken)).returncode == 1
    assert tree(run_cli.output) == before


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
