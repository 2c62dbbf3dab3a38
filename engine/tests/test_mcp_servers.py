"""The tools of other MCP servers: real ones, over stdio and over HTTP, up and down, slow and dying."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

pytest.importorskip("fastmcp")

from mcp.server.mcpserver import MCPServer
from mcp.types import Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent

from agui import ToolRegistry, conf
from agui.contrib.mcp import connections
from agui.contrib.mcp.servers import Server, configured_servers
from agui.contrib.mcp.sessions import Session
from agui.contrib.mcp.toolset import McpToolset, tool_name
from agui.models import AuditRecord
from agui.runs.shutdown import end_runs
from agui.testing import Chat, call, event_types, say
from tests import mcp_server
from tests.clock import Clock
from tests.conftest import Client, decision, results_of
from tests.connecting import Project, http_server
from tests.serving import CUT, serving
from tests.wire import check_stream

SCRIPT = str(Path(mcp_server.__file__))
STDIO = {"command": sys.executable, "args": [SCRIPT]}


def away(events: list[dict[str, Any]]) -> list[list[str]]:
    return [event["value"]["servers"] for event in events if event.get("name") == "servers_away"]


class Traffic:
    """Notes the headers of all requests; lets them wait, or cuts off or holds those that call a tool."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.open, self.open_to_calls = asyncio.Event(), asyncio.Event()
        self.open.set()
        self.open_to_calls.set()
        self.cut_calls = False

    def __call__(self, application: Any) -> Any:
        async def watched(scope: Any, receive: Any, send: Any) -> None:
            self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            await self.open.wait()
            message = await receive()
            if b'"tools/call"' in message["body"]:
                await self.open_to_calls.wait()
                if self.cut_calls:
                    return await send(CUT)
            await application(scope, mcp_server.once_more(message, receive), send)

        return watched


# --- Their tools


async def test_tools_of_a_process_and_of_a_url_are_called(project: Project):
    llm = project.script([call("one_add", a=1, b=2, _id="c1"), call("two_add", a=3, b=4, _id="c2")], say("Done."))
    async with http_server() as url:
        project.configure(one=STDIO, two={"url": url})
        events = await project.client.run("Add")
    check_stream(events, {"protocolVersion": "1.0"})
    assert event_types(events)[-1] == "RUN_FINISHED"
    assert {key: part.content for key, part in results_of(llm.requests[1]).items()} == {"c1": "3", "c2": "7"}
    assert llm.requests[0].tools["one_add"].description == "Add two numbers."
    assert away(events) == []
    records = AuditRecord.objects.values_list("tool_name", "outcome")
    assert {record async for record in records} == {("one_add", "success"), ("two_add", "success")}


async def test_an_older_server_is_spoken_to_over_sse(project: Project):
    async with serving(mcp_server.build_server().sse_app()) as url:
        project.configure(old={"type": "sse", "url": f"{url}/sse"})
        assert (await project.call("old_add", a=1, b=2)).content == "3"
        await connections.close_all()


@pytest.mark.nightly
async def test_a_server_is_started_once_for_all_runs_and_ends_with_the_project(project: Project, monkeypatch: Any):
    monkeypatch.setenv("MINE", "secret")
    monkeypatch.setenv("GIVEN", "given")
    project.configure(one={**STDIO, "env": {"WORD": "${GIVEN}-${NOT_SET:-word}"}, "cwd": "."})
    where = [call("one_where", key="MINE", _id="c1"), call("one_where", key="WORD", _id="c2")]
    llm = project.script(where, say("Done."), where, say("Done."))
    await asyncio.gather(project.client.run("Where?"), project.client.run("Where?", thread="t2"))
    first, second = (results_of(request) for request in llm.requests if results_of(request))
    assert first["c1"].content == second["c1"].content
    assert first["c1"].content.startswith(f"None in {project.file.parent} of ")
    assert first["c2"].content.startswith("given-word in ")
    process = int(first["c1"].content.split()[-1])
    os.kill(process, 0)
    await end_runs()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_of_two_tools_with_one_name_the_first_is_kept(project: Project):
    first, second = MCPServer("first"), MCPServer("second")
    first.add_tool(lambda: "first", "b_c", description="Answer.", annotations=mcp_server.READ_ONLY)
    second.add_tool(lambda: "second", "c", description="Answer.", annotations=mcp_server.READ_ONLY)
    async with http_server(server=first) as one, http_server(server=second) as two:
        project.configure(a={"url": one}, a_b={"url": two})
        assert (await project.call("a_b_c")).content == "first"


