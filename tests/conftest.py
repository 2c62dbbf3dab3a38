"""What the template's tests share: a clean copy of the template, rendered projects, and one live server."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from abc import ABC
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import snapshot
from cache import cached
from cookiecutter.main import cookiecutter
from packaging.requirements import Requirement
from postgresql import PostgreSQL, find_memory, find_postgresql, postgresql
from projects import append, commit, execute, replace
from redis_server import RedisServer
from servers import PRODUCTION, LiveProject, manage, serve

pytest_plugins = ["pages", "hosting", "flaky", "durations", "requiring"]

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE_NAME = "{{cookiecutter.project_slug}}"
ENGINE = ROOT / "engine/agui"
MANUAL = ENGINE / "manual"
# The answers of most projects that are tested: all parts, and an engine that tests can look into. ENGINE=package tries
# the other form: make test ENGINE=package TIER="browser or clients".
USUAL_ANSWERS = {"parts": "everything", "engine": os.environ.get("ENGINE", "source")}
PROVIDERS = ["demo", "openai", "anthropic", "google"]
# The files that take longest.
LONGEST = ("test_engine", "test_engine_postgresql")
# A test file names its tier with a marker; a test without one is fast.
TIERS = ["servers", "clients", "browser", "engine", "nightly"]
# The Pythons that a project may run on.
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


# The element's tests are run by Node (test_javascript.py).
collect_ignore = ["element"]
if sys.version_info >= (3, 13):  # All other tests show what these do.
    collect_ignore.append("test_newest_python.py")


def pytest_configure() -> None:
    """Restore Ctrl-C for the servers that tests end with it: a shell makes a run in the background ignore it.

    pytest-django has set the settings of the engine's tests up, and no program that tests run is to find their name.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


# --- Every test is of one tier; the files of a tier are shared out among processors


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes longest first, so that no processor is left alone with it."""
    for item in items:
        if item.path.is_relative_to(ENGINE.parent):
            item.add_marker("engine")
        if not any(item.get_closest_marker(tier) for tier in TIERS):
            item.add_marker("fast")
    if os.environ.get("PYTEST_XDIST_WORKER"):
        items.sort(key=lambda item: [item.path.stem not in LONGEST, *(not item.get_closest_marker(t) for t in TIERS)])


# --- The template


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository as a fresh clone would be, with the work in progress."""
    directory = tmp_path_factory.mktemp("clone") / "template"
    snapshot.copy(directory)
    return directory


