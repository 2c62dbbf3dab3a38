"""`manage.py startagent` in a new project: what it writes passes the project's checks, and stands apart."""

import json
import re
from pathlib import Path

import guide
import pytest
from conftest import MANUAL
from projects import replace
from servers import Client, events, run_input, serve, text_of
from test_agentify import run

pytestmark = pytest.mark.engine
PAGE = MANUAL / "several-agents.md"
ADD = guide.sections(PAGE)["Add an agent"]


@pytest.fixture(scope="module")
def project(bake_to_serve) -> Path:
    """A project with an agent for staff, and one for everybody, as the command's last lines say."""
    path: Path = bake_to_serve("startagent", engine="source")
    command, settings, urls = ADD.steps
    [written] = command.code.splitlines()
    said = guide.run(path, f"{written} --staff")
    guide.edit(path, settings)
    guide.edit(path, urls)
    assert 'with agent="agui"' in said
    startagent(path, "accounts_payable")
    replace(path / "config/settings.py", '    "billing",\n', '    "billing",\n    "accounts_payable",\n')
    route = '    path("accounts_payable/", include("accounts_payable.urls")),\n'
    replace(path / "config/urls.py", '    path("admin/"', f'{route}    path("admin/"')
    return path


def startagent(project: Path, *arguments: str, status: int = 0) -> str:
    return run(project, "python", "manage.py", "startagent", *arguments, status=status)


@pytest.mark.nightly
def test_what_is_written_passes_the_checks(project: Path):
    run(project, "ruff", "check", "--no-cache", ".")
    run(project, "ruff", "format", "--no-cache", "--check", ".")
    run(project, "mypy", "--no-incremental", "billing", "accounts_payable")
    run(project, "python", "manage.py", "check")
    assert "passed" in run(project, "pytest", "-q", "-p", "no:cacheprovider")


@pytest.mark.parametrize("name", ["urls", "auth"])
def test_what_the_manual_shows_is_written(project: Path, name: str):
    [code] = re.findall(rf"```python\n# billing/{name}\.py\n(.*?)```", PAGE.read_text(), re.S)
    assert code in (project / f"billing/{name}.py").read_text()


@pytest.mark.nightly
def test_its_cases_pass(project: Path):
    said = run(project, "python", "manage.py", "evaluate", "account", "--model", "demo")
    assert "2 of 2 cases passed." in said


@pytest.mark.parametrize("name", ["Billing", "a-b", "agui", "billing", "accounts_payable", "json"])
def test_name_that_is_taken_or_no_word_is_refused(project: Path, name: str):
    before = sorted(project.iterdir())
    said = startagent(project, name, status=1)
    assert said.startswith("CommandError: ") or "\nCommandError: " in said
    assert sorted(project.iterdir()) == before


@pytest.mark.nightly
def test_served_agents_stand_apart(project: Path):
    with serve(project) as live:
        admin = Client(live.port)
        admin.login(live.username, live.password)
        for name, title in (("billing", "Billing"), ("accounts_payable", "Accounts payable")):
            status, page = admin.fetch("GET", f"/{name}/")
            assert (status, f"<title>{title}</title>" in page) == (200, True)
            assert f'endpoint="/{name}/agent/"' in page
            assert '"/agent/' not in page
            # Its head is like that of the first agent's page.
            assert f'class="brand"><a href="/{name}/">{title}</a>' in page
            assert "data-agui-sign-out" in page
            assert 'action="/accounts/logout/"' in page
            assert '<a href="/admin/">' in page
            for path in re.findall(r'href="(/static/[^"]+)"', page):
                assert admin.fetch("GET", path)[0] == 200, path
            assert re.search(r'<link rel="icon" href="/static/\w+/icon.svg"', page)
        with_token = Client(live.port, live.token)
        with with_token.open("POST", "/billing/agent/", run_input("Show my account", threadId="t1")) as response:
            assert live.username in text_of(list(events(response)))
        threads = json.loads(with_token.fetch("GET", "/billing/agent/threads/")[1])["threads"]
        assert [one["thread_id"] for one in threads] == ["t1"]
        for elsewhere in ("/agent/", "/accounts_payable/agent/"):
            assert json.loads(with_token.fetch("GET", f"{elsewhere}threads/")[1])["threads"] == []
            assert with_token.fetch("GET", f"{elsewhere}threads/t1/")[0] == 404
        assert Client(live.port).fetch("GET", "/billing/")[0] == 302
