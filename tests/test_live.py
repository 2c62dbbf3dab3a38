"""The default project's own server, spoken to over a real socket."""

import re
import shutil
import subprocess
from contextlib import ExitStack

import pytest
from conftest import ROOT, TEMPLATE_NAME
from projects import append
from servers import LiveProject, run_input, serve

pytestmark = pytest.mark.servers


def readme_section(heading: str) -> str:
    return (ROOT / TEMPLATE_NAME / "README.md").read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_readmes_curl_streams_before_the_model_has_ended(live_project: LiveProject):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    shutil.copy(ROOT / "tests/page_model.py", live_project.path / "waiting.py")
    gate = live_project.path / "waiting.gate"
    gate.touch()
    command = re.search(r"```sh\n(curl.*?)```", readme_section("From another program"), re.DOTALL)[1]
    command = re.sub(r'("content": ")[^"]*', r"\1slow", command)
    with ExitStack() as stack:
        live = stack.enter_context(serve(live_project.path, AGENT_MODEL="python:waiting.model"))
        shell = ["sh", "-c", command.replace("8000", str(live.port))]
        environment = {"PATH": "/usr/bin:/bin", "TOKEN": live.token}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        process = stack.enter_context(subprocess.Popen(shell, env=environment, **streams))
        early = next(line for line in process.stdout if b"TEXT_MESSAGE_CONTENT" in line)
        assert b"word0" in early
        gate.touch()
        # To the end: curl fails if it can't write the last empty line.
        assert b"RUN_FINISHED" in process.stdout.read()
    assert process.returncode == 0


def test_page_asks_for_login_and_loads_its_files_and_the_admin_shows_every_model(live_project: LiveProject):
    client = live_project.client()
    with client.open("GET", "/") as response:
        assert (response.status, response.headers["Location"]) == (302, "/accounts/login/?next=/")
    assert client.fetch("GET", "/accounts/login/?next=/")[0] == 200
    client.login(live_project.username, live_project.password)
    status, page = client.fetch("GET", "/")
    assert (status, "<agui-chat" in page) == (200, True)
    loaded = re.findall(r'<(?:script|link)[^>]+(?:src|href)="(/static/[^"]+)"', page)
    assert any("agui-chat" in path for path in loaded)
    for path in loaded:
        with client.open("GET", path) as response:
            kind = response.headers["Content-Type"]
            assert response.status == 200, path
            assert ("javascript" in kind) == path.endswith(("js",)), (path, kind)
    models = re.findall(r'href="(/admin/(?:agui|assistant|users)/\w+/)"', client.fetch("GET", "/admin/")[1])
    assert "/admin/users/user/" in models
    for path in models:
        assert client.fetch("GET", path)[0] == 200, path


def test_readmes_tool_is_called_without_another_edit(bake_furnished):
    """The product's promise: append a function to assistant/tools.py, and ask for it."""
    project = bake_furnished(project_slug="with_a_tool")
    question = re.search(r"`(convert_temperature[^`]*)`", readme_section("Your first tool"))[1]
    for file, heading in (("tools.py", "Your first tool"), ("skills.py", "A skill")):
        code = re.search(r"```python\n(.*?)```", readme_section(heading), re.DOTALL)[1]
        append(project / "assistant" / file, f"\n\n{code}")
    with serve(project) as live:
        stream = live.client(live.token).run(question)
        assert '"Tidy up"' in live.client(live.token).fetch("GET", "/agent/skills/")[1]
    (start,) = [event for event in stream if event["type"] == "TOOL_CALL_START"]
    (result,) = [event for event in stream if event["type"] == "TOOL_CALL_RESULT"]
    assert (start["toolCallName"], result["content"]) == ("convert_temperature", "68.0 °F")
    assert stream[-1]["type"] == "RUN_FINISHED"


def test_readmes_suggestions_do_what_they_say(live_project: LiveProject):
    client = live_project.client(live_project.token_of("reader"))
    thread = run_input("")["threadId"]
    suggestions = re.findall(r"^- `([^`]+)`", readme_section("Quick start"), re.MULTILINE)
    assert len(suggestions) == 3
    for suggestion in suggestions:
        stream = client.run(suggestion, threadId=thread)
        called = [event["toolCallName"] for event in stream if event["type"] == "TOOL_CALL_START"]
        assert called == [suggestion.split()[0]]
    assert stream[-1]["outcome"]["type"] == "interrupt"