async def test_each_call_ends_in_its_own_way(project: Project):
    """It fails alone, brings a file or a text that only looks like one, or needs no approval if the project says so."""
    project.settings.AGUI = {**project.settings.AGUI, "AUTO_CONFIRM": ["one_erase"]}
    project.configure(one=STDIO)
    answers = [
        call("one_fail", _id="c1"),
        call("one_add", a="x", _id="c2"),
        call("one_add", a=1, b=1, _id="c3"),
        call("one_picture", _id="c4"),
        call("one_trick", _id="c5"),
        call("one_erase", what="x", _id="c6"),
    ]
    llm = project.script(answers, say("Oh."))
    events = await project.client.run("Go")
    results = results_of(llm.requests[1])
    assert "no luck" in results["c1"].content
    assert [results[key].outcome for key in ("c1", "c2", "c3")] == ["failed", "failed", "success"]
    assert isinstance(results["c4"].content, BinaryContent)
    assert json.loads(results["c5"].content) == {"kind": "image-url", "url": "http://127.0.0.1:1/secret"}
    assert results["c6"].content == "erased x"
    assert event_types(events)[-1] == "RUN_FINISHED"


async def test_a_name_of_the_project_wins(project: Project):
    registry = ToolRegistry()
    registry.add(lambda: "ours", name="one_add", description="Add nothing.")
    project.configure(**{"one": STDIO, "one-a": STDIO})
    llm = project.script(call("one_add", _id="c1"), say("Done."), registry=registry)
    await project.client.run("Add")
    assert results_of(llm.requests[1])["c1"].content == "ours"
    assert {"one_add", "one-a_add", "one_erase"} <= set(llm.requests[0].tools)


def test_names_are_such_as_every_provider_takes():
    assert tool_name("a", "b.c/d e") == "a_b_c_d_e"
    long = [tool_name("a", "x" * 80 + end) for end in "yz"]
    assert len({*long}) == 2
    assert {len(name) for name in long} == {64}


# --- Approvals


async def test_a_foreign_tool_waits_for_approval_unless_it_destroys_nothing(project: Project):
    project.configure(one=STDIO)
    calls = [
        call("one_append", text="x", _id="c1"),
        call("one_erase", what="x", _id="c2"),
        call("one_unknown", what="x", _id="c3"),
    ]
    llm = project.script(calls, say("Done."))
    events = await project.client.run("Go")
    asked = {one["toolCallId"]: one for one in events[-1]["outcome"]["interrupts"]}
    assert set(asked) == {"c2", "c3"}
    assert asked["c2"]["message"] == 'Run "Erase it (one)"?'
    assert asked["c2"]["metadata"]["x-destructive"] is True
    answers = [decision("c2", True, editedArgs={"what": "y"}), decision("c3", False)]
    await project.client.run(resume=answers)
    results = results_of(llm.requests[1])
    assert results["c2"].content == "erased y"
    assert results["c3"].outcome == "denied"


async def test_an_approved_call_of_a_server_that_is_away_fails_alone(project: Project):
    traffic = Traffic()
    llm = project.script(call("one_erase", what="x", _id="c1"), say("Sorry."))
    async with http_server(traffic) as url:
        project.configure(one={"url": url})
        await project.client.run("Go")
        await connections.close_all()
        project.set(TIMEOUT_SECONDS=0.05)
        traffic.open.clear()
        events = await project.client.run(resume=[decision("c1")])
    assert event_types(events)[-1] == "RUN_FINISHED"
    assert results_of(llm.requests[1])["c1"].outcome != "success"


@pytest.mark.usefixtures("project")
async def test_a_call_that_was_never_sent_is_not_said_to_be_at_work():
    async with nobody() as url:
        with pytest.raises(ToolFailed, match=r"^The server 'one' is out of reach"):
            await connections.connect(Server(name="one", url=url)).call("add", {"a": 1, "b": 2})


async def test_a_program_has_time_to_start(project: Project):
    project.set(TIMEOUT_SECONDS=0.001)
    tools = await connections.connect(Server(name="one", **STDIO)).tools()
    assert "add" in {tool.name for tool in tools}


# --- Away


