"""The default project's own server, spoken to over a real socket."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from conftest import ROOT, TEMPLATE_NAME
from servers import LiveProject, events, run_input, serve, text_of

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def waiting_project(live_project: LiveProject) -> Iterator[LiveProject]:
    """The same project, served by a second process with a model that waits for the test in the middle of "slow"."""
    shutil.copy(ROOT / "tests/page_model.py", live_project.path / "waiting.py")
    (live_project.path / "waiting.gate").touch()
    with serve(live_project.path, AGENT_MODEL="python:waiting.model") as live:
        yield live


def readme_section(heading: str) -> str:
    return (ROOT / TEMPLATE_NAME / "README.md").read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def user_with_token(live: LiveProject, name: str) -> str:
    code = f"from users.models import User; User.objects.get_or_create(username={name!r})"
    live.manage("shell", "-v", "0", "-c", code)
    return live.manage("create_token", name).splitlines()[-1]


def test_first_event_arrives_before_the_model_has_ended(waiting_project: LiveProject):
    client = waiting_project.client(waiting_project.token)
    with client.open("POST", "/agent/", run_input("slow")) as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        stream = events(response)
        seen = [next(stream)["type"]]
        while seen[-1] != "TEXT_MESSAGE_CONTENT":
            seen.append(next(stream)["type"])
        (waiting_project.path / "waiting.gate").touch()
        seen += [event["type"] for event in stream]
    assert (seen[0], seen[-1]) == ("RUN_STARTED", "RUN_FINISHED")


def test_readmes_curl_streams(waiting_project: LiveProject):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    command = re.search(r"```sh\n(curl.*?)```", readme_section("From another program"), re.DOTALL)[1]
    command = re.sub(r'("content": ")[^"]*', r"\1slow", command.replace("8000", str(waiting_project.port)))
    with subprocess.Popen(
        ["sh", "-c", command],
        env={"PATH": "/usr/bin:/bin", "TOKEN": waiting_project.token},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout
        early = next(line for line in process.stdout if b"TEXT_MESSAGE_CONTENT" in line)
        assert b"word0" in early
        (waiting_project.path / "waiting.gate").touch()
        # To the end: curl fails if it can't write the last empty line.
        assert b"RUN_FINISHED" in process.stdout.read()
    assert process.returncode == 0


def test_stranger_is_refused_everywhere_but_for_the_health(live_project: LiveProject):
    stranger = live_project.client()
    assert stranger.fetch("GET", "/healthz")[0] == 200
    assert stranger.fetch("POST", "/agent/", run_input("hello"))[0] == 401
    for path in ("", "tools/", "skills/", "threads/", "threads/any/", "threads/any/events/", "attachments/"):
        status, text = stranger.fetch("GET", f"/agent/{path}")
        assert (status, json.loads(text)["error"]) == (401, "unauthorized"), path
    assert live_project.client("wrong").fetch("GET", "/agent/tools/")[0] == 401


def test_a_token_or_a_session_talks_to_the_agent_and_what_was_said_is_kept(live_project: LiveProject):
    token = user_with_token(live_project, "talker")  # The command prints it alone on its last line.
    client = live_project.client(token)
    for path in ("/agent", "/agent/"):
        body = run_input("hello")
        with client.open("POST", path, body) as response:
            assert response.status == 200
            stream = list(events(response))
        assert stream[-1]["type"] == "RUN_FINISHED"
        messages = json.loads(client.fetch("GET", f"/agent/threads/{body['threadId']}/")[1])["messages"]
        started = next(event["messageId"] for event in stream if event["type"] == "TEXT_MESSAGE_START")
        assert [message["id"] for message in messages if message["role"] in ("user", "assistant")] == [
            body["messages"][0]["id"],
            started,
        ]
        assert messages[-1]["content"] == text_of(stream)
    session = live_project.client()
    session.login(live_project.username, live_project.password)
    assert session.fetch("POST", "/agent/", run_input("hello"))[0] == 403
    stream = session.run("hello", headers={"X-CSRFToken": session.cookies["csrftoken"]})
    assert stream[-1]["type"] == "RUN_FINISHED"


def test_page_asks_for_login_and_loads_its_files(live_project: LiveProject):
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


def test_admin_shows_every_model(live_project: LiveProject):
    client = live_project.client()
    client.login(live_project.username, live_project.password)
    status, index = client.fetch("GET", "/admin/")
    assert status == 200
    models = sorted(set(re.findall(r'href="(/admin/(?:agui|assistant|users)/\w+/)"', index)))
    assert "/admin/users/user/" in models
    for path in models:
        assert client.fetch("GET", path)[0] == 200, path


def test_readmes_tool_is_called_without_another_edit(bake, furnish):
    """The product's promise: append a function to assistant/tools.py, and ask for it."""
    project = bake(project_slug="with_a_tool")
    furnish(project)
    section = readme_section("Your first tool")
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    question = re.search(r"`(convert_temperature[^`]*)`", section)[1]
    with (project / "assistant/tools.py").open("a") as tools:
        tools.write("\n\n" + code)
    skill = re.search(r"```python\n(.*?)```", readme_section("A skill"), re.DOTALL)[1]
    with (project / "assistant/skills.py").open("a") as skills:
        skills.write(skill)
    with serve(project) as live:
        stream = live.client(live.token).run(question)
        assert '"Tidy up"' in live.client(live.token).fetch("GET", "/agent/skills/")[1]
    (start,) = [event for event in stream if event["type"] == "TOOL_CALL_START"]
    (result,) = [event for event in stream if event["type"] == "TOOL_CALL_RESULT"]
    assert (start["toolCallName"], result["content"]) == ("convert_temperature", "68.0 °F")
    assert stream[-1]["type"] == "RUN_FINISHED"


def test_readmes_suggestions_do_what_they_say(live_project: LiveProject):
    client = live_project.client(user_with_token(live_project, "reader"))
    thread = run_input("")["threadId"]
    suggestions = re.findall(r"^- `([^`]+)`", readme_section("Quick start"), re.MULTILINE)
    assert len(suggestions) == 3
    for suggestion in suggestions:
        stream = client.run(suggestion, threadId=thread)
        called = [event["toolCallName"] for event in stream if event["type"] == "TOOL_CALL_START"]
        assert called == [suggestion.split()[0]]
    assert stream[-1]["outcome"]["type"] == "interrupt"


def test_wrong_password_is_refused(live_project: LiveProject):
    client = live_project.client()
    client.fetch("GET", "/accounts/login/")
    form = {"username": "admin", "password": "admin", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.fetch("POST", "/accounts/login/", urlencode(form), headers)[0] == 200
    assert "sessionid" not in client.cookies
