"""The HTTP reference, agui/manual/openapi.yaml: it has every route, and the live server does what it says."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import schemathesis
import yaml
from conftest import MANUAL, ROOT
from projects import execute
from servers import LiveProject, run_input, serve

pytestmark = pytest.mark.servers
REFERENCE = MANUAL / "openapi.yaml"
PATHS: dict[str, dict[str, Any]] = yaml.safe_load(REFERENCE.read_text())["paths"]
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = [(method.upper(), path) for path, item in PATHS.items() for method in METHODS if method in item]
HEALTH = {"/healthz": ["GET"], "/livez": ["GET"]}
# Remote servers read it, which have no account here.
PUBLIC = {*HEALTH, "/agent/mcp/accounts/client.json/"}
PRIVATE = [(method, path) for method, path in OPERATIONS if path not in PUBLIC]

# What the server has: the methods of its routes, and its events.
SERVED = """
import json
from agui.protocol.types import EventType
from assistant.urls import urlpatterns
agent = next(one for one in urlpatterns if getattr(one, "namespace", "") == "agui")
routes = {str(one.pattern): sorted(one.callback.methods) for one in agent.url_patterns}
print(json.dumps([routes, [*EventType]]))
"""


@pytest.fixture(scope="module")
def live(bake_to_serve) -> Iterator[LiveProject]:
    """A project that has all routes. Nobody transcribes."""
    project = bake_to_serve("documented", engine="source")
    with serve(project, MCP_ENDPOINT="1", NOTIFY_BY_MAIL="opt_in", TRANSCRIPTION_URL="http://127.0.0.1:9/v1") as live:
        yield live


@pytest.fixture
def ask(live: LiveProject):
    """Send a request by the name of its operation; the answer has been held to the reference."""
    schema = schemathesis.openapi.from_path(REFERENCE)

    def ask(operation: str, body: Any = None, **path: str) -> Any:
        found = schema.find_operation_by_id(operation)
        given = {"path_parameters": path} if path else {}
        if body is not None:
            given |= {"body": body, "media_type": next(iter(found.definition.raw["requestBody"]["content"]))}
        headers = {"Authorization": f"Bearer {live.token}", "Accept": "application/json, text/event-stream"}
        return found.Case(**given, headers=headers).call_and_validate(base_url=live.url)

    return ask


def run_to_the_end(live: LiveProject, ask: Any, thread_id: str, messages: list[dict[str, str]]) -> None:
    """Run; what comes first is held to the reference. The same body again follows the run."""
    body = run_input("", threadId=thread_id, messages=messages)
    assert ask("run", body).status_code == 200
    assert live.client(live.token).run("", **body)[-1]["type"] == "RUN_FINISHED"


def test_it_has_every_route_with_its_methods_and_names_every_event(live: LiveProject):
    routes, events = json.loads(live.manage("shell", "-c", SERVED).splitlines()[-1])
    served = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/agent/{route}"): methods for route, methods in routes.items()}
    documented = {path: sorted(name.upper() for name in item if name in METHODS) for path, item in PATHS.items()}
    assert documented == served | HEALTH
    event = yaml.safe_load(REFERENCE.read_text())["components"]["schemas"]["Event"]
    # The server joins chunks, and keeps what providers seal.
    sent = {name for name in events if not name.endswith(("_CHUNK", "_ENCRYPTED_VALUE"))}
    assert set(event["properties"]["type"]["enum"]) == sent


@pytest.mark.nightly
def test_the_server_does_what_it_says(live: LiveProject, tmp_path: Path):
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", ROOT / "tests/schemathesis.toml", "run"]
    options = ["--phases=examples,coverage,fuzzing", "--max-examples=5", "--generation-deterministic", "--no-color"]
    where = ["--url", live.url, "--header", f"Authorization: Bearer {live.token}"]
    execute(tmp_path, *command, REFERENCE, *where, *options, "--continue-on-failure")
    log = live.log.read_text()
    assert "Traceback" not in log, log.partition("Traceback")[2][:5000]


def test_what_succeeds_is_as_documented(live: LiveProject, ask):
    messages = [{"id": "m1", "role": "user", "content": 'add_task title="Bread"'}]
    run_to_the_end(live, ask, "whole", messages)
    assert ask("followThread", thread_id="whole").status_code == 200
    assert [row["thread_id"] for row in ask("listThreads").json()["threads"] if row["thread_id"] == "whole"]
    thread = ask("readThread", thread_id="whole").json()
    said = next(message["id"] for message in reversed(thread["messages"]) if message["role"] == "assistant")
    assert ask("giveFeedback", {"message_id": said, "value": 1}, thread_id="whole").json()["value"] == 1
    assert list(ask("readThread", thread_id="whole").json()["feedback"]) == [said]
    assert ask("giveFeedback", {"message_id": said, "value": 0}, thread_id="whole").status_code == 204
    assert ask("changeThread", {"title": "Baking"}, thread_id="whole").json()["title"] == "Baking"
    assert ask("changeThread", {"unread": False}, thread_id="whole").json()["unread"] is False
    assert ask("forkThread", {"thread_id": "forked"}, thread_id="whole").json()["thread_id"] == "forked"
    assert ask("followThread", thread_id="forked").status_code == 204
    assert ask("cancelRun", thread_id="whole").status_code == 204

    # Another wording of the first message leaves a version, which can be switched to.
    messages[0]["content"] = "list_tasks"
    run_to_the_end(live, ask, "whole", messages)
    (versions,) = ask("readThread", thread_id="whole").json()["branches"].values()
    other = next(one["id"] for one in versions if not one["current"])
    assert ask("changeThread", {"branch": other}, thread_id="whole").json()["messages"]
    run_to_the_end(live, ask, "waits", [{"id": "m2", "role": "user", "content": "delete_finished_tasks"}])
    assert ask("readThread", thread_id="waits").json()["pending"][0]["reason"] == "tool_call"
    queued = {"message": {"id": "m3", "role": "user", "content": "And then?"}, "mode": "steer"}
    assert ask("sendWhileBusy", queued, thread_id="waits").json()["held"] == "paused"
    assert ask("changeWaiting", {"message_id": "m3", "position": 0}, thread_id="waits").json()["mode"] == "steer"
    assert [row["message_id"] for row in ask("listWaiting", thread_id="waits").json()["messages"]] == ["m3"]
    assert ask("sendWhileBusy", {}, thread_id="waits").json()["error"] == "paused"
    assert ask("deleteThread", thread_id="whole").status_code == 204

    uploaded = ask("upload", {"file": b"Flour, water, salt."}).json()
    assert uploaded["mime"] == "text/plain"
    assert ask("download", attachment_id=uploaded["id"]).content == b"Flour, water, salt."
    assert ask("exportData").json()["user"]["username"] == live.username
    assert ask("deleteAttachment", attachment_id=uploaded["id"]).status_code == 204
    assert ask("transcribe", {"file": b"Flour"}).status_code == 415
    assert "add_task" in [one["name"] for one in ask("listTools").json()]
    assert ask("listSkills").json()
    assert ask("listMentions").json() == {"mentions": []}
    assert ask("readNotifications").json()["mail"]["on"] is False
    assert ask("changeNotifications", {"mail": True}).json()["mail"]["on"] is True
    assert ask("testWebhook").status_code == 404
    assert "<form" in ask("showNotifications").text
    assert ask("readCapabilities").json()["identity"]
    assert ask("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()["result"]["tools"]
    assert ask("listApprovals").status_code == 403
    assert ask("health").json() == {"status": "ok", "database": True}


@pytest.mark.parametrize("token", [None, "agt_wrong"])
def test_nobody_gets_in(live: LiveProject, token: str | None):
    for method, path in PRIVATE:
        status, text = live.client(token).fetch(method, fill(path))
        assert (status, json.loads(text)["error"]) == (401, "unauthorized"), (method, path)


def test_a_session_has_to_prove_that_it_is_no_other_sites(live: LiveProject):
    client = live.client()
    client.login(live.username, live.password)
    for method, path in PRIVATE:
        if method != "GET":
            assert "403" in PATHS[path][method.lower()]["responses"]
            status, text = client.fetch(method, fill(path), {})
            assert (status, json.loads(text)["error"]) == (403, "forbidden"), (method, path)


def fill(path: str) -> str:
    named = path.replace("{thread_id}", "first").replace("{server}", "shop")
    return re.sub(r"{(attachment|approval)_id}", str(UUID(int=0)), named)