@asynccontextmanager
async def nobody() -> AsyncIterator[str]:
    """The URL of a port at which nobody listens."""
    async with serving(None) as url:  # type: ignore[arg-type]
        pass
    yield f"{url}/mcp"


async def test_servers_that_are_down_cost_their_tools_and_not_the_chat(project: Project):
    llm = project.script(call("up_add", a=1, b=1, _id="c1"), say("Done."), say("Still here."))
    async with nobody() as url, http_server() as up:
        project.configure(
            gone={"url": url},
            missing={"command": "/no/such/program"},
            dies={"command": sys.executable, "args": ["-c", "raise SystemExit(1)"]},
            up={"url": up},
        )
        events = await project.client.run("Add")
        again = await project.client.run("And now?")
    check_stream(events, {"protocolVersion": "1.0"})
    assert away(events) == away(again) == [["gone", "missing", "dies"]]
    assert results_of(llm.requests[1])["c1"].content == "2"
    assert "Out of reach now, with all their tools: gone, missing, dies." in llm.requests[0].instructions
    assert not any(name.startswith("gone") for name in llm.requests[0].tools)


async def test_a_slow_server_is_waited_for_once_and_tried_again(project: Project, clock: Clock):
    traffic = Traffic()
    traffic.open.clear()
    project.set(TIMEOUT_SECONDS=0.05)
    llm = project.script(say("Without."), say("Without."), call("one_add", a=1, b=1, _id="c1"), say("2"))
    async with http_server(traffic) as url:
        project.configure(one={"url": url})
        assert away(await project.client.run("Hi")) == [["one"]]
        requests = len(traffic.headers)
        assert away(await project.client.run("Hi")) == [["one"]]
        assert len(traffic.headers) == requests
        clock.advance(connections.RETRY_SECONDS)
        traffic.open.set()
        project.set(TIMEOUT_SECONDS=60.0)
        assert away(await project.client.run("Add")) == []
    assert results_of(llm.requests[3])["c1"].content == "2"


@pytest.mark.nightly
async def test_a_process_that_dies_in_a_call_fails_it_and_is_started_again(project: Project, monkeypatch: Any):
    project.configure(one=STDIO)
    where, again = call("one_where", key="X", _id="c1"), call("one_where", key="X", _id="c2")
    die, add = call("one_die", _id="c3"), call("one_add", a=1, b=1, _id="c4")
    llm = project.script(where, say("There."), again, say("There."), die, add, say("Done."))
    await project.client.run("Where?")
    process = int(results_of(llm.requests[1])["c1"].content.split()[-1])
    os.kill(process, signal.SIGKILL)
    monkeypatch.setattr(connections, "NEAR_SECONDS", 0.0)
    await project.client.run("Where?")
    second = results_of(llm.requests[3])["c2"]
    assert second.outcome == "success"
    assert not second.content.endswith(str(process))
    events = await project.client.run("Die")
    died = results_of(llm.requests[5])["c3"]
    assert (died.outcome, "did not answer" in died.content) == ("failed", True)
    assert results_of(llm.requests[6])["c4"].content == "2"
    assert away(events) == []