@pytest.fixture(scope="session")
def clone(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, committed to a git repository of its own."""
    directory = tmp_path_factory.mktemp("repository") / "template"
    shutil.copytree(template, directory)
    commit(directory)
    return directory


@pytest.fixture(scope="session")
def cookiecutter_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user configuration that keeps cookiecutter out of the home directory."""
    home = tmp_path_factory.mktemp("cookiecutter")
    config = home / "config.yaml"
    config.write_text(f"cookiecutters_dir: {home / 'templates'}\nreplay_dir: {home / 'replay'}\n")
    return config


@pytest.fixture(scope="session")
def render(template: Path, cookiecutter_config: Path) -> Callable[..., Path]:
    """Render a project in this process, into a directory: `render(output, project_name="Name")`."""

    def render(output: Path, source: Path = template, **answers: str) -> Path:
        options = {"output_dir": str(output), "config_file": str(cookiecutter_config)}
        return Path(cookiecutter(str(source), no_input=True, extra_context=answers, **options))

    return render


@pytest.fixture
def bake(render: Callable[..., Path], tmp_path: Path):
    """Render a project with the usual answers: `bake(project_name="Name")` is its directory."""
    return lambda output=tmp_path, **answers: render(output, **USUAL_ANSWERS | answers)


@pytest.fixture
def bake_furnished(bake, furnish):
    """The same, with what `make setup` would install."""

    def bake_furnished(**answers) -> Path:
        project = bake(**answers)
        furnish(project)
        return project

    return bake_furnished


@pytest.fixture(scope="session")
def rendered(render: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One project for each provider, to be read and not changed."""
    output, answers = tmp_path_factory.mktemp("rendered"), {"parts": "everything", "engine": "source"}
    return {
        provider: render(output, project_slug=f"with_{provider}", model_provider=provider, **answers)
        for provider in PROVIDERS
    }


@pytest.fixture
def run_cli(template: Path, tmp_path: Path):
    """Run the `cookiecutter` command with a home of its own; `output` is where projects go."""
    home, output = tmp_path / "home", tmp_path / "output"
    home.mkdir()
    output.mkdir()

    def run(*arguments: str, source: str | None = None, prefix: tuple[str, ...] = (), **options):
        environment = {"HOME": str(home), "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        environment |= options.pop("env", {})
        command = [*prefix, sys.executable, "-m", "cookiecutter", source or str(template), "-o", str(output)]
        return subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, text=True, timeout=900, **options
        )

    run.output, run.home = output, home
    return run


@pytest.fixture
def without_twisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the installer run as it does alone: Twisted marks `abc.ABC`, and libcst stumbles over the mark."""
    monkeypatch.delattr(ABC, "__provides__", raising=False)


# --- One environment for all rendered projects


@pytest.fixture(scope="session")
def environment(rendered: dict[str, Path]) -> Path:
    """A virtual environment with all that any rendered project asks for."""
    # The other server that projects run under, and the reference of what receives webhooks
    return make_environment(rendered, "uvicorn>=0.35", "standardwebhooks>=1.1")


def make_environment(rendered: dict[str, Path], *others: str) -> Path:
    """The same with other packages; kept until the requirements change."""
    wanted: dict[str, None] = {}
    for project in rendered.values():
        wanted |= dict.fromkeys(requirements(project, "dev", *extras_of(project)))
    wanted |= dict.fromkeys(others)
    constraints = rendered["demo"] / "constraints.txt"
    text = "\n".join([sys.version, *wanted, constraints.read_text()])

    def install(venv: Path) -> None:
        execute(ROOT, "uv", "venv", "--quiet", "--python", sys.executable, venv)
        command = ["uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", venv / "bin/python"]
        execute(ROOT, *command, "-c", constraints, *wanted)
        # As `make eval` does.
        evals = tomllib.loads((rendered["demo"] / "pyproject.toml").read_text())["dependency-groups"]["evals"]
        execute(ROOT, *command, "-c", constraints, "--no-deps", *evals)

    return cached("venv", text, install)


def extras_of(project: Path) -> list[str]:
    return [*tomllib.loads((project / "pyproject.toml").read_text())["project"]["optional-dependencies"]]


def requirements(project: Path, *arguments: str) -> list[str]:
    """What a project asks for, as pip gets it."""
    return execute(project, sys.executable, "requirements.py", *arguments).stdout.splitlines()


def pins(project: Path, python: str = f"3.{sys.version_info.minor}") -> dict[str, str]:
    """Names and versions that constraints.txt pins for a Python."""
    found: dict[str, str] = {}
    for line in (project / "constraints.txt").read_text().splitlines():
        pin = Requirement(line)
        if pin.marker is None or pin.marker.evaluate({"python_version": python}):
            assert pin.name not in found, f"{pin.name} is pinned twice for Python {python}"
            found[pin.name] = str(pin.specifier).removeprefix("==")
    return found


def page_folders(package: Path = ENGINE) -> list[Path]:
    """The folders of the element's modules, and of the page's modules of each part."""
    folders = [package / "static/agui"]
    for app in sorted((package / "contrib").glob("*/apps.py")):
        if "page_modules = " in app.read_text():
            folders += app.parent.glob("static/*")
    return folders


def element_modules(package: Path = ENGINE) -> list[Path]:
    """The modules of these folders, without the tables of other languages."""
    modules = [path for folder in page_folders(package) for path in sorted(folder.rglob("*.js"))]
    return [path for path in modules if path.parent.name != "languages"]


def npm_install(package: Path, *options: str) -> Path:
    """The packages that a package.json names, kept until it changes. Skips the test if npm is not there."""
    if not shutil.which("npm"):
        pytest.skip("npm is not on the PATH")

    def install(directory: Path) -> None:
        directory.mkdir()
        shutil.copy(package, directory)
        command = ["npm", "install", "--omit=dev", "--ignore-scripts", "--silent", "--no-package-lock"]
        execute(directory, *command, *options)

    return cached("node", package.read_text(), install) / "node_modules"


@pytest.fixture
def furnish(environment: Path):
    """Give a rendered project what `make setup` would install, without installing it again."""
    return lambda project: furnish_project(project, environment)


def furnish_project(project: Path, environment: Path) -> None:
    if not (project / "agui").exists():
        environment = with_engine(environment, project)
    (project / ".venv").symlink_to(environment)
    (environment / ".installed").touch()  # make looks at times: newer than the project's files


def with_engine(environment: Path, project: Path) -> Path:
    """The same environment, with the package of the engine that the project has."""
    [wheel] = (project / "vendor").iterdir()

    def install(venv: Path) -> None:
        execute(ROOT, "uv", "venv", "--quiet", "--python", sys.executable, venv)
        there = execute(ROOT, "uv", "pip", "freeze", "--python", environment / "bin/python").stdout
        command = ["uv", "pip", "install", "--quiet", "--no-deps", "--compile-bytecode"]
        execute(ROOT, *command, "--python", venv / "bin/python", "-r", "-", wheel, stdin=there)

    return cached("package", f"{environment} {hashlib.sha256(wheel.read_bytes()).hexdigest()}", install)


@pytest.fixture(scope="session")
def furnished(rendered: dict[str, Path], environment: Path, tmp_path_factory: pytest.TempPathFactory):
    """Make a project on the demo model: `furnished("busy", name=code)` has tests/fixtures/busy and a module, too."""

    def make_project(fixture: str = "", **modules: str) -> Path:
        project = tmp_path_factory.mktemp(fixture or "furnished") / "project"
        shutil.copytree(rendered["demo"], project)
        furnish_project(project, environment)
        if fixture:
            shutil.copytree(ROOT / "tests/fixtures" / fixture, project, dirs_exist_ok=True)
        for name, code in modules.items():
            (project / f"{name}.py").write_text(code)
        return project

    return make_project


@pytest.fixture
def project(furnished: Callable[..., Path]) -> Path:
    """A project on the demo model, which a test may change."""
    return furnished()


@pytest.fixture(scope="session")
def bake_to_serve(
    render: Callable[..., Path], environment: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Make a project that tests share, in a directory of this name; with all parts, if no answer says otherwise."""

    def bake_project(name: str, **answers: str) -> Path:
        project = render(tmp_path_factory.mktemp(name), **USUAL_ANSWERS | answers)
        furnish_project(project, environment)
        return project

    return bake_project


@pytest.fixture(scope="session")
def live_project(bake_to_serve: Callable[..., Path]) -> Iterator[LiveProject]:
    """A project with all parts, served by its own `runserver` on a free port."""
    with serve(bake_to_serve("live")) as live:
        yield live


@pytest.fixture(scope="session")
def site(bake_to_serve: Callable[..., Path]) -> Iterator[LiveProject]:
    """The same as in production, for browsers: its static files are bundled, a fifth of the requests of each page."""
    project = bake_to_serve("site")
    # There is no https on the loopback interface.
    append(project / "config/settings.py", "\nSESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = False\n")
    production = "".join(f"{name}={value}\n" for name, value in PRODUCTION.items())
    replace(project / ".env", "DEBUG=1\n", production)
    manage(project, "collectstatic", "--noinput", "--verbosity", "0")
    with serve(project) as live:
        yield live


def own_postgresql(*options: str) -> Iterator[PostgreSQL]:
    tools = find_postgresql()
    if tools is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql(tools, *options, parent=find_memory()) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQL]:
    # What a crash of the machine would lose is lost anyway.
    yield from own_postgresql("fsync=off")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of one file's own, which its tests may stop and start."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server