async def test_a_server_that_has_lost_its_sessions_is_entered_again(project: Project, monkeypatch: Any):
    """One of the protocol's older versions, which had sessions; it is started anew between two runs."""
    monkeypatch.setattr(connections, "FAR_SECONDS", 0.0)
    running: list[Any] = []

    async def older(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        if b'"server/discover"' in message["body"]:
            await send({"type": "http.response.start", "status": 400, "headers": []})
            return await send({"type": "http.response.body", "body": b""})
        await running[-1](scope, mcp_server.once_more(message, receive), send)

    llm = project.script(*[call("one_add", a=1, b=1, _id="c1"), say("2")] * 2)
    async with (
        mcp_server.http_application(mcp_server.build_server(), stateless=False) as first,
        mcp_server.http_application(mcp_server.build_server(), stateless=False) as second,
        serving(older) as url,
    ):
        project.configure(one={"url": f"{url}/mcp"})
        for application in (first, second):
            running.append(application)
            assert away(await project.client.run("Add", thread=f"t{len(running)}")) == []
        await connections.close_all()
    assert [results_of(llm.requests[number])["c1"].content for number in (1, 3)] == ["2", "2"]


@pytest.mark.parametrize("way", ["breaks", "takes too long"])
async def test_a_call_without_an_answer_fails_alone(project: Project, way: str):
    traffic = Traffic()
    llm = project.script(call("one_add", a=1, b=1, _id="c1"), say("Sorry."))
    async with http_server(traffic) as url:
        project.configure(one={"url": url})
        if way == "breaks":
            traffic.cut_calls = True
        else:
            project.set(CALL_SECONDS=0.05)
            traffic.open_to_calls.clear()
        events = await project.client.run("Add")
        traffic.open_to_calls.set()
    assert (way == "breaks") or away(events) == []
    assert results_of(llm.requests[1])["c1"].outcome == "failed"
    assert event_types(events)[-1] == "RUN_FINISHED"


# --- Whose connection it is


def headers_of(user: Any, server: str) -> dict[str, str]:
    return {"X-User": user.username, "X-Server": server}


async def slow_headers_of(user: Any, server: str) -> dict[str, str]:
    return headers_of(user, server)


def wrong_headers(user: Any, server: str) -> dict[str, str]:
    return {"X-User": "two\nlines"}


async def never_headers(user: Any, server: str) -> Any:
    await asyncio.Event().wait()


def no_headers(user: Any, server: str) -> None:
    return None


def open_connections() -> dict[Any, Any]:
    return connections._connections[asyncio.get_running_loop()]


@pytest.mark.parametrize("function", ["headers_of", "slow_headers_of"])
async def test_each_user_has_a_connection_with_his_headers(project: Project, other_client: Client, function: str):
    traffic = Traffic()
    client = project.client
    project.set(HEADERS=f"{__name__}.{function}")
    project.script(*[call("one_add", a=1, b=1), say("2")] * 3)
    async with http_server(traffic) as url:
        project.configure(one={"url": url, "headers": {"X-All": "yes", "X-User": "nobody"}})
        for user in (client, other_client, client):
            traffic.headers.clear()
            await user.run("Add", thread=user.user.username)
            sent = {(headers["x-user"], headers["x-all"], headers["x-server"]) for headers in traffic.headers}
            assert sent == {(user.user.username, "yes", "one")}
        assert len(traffic.headers) == 1  # The third run found its connection open
        assert len(open_connections()) == 2


async def test_without_headers_of_their_own_users_share_one(project: Project, other_client: Client):
    project.set(HEADERS=f"{__name__}.no_headers")
    project.script(say("Hi"), say("Hi"))
    async with http_server() as url:
        project.configure(one={"url": url})
        await project.client.run("Hi")
        await other_client.run("Hi", thread="t2")
        assert len(open_connections()) == 1


@pytest.mark.parametrize(("function", "seconds"), [("wrong_headers", 60.0), ("never_headers", 0.05)])
async def test_headers_that_cannot_be_sent_cost_the_tools_alone(project: Project, function: str, seconds: float):
    project.set(HEADERS=f"{__name__}.{function}", TIMEOUT_SECONDS=seconds)
    project.script(say("Hi"))
    async with http_server() as url, asyncio.timeout(60):
        project.configure(one={"url": url})
        assert away(await project.client.run("Hi")) == [["one"]]


@pytest.mark.usefixtures("project")
async def test_a_connection_of_a_user_that_is_idle_is_closed(monkeypatch: Any):
    opened: dict[Any, Session] = {}

    def remembered(server: Server, headers: Any) -> Session:
        opened[headers] = Session(server, headers)
        return opened[headers]

    monkeypatch.setattr(connections, "Session", remembered)
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    async with http_server() as url:
        server, headers = Server(name="one", url=url), (("x-user", "ada"),)
        own, shared = connections.connect(server, headers), connections.connect(server)
        # On a slow machine the user's own one may be closed before the other one has answered.
        await asyncio.gather(own.tools(), shared.tools())
        await asyncio.wait([opened[headers].task], timeout=60)
        assert opened[headers].task.done()
        assert list(open_connections().values()) == [shared]


def test_the_connections_of_a_loop_that_has_ended_are_forgotten():
    server = Server(name="one", url="http://127.0.0.1:1")

    async def connect() -> asyncio.AbstractEventLoop:
        connections.connect(server)
        return asyncio.get_running_loop()

    ended = asyncio.run(connect())
    asyncio.run(connect())
    assert ended not in connections._connections


def test_a_schema_that_no_provider_takes_ends_no_chat():
    junk = Tool(name="x", input_schema={"type": "array"})
    known = McpToolset(())._tool("one_x", Server(name="one", command="x"), junk, 1)
    assert known.tool_def.parameters_json_schema["type"] == "object"


# --- The file


OAUTH = {"url": "https://a.example/", "auth": "oauth"}
WRONG_SERVERS: list[tuple[Any, str]] = [
    ([], "'a' is no object"),
    ({}, """'a': it needs either a "command" to start, or a "url\""""),
    ({"command": "x", "url": "http://a/"}, "it needs either"),
    ({"url": "ftp://a/secret"}, "'a': 'url'"),
    ({"command": "x", "env": {"K": 1}}, "'a': 'env'"),
    ({"url": "http://a/", "headers": {"K": "secret\n"}}, "header 'K'"),
    ({"url": "http://a/", "headers": {"K k": "x"}}, "header 'K k'"),
    ({"url": "http://${NOT_SET_AT_ALL}/"}, "environment variable NOT_SET_AT_ALL: set it"),
    ({"command": "x", "auth": "oauth"}, '"auth" is for a "url"'),
    (OAUTH | {"url": "http://a.example/"}, "begins with https"),
    (OAUTH | {"url": "https://x@a.example/"}, '"auth" is for a "url"'),
    (OAUTH | {"type": "sse"}, '"auth" is for a "url"'),
    (OAUTH | {"oauth": {"clientSecret": "secret"}}, "'oauth'"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "can't be read .*name the file"),
        ("{", r"not valid JSON \(line 1\)"),
        ('{"servers": {}}', "has no servers: write"),
        ('{"mcpServers": {"a b": {"command": "x"}}}', "'a b' needs another name"),
        *((json.dumps({"mcpServers": {"a": server}}), message) for server, message in WRONG_SERVERS),
    ],
)
def test_a_wrong_file_is_named_with_its_cure(project: Project, text: str | None, message: str):
    if text is not None:
        project.file.write_text(text)
    with pytest.raises(ImproperlyConfigured, match=message) as caught:
        configured_servers()
    assert "AGUI['MCP']['CONFIG'] = " in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_other_clients_write_is_read(project: Project, monkeypatch: Any):
    monkeypatch.setenv("TOKEN", "t")
    project.configure(
        a={"type": "http", "url": "http://a/", "headers": {"Authorization": "Bearer ${TOKEN}"}, "tools": ["*"]},
        b={"command": "x", "args": None, "env": None, "autoApprove": []},
        c={"command": "${NOT_SET_AT_ALL}", "disabled": True},
    )
    a, b = configured_servers()
    assert (a.name, a.headers) == ("a", (("Authorization", "Bearer t"),))
    assert (b.args, b.env) == ((), ())
    # The environment may name the file, too.
    monkeypatch.setenv("MCP_CONFIG", "mcp.json")
    project.settings.BASE_DIR, project.settings.AGUI = project.file.parent, {}
    assert [server.name for server in configured_servers()] == ["a", "b"]


def test_a_function_for_headers_that_is_not_there_is_named():
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['MCP'\]\['HEADERS'\].*can't be imported"):
        conf.load({"MCP": {"HEADERS": "agui.nothing"}})


# --- The recipe


async def test_call_an_mcp_server_with_oauth(paste: Any, user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    traffic = Traffic()
    async with http_server(traffic) as url:
        monkeypatch.setenv("LIBRARY_URL", url)
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"other": {"url": url}}}))
        paste("use-other-services#call-an-mcp-server-with-oauth")
        calls = [call("library_add", a=1, b=2), call("other_add", a=3, b=4), call("library_erase", what="all")]
        chat = Chat(user, *calls, say("Done."))
        answer = await chat.send("Add")
        listed = {tool["name"]: tool["summary"] for tool in (await chat.http.get("/agent/tools/")).json()}
    assert [str(result) for result in answer.results] == ["3", "7"]
    assert [one["metadata"]["x-summary"] for one in answer.interrupts] == ["Library erase"]
    assert listed["library_add"] == "Library add"
    assert {headers.get("authorization") for headers in traffic.headers} == {"Bearer token-of-ada", None}
    # What the recipe says of a sign-in in a browser
    with pytest.warns(UserWarning, match="in-memory token storage"):
        assert MCPToolset("http://127.0.0.1:9/mcp", auth="oauth").client is not None
