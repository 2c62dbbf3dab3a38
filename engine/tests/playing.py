"""Play a transcript: send what its steps send, and compare what comes back with what they say.

A file in `transcripts/` has transcripts by name; `transcripts/README.md` describes the format. Nothing here asks the
engine for more than a client has, except for `ROWS` and for the end of everything that the server still does.
"""

import asyncio
import importlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient
from mcp_message import message_of_2026
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ToolReturnPart, UserPromptPart

from agui import AgentConfig, DjangoAGUIView, get_urls
from agui.testing import ScriptedModel, call, fail, say, think, wait
from tests import transcript_tools
from tests.comparing import Only, bind, compare, side_by_side
from tests.conftest import Client, parts_of, played_by
from tests.transcript_tools import Gate
from tests.wire import WireError, check_stream, read_stream

yaml = pytest.importorskip("yaml")

INPUT = {"threadId", "runId", "messages", "tools", "state", "context", "forwardedProps", "parentRunId"}
INPUT |= {"protocolVersion", "resume"}
STREAM = {"events", "custom", "ends", "asks", "says", "answer", "status"}
METHODS = ("get", "post", "put", "patch", "delete")
HTTP = {"body", "text", "type", "headers", "status", "answer", "answer_headers"}
MCP = {"name", "arguments", "taskId", "inputResponses", "requestState", "can", "about", "status", "result", "error"}
BROWSER = {"status", "shows", "answer_headers"}
STREAM_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform"}
STREAM_HEADERS["X-Accel-Buffering"] = "no"
# What each kind of step may have beside its first key.
ACTIONS: dict[str, set[str]] = {
    **dict.fromkeys(["run", "resume", "messages"], INPUT | STREAM | {"run", "model", "headers"}),
    "begin": INPUT | {"model", "until"},
    "release": {"until"},
    "close": set(),
    "end": STREAM | {"release"},
    "follow": STREAM | {"after", "model"},
    **dict.fromkeys(METHODS, HTTP | {"model"}),
    "send": {"id", "message", "mode", "expected_run", "context", "status", "answer", "model"},
    "mcp": MCP,
    "open": BROWSER,
    "submit": BROWSER | {"to"},
    "upload": {"text", "answer", "status"},
    "thread": {"answer"},
    **{key: set() for key in ("settings", "django", "agent", "later", "user", "permit", "forbid", "idle")},
    **{key: set() for key in ("effects", "rows", "lines", "waiting")},
}
ANY_STEP = {"by", "values", "effects", "rows", "lines", "waiting", "sent", "logged", "without"}

FAILURES: dict[Any, Callable[[], BaseException]] = {
    **{code: lambda code=code: ModelHTTPError(code, "m", body={"secret": "hunter2"}) for code in (401, 429, 500)},
    "crash": lambda: RuntimeError("postgres://user:hunter2@db"),
    "connection": lambda: ConnectionError("gone"),
}
# The rows that a transcript may look at: their model, their order, and the fields by the names that transcripts use.
ROWS: dict[str, tuple[str, str, dict[str, str]]] = {
    "runs": (
        "agui.Run",
        "pk",
        {"thread": "thread_id", **{name: name for name in ("status", "code", "model", "usage", "duration_ms")}},
    ),
    "tool calls": (
        "agui.AuditRecord",
        "started_at",
        {name: name for name in ("outcome", "error", "arguments", "proposed", "via", "approved_by", "result_size")}
        | {"tool": "tool_name", "thread": "thread_id", "run": "run_id", "user": "user__username"},
    ),
    "messages sent during runs": ("agui_queue.QueuedMessage", "pk", {"state": "state", "data": "data"}),
    "uses of files": ("agui_attachments.AttachmentUse", "pk", {"thread": "thread_id"}),
    "questions of clients": (
        "agui_mcp.ClientQuestion",
        "created_at",
        {name: name for name in ("state", "form", "arguments", "answer", "result")},
    ),
    "tasks of clients": (
        "agui_mcp.ClientTask",
        "created_at",
        {name: name for name in ("state", "arguments", "result")},
    ),
}


# --- Files


class Mapping(dict[str, Any]):
    """A mapping that knows its line."""

    line = 0


class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
    """YAML with JSON's scalars: no dates, no `yes`, no octal numbers, and no key twice."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def mapping(self, node: Any) -> Mapping:
        keys = [key.value for key, _ in node.value]
        self.flatten_mapping(node)
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"{node.start_mark}: {twice} twice")
        made = Mapping(self.construct_pairs(node, deep=True))
        made.line = node.start_mark.line + 1
        return made


def _times(loader: Any, node: Any) -> str:
    text, count = loader.construct_sequence(node)
    return str(text) * int(count)


Loader.add_constructor("tag:yaml.org,2002:map", Loader.mapping)
Loader.add_constructor("!only", lambda loader, node: Only(loader.mapping(node)))
Loader.add_constructor("!times", _times)
NUMBER = r"-?(?:0|[1-9]\d*)"
for tag, pattern, first in (
    ("bool", "true|false", "tf"),
    ("null", "null", "n"),
    ("int", NUMBER, "-0123456789"),
    ("float", rf"{NUMBER}(?:\.\d+)?(?:[eE][-+]?\d+)?", "-0123456789"),
    ("merge", "<<", "<"),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), list(first))


@dataclass
class Transcript:
    """One behaviour: a sentence, and the steps that show it."""

    path: Path
    sentence: str
    steps: list[Mapping]
    needs: list[str]
    is_of_databases: bool
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The values with which the whole transcript is played."""


def read(path: Path) -> Iterator[Transcript]:
    """Read a file of transcripts. A mistake in one is an error of the file."""
    document = yaml.load(path.read_text(), Loader)  # a SafeLoader
    about = {key: document.pop(key) for key in ("needs", "database", "before", "shared") if key in document}
    for sentence, steps in document.items():
        if not re.match("[A-Z]", sentence):
            raise ValueError(f"{path}: {sentence!r} is no sentence")
        rows: list[dict[str, Any]] = []
        if set(steps[0]) == {"values"}:
            rows = list(rows_of(steps[0]["values"]))
            steps = steps[1:]
        steps = [*about.get("before", []), *steps]
        for step in steps:
            # A step may be a value of the rows: `$name`.
            for each in [row[step[1:]] for row in rows] if isinstance(step, str) else [step]:
                check_keys(path, each)
        yield Transcript(path, sentence, steps, about.get("needs", []), "database" in about, rows)


def action_of(step: dict[str, Any]) -> str:
    """Its first key, before which there may be the values with which it is played."""
    return next(key for key in step if key != "values")


def check_keys(path: Path, step: Mapping) -> None:
    action = action_of(step)
    if action not in ACTIONS:
        raise ValueError(f"{path}:{step.line}: there is no step {action!r}")
    if unknown := step.keys() - {action} - ACTIONS[action] - ANY_STEP:
        raise ValueError(f"{path}:{step.line}: a step {action!r} has no {sorted(unknown)}")


def rows_of(values: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """`{a: [1, 2]}` are two rows, and so is `{"a, b": [[1, 2], [3, 4]]}`."""
    [(header, rows)] = values.items()
    names = header.split(", ")
    for row in rows:
        yield dict(zip(names, row if len(names) > 1 else [row], strict=True))


# --- The model


class Script(ScriptedModel):
    """A model whose answers the steps give, one by one."""

    def __init__(self) -> None:
        self.answers: deque[Any] = deque()
        self.overdrawn = False
        super().__init__(self._next())

    def _next(self) -> Iterator[Any]:
        while True:
            self.overdrawn |= not self.answers
            yield self.answers.popleft() if self.answers else [fail(AssertionError("no answer"))]


def request_view(request: Any) -> dict[str, Any]:
    """What a step says about a request to the model."""
    parts = parts_of(request)
    prompts = [part.content for part in parts if isinstance(part, UserPromptPart)]
    results = {part.tool_name: part.content for part in parts if isinstance(part, ToolReturnPart)}
    return {
        "prompt": request.prompt,
        "prompts": prompts,
        "results": results,
        "tools": sorted(request.tools),
        "instructions": request.instructions,
        "all": str([message.parts for message in request.messages]),
    }


# --- The play


class Mistake(AssertionError):
    """A step did not go as it says."""


@dataclass
class Reply:
    """What came back for a step."""

    raw: bytes = b""
    status: int = 200
    events: list[Any] = field(default_factory=list)
    headers: Any = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.raw) if self.raw else None


class Player:
    """Plays the steps of one transcript."""

    def __init__(self, transcript: Transcript, users: dict[str, Any], settings: Any, caplog: Any, clock: Any) -> None:
        self.transcript, self.users, self.settings, self.caplog = transcript, users, settings, caplog
        self.clock = clock
        self.names: dict[str, Any] = {}
        self.model = Script()
        self.gates: dict[str, Gate] = {}
        self.begun: dict[str, asyncio.Task[Reply]] = {}
        self.clients: dict[str, Client] = {}
        self.browsers: dict[str, AsyncClient] = {}
        self.page = ("", "")
        self.calls: set[str] = set()
        self.effects: list[Any] = []
        self.requests = 0
        transcript_tools.gates = self.gate

    async def play(self, row: dict[str, Any]) -> None:
        with played_by(self.model):
            for each in self.transcript.steps:
                step: Any = row[each[1:]] if isinstance(each, str) else each
                for values in rows_of(step["values"]) if "values" in step else [{}]:
                    self.names |= row | values
                    if mistake := await self.play_step(step):
                        place = f"{self.transcript.path.name}:{step.line}"
                        about = f" with {row | values}" if row or values else ""
                        pytest.fail(f"{self.transcript.sentence}\n{place}{about}\n{mistake}", pytrace=False)
        for gate in self.gates.values():
            gate.opened.set()
        await self.do_idle(None, "", {})
        if self.begun:
            raise ValueError(f"{self.transcript.sentence}: the runs in {list(self.begun)} have no end")

    async def play_step(self, step: dict[str, Any]) -> str:
        """Return what did not go as the step says."""
        try:
            await self.try_step(bind({key: step[key] for key in step if key != "values"}, self.names))
        except (Mistake, WireError) as mistake:
            return str(mistake)
        return ""

    async def try_step(self, step: dict[str, Any]) -> None:
        action = action_of(step)
        by = step.get("by", "ada")
        self.model.answers.extend(map(self.answer, as_list(step.get("model", []))))
        self.caplog.clear()
        if action in ("run", "resume", "messages"):
            reply = await self.run(by, self.run_input(step), step.get("headers", {}))
            if not self.begun:
                await self.do_idle(None, by, step)
        elif action in METHODS:
            reply = await self.http(action.upper(), step[action], by, step)
        else:
            reply = await getattr(self, f"do_{action}", self.no_action)(step[action], by, step)
        for secret in step.get("without", []):
            if secret in reply.raw.decode():
                raise Mistake(f"{secret!r} is in {reply.raw.decode()[:2000]}")
        if action not in ("begin", "release"):
            self.check_answer(reply, step)
            # A run that the server begins may go on after its answer.
            if reply.events or "model" not in step:
                self.check_script(step)
        is_going_on = action in ("send", "post") and "model" in step and not reply.events
        if "logged" in step and step["logged"] not in self.caplog.text:
            raise Mistake(f"{step['logged']!r} is not in the log: {self.caplog.text}")
        if not is_going_on:
            self.check_requests(step)
        await self.check_state(step)

    async def no_action(self, value: Any, by: str, step: dict[str, Any]) -> Reply:
        """Only look."""
        return Reply()

    # --- What a step sends

    def answer(self, answer: Any) -> list[Any]:
        return [self.part(part) for part in as_list(answer) if part is not None]

    def part(self, part: Any) -> Any:
        if isinstance(part, str):
            return say(part)
        match dict(part):
            case {"say": text, **rest}:
                return say(text, **rest)
            case {"think": text, **rest}:
                return think(text, **rest)
            case {"call": name, "json": text, **rest}:
                return call(name, _json=text, _id=rest.get("id", ""))
            case {"call": name, **rest}:
                return call(name, _id=rest.get("id", ""), **rest.get("with", {}))
            case {"fail": kind}:
                return fail(FAILURES[kind]())
            case {"wait": name}:
                gate = self.gate(name)
                return wait(gate.opened, gate.reached)
        raise ValueError(f"The model can't say {part}")

    def gate(self, name: str) -> Gate:
        return self.gates.setdefault(name, Gate())

    def run_input(self, step: dict[str, Any]) -> dict[str, Any]:
        text = step.get("run") or step.get("begin")
        body = {"threadId": "t1", "runId": str(uuid4()), "protocolVersion": "1.0", "messages": []}
        if text:
            body["messages"] = [{"id": str(uuid4()), "role": "user", "content": text}]
        body |= {key: value for key, value in step.items() if key in INPUT}
        if isinstance(body.get("resume"), dict):
            body["resume"] = [
                {"interruptId": self.names.get(call_id), "status": "resolved", "payload": payload}
                for call_id, payload in body["resume"].items()
            ]
        return {key: value for key, value in body.items() if value is not None or key == "state"}

    async def client(self, by: str) -> Client:
        if by not in self.clients:
            user = self.users.get(by.split(" ")[0])
            self.clients[by] = await sync_to_async(Client)(user, "/open/" if by.startswith("visitor") else "/agent/")
        return self.clients[by]

    async def run(self, by: str, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        response = await (await self.client(by)).post(body, **headers)
        reply = await self.read(response)
        if response.status_code == 200:
            self.check_reply(reply, body)
            self.learn(reply.events)
        return reply

    async def read(self, response: Any) -> Reply:
        raw = b"".join([chunk async for chunk in response]) if response.streaming else response.content
        reply = Reply(raw, response.status_code, headers=response.headers)
        if response.headers.get("Content-Type", "").startswith("text/event-stream"):
            reply.events = read_stream(raw)
        return reply

    def check_reply(self, reply: Reply, body: dict[str, Any]) -> None:
        """Check what is true of each stream: its headers, its bytes, the forms and the order of its events."""
        check_stream(reply.events, body, calls=self.calls)
        ids = re.findall(rb"^id: (.+):(\d+)$", reply.raw, re.MULTILINE)
        if [(ids[0][0], b"%d" % number) for number in range(1, len(reply.events) + 1)] != ids:
            raise Mistake(f"The frames are not numbered from 1: {ids}")
        self.compare(STREAM_HEADERS, dict(reply.headers))

    def learn(self, events: list[dict[str, Any]]) -> None:
        """Keep the ids of calls, and of interrupts by the ids of their calls."""
        self.calls |= {event["toolCallId"] for event in events if "toolCallId" in event}
        for interrupt in events[-1].get("outcome", {}).get("interrupts", []):
            self.names[interrupt["toolCallId"]] = interrupt["id"]

    async def do_begin(self, text: str, by: str, step: dict[str, Any]) -> Reply:
        body = self.run_input(step)
        self.begun[body["threadId"]] = asyncio.create_task(self.run(by, body, {}))
        waits = re.findall(r"'wait': '(.+?)'", str(step.get("model")))
        await self.reach(step.get("until", waits[0]))
        return Reply()

    async def reach(self, name: str) -> None:
        """Wait until the model or a tool is at a gate."""
        reached = asyncio.create_task(self.gate(name).reached.wait())
        async with asyncio.timeout(60):
            await asyncio.wait([reached, *self.begun.values()], return_when=asyncio.FIRST_COMPLETED)
        if not reached.done():
            reached.cancel()
            raise Mistake(f"Ended before {name!r}: {[task.result() for task in self.begun.values() if task.done()]}")

    async def do_release(self, name: str, by: str, step: dict[str, Any]) -> Reply:
        self.gate(name).opened.set()
        if "until" in step:
            await self.reach(step["until"])
        return Reply()

    async def do_close(self, name: str, by: str, step: dict[str, Any]) -> Reply:
        """Let what comes to this gate from now on wait again."""
        del self.gates[name]
        return Reply()

    async def do_end(self, thread: str, by: str, step: dict[str, Any]) -> Reply:
        for name in as_list(step.get("release", [])):
            self.gate(name).opened.set()
        async with asyncio.timeout(60):
            reply = await self.begun.pop(thread)
        if not self.begun:
            await self.do_idle(None, by, step)
        return reply

    async def do_idle(self, _: Any, by: str, step: dict[str, Any]) -> Reply:
        """Wait until the server has nothing more to do, and has begun no run by itself."""
        async with asyncio.timeout(60):
            if "queue" in self.transcript.needs:
                await importlib.import_module("tests.queueing").settled()
            if "mcp" in self.transcript.needs:
                part = apps.get_app_config("agui_mcp").name
                await importlib.import_module(f"{part}.tasks").finish()
        return Reply()

    async def do_follow(self, thread: str, by: str, step: dict[str, Any]) -> Reply:
        headers = {"Last-Event-ID": step["after"]} if "after" in step else {}
        reply = await self.read(await (await self.client(by)).get(f"threads/{thread}/events/", **headers))
        await self.do_idle(None, by, step)
        return reply

    async def http(self, method: str, path: str, by: str, step: dict[str, Any]) -> Reply:
        client = await self.client(by)
        data = step["text"] if "text" in step else json.dumps(step["body"]) if "body" in step else ""
        url = path if path.startswith("/") else client.prefix + path
        given = {"content_type": step.get("type", "application/json"), "headers": step.get("headers", {})}
        async with asyncio.timeout(60):
            return await self.read(await client.http.generic(method, url, data, **given))

    async def do_send(self, text: Any, by: str, step: dict[str, Any]) -> Reply:
        """Send a message while the agent works; its id is its text if the step gives none."""
        message = step.get("message", {"id": step.get("id", text), "role": "user", "content": text})
        body = {"message": message, **{key: step[key] for key in ("mode", "expected_run", "context") if key in step}}
        return await self.http("POST", "threads/t1/messages/", by, {"body": body})

    async def do_thread(self, thread: str, by: str, step: dict[str, Any]) -> Reply:
        return await self.http("GET", f"threads/{thread}/", by, {})

    async def do_upload(self, name: str, by: str, step: dict[str, Any]) -> Reply:
        client = await self.client(by)
        file = SimpleUploadedFile(name, step.get("text", "x").encode())
        return await self.read(await client.http.post(f"{client.prefix}attachments/", {"file": file}))

    # --- MCP, and the pages that a person opens

    async def do_mcp(self, method: str, by: str, step: dict[str, Any]) -> Reply:
        params = {key: step[key] for key in MCP - {"can", "about", "status", "result", "error"} if key in step}
        if method == "tools/call":
            params.setdefault("arguments", {})
        about = step.get("about", params.get("name", params.get("taskId", "")))
        body, headers = message_of_2026(method, about, params, step.get("can", {}))
        headers["Accept"] = "application/json, text/event-stream"
        reply = await self.http("POST", "mcp/", by, {"body": body, "headers": headers})
        error = step.get("error")
        wanted = {"error": error} if error else {"error": None, "result": step.get("result") or "..."}
        self.compare(wanted, reply.json)
        return reply

    async def browser(self, by: str) -> AsyncClient:
        if by not in self.browsers:
            self.browsers[by] = AsyncClient(enforce_csrf_checks=True)
            if self.users.get(by):
                await sync_to_async(self.browsers[by].force_login)(self.users[by])
        return self.browsers[by]

    async def do_open(self, path: str, by: str, step: dict[str, Any]) -> Reply:
        path = path.removeprefix("http://testserver")
        url = path if path.startswith("/") else f"/agent/{path}"
        reply = await self.read(await (await self.browser(by)).get(url))
        self.page = url, reply.raw.decode()
        self.check_page(reply, step, 200)
        return reply

    async def do_submit(self, form: dict[str, str], by: str, step: dict[str, Any]) -> Reply:
        """Submit the form of the page that was opened last, with its hidden fields."""
        url, page = self.page
        fields = dict(re.findall(r'name="(csrfmiddlewaretoken|shown)" value="(\w+)"', page)) | form
        fields = {name: value for name, value in fields.items() if value is not None}
        reply = await self.read(await (await self.browser(by)).post(step.get("to", url), fields))
        self.check_page(reply, step, 303)
        return reply

    def check_page(self, reply: Reply, step: dict[str, Any], status: int) -> None:
        if reply.status != step.get("status", status):
            raise Mistake(f"The page has the status {reply.status}: {reply.raw.decode()[:500]}")
        for words in step.get("shows", []):
            if words not in reply.raw.decode():
                raise Mistake(f"The page does not show {words!r}: {reply.raw.decode()}")

    # --- What is around it

    async def do_settings(self, values: dict[str, Any], by: str, step: dict[str, Any]) -> Reply:
        self.settings.AGUI = {**self.settings.AGUI, **values}
        return Reply()

    async def do_django(self, values: dict[str, Any], by: str, step: dict[str, Any]) -> Reply:
        for name, value in values.items():
            setattr(self.settings, name, value)
        return Reply()

    async def do_agent(self, name: str, by: str, step: dict[str, Any]) -> Reply:
        registry, config = transcript_tools.AGENTS[name]()
        view = DjangoAGUIView(registry, AgentConfig(model=self.model, **config))
        self.settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": get_urls(view)})
        return Reply()

    async def do_later(self, seconds: float, by: str, step: dict[str, Any]) -> Reply:
        self.clock.advance(seconds)
        return Reply()

    async def do_user(self, values: dict[str, Any], by: str, step: dict[str, Any]) -> Reply:
        for name, value in values.items():
            setattr(self.users[by], name, value)
        await self.users[by].asave()
        return Reply()

    async def do_permit(self, permission: str, by: str, step: dict[str, Any]) -> Reply:
        label, _, codename = permission.partition(".")
        row = await Permission.objects.aget(codename=codename, content_type__app_label=label)
        await self.users[by].user_permissions.aadd(row)
        return Reply()

    async def do_forbid(self, _: str, by: str, step: dict[str, Any]) -> Reply:
        await self.users[by].user_permissions.aclear()
        return Reply()

    # --- What a step says about it

    def compare(self, wanted: Any, actual: Any) -> None:
        if mistake := compare(wanted, actual, self.names):
            raise Mistake(f"{mistake}\n{side_by_side(wanted, actual)}")

    def check_answer(self, reply: Reply, step: dict[str, Any]) -> None:
        action = action_of(step)
        # An error of JSON-RPC has a status of its own.
        status = range(600) if action in ("open", "submit", "mcp") else range(200, 300)
        if reply.status not in ([step["status"]] if "status" in step else status):
            raise Mistake(f"The status is {reply.status}: {reply.raw[:1000].decode()}")
        if "answer" in step:
            self.compare(step["answer"], reply.json)
        if "answer_headers" in step:
            self.compare(step["answer_headers"], dict(reply.headers))
        if reply.events:
            self.check_events(reply.events, step)

    def check_events(self, events: list[dict[str, Any]], step: dict[str, Any]) -> None:
        wanted = step.get("events", ["..."])
        if isinstance(wanted, list):
            wanted = list(flat(wanted))
        self.compare(wanted, events)
        last = events[-1]
        outcome = last.get("outcome", {})
        ended = last["code"] if last["type"] == "RUN_ERROR" else outcome.get("type")
        is_told = isinstance(wanted[-1], dict) and wanted[-1]["type"] == "RUN_ERROR"
        if not is_told:
            self.compare(step.get("ends", "interrupt" if "asks" in step else "success"), ended)
        if "asks" in step:
            asks = step["asks"] if isinstance(step["asks"], dict) else {key: {} for key in step["asks"]}
            asks = {key: {"message": each} if isinstance(each, str) else each for key, each in asks.items()}
            interrupts = {interrupt["toolCallId"]: interrupt for interrupt in outcome.get("interrupts", [])}
            self.compare(Only(asks), interrupts)
        if "custom" in step:
            self.compare(step["custom"], [event for event in events if event["type"] == "CUSTOM"])
        if "says" in step:
            deltas = [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
            self.compare(step["says"], "".join(deltas))

    def check_script(self, step: dict[str, Any]) -> None:
        if self.model.overdrawn:
            raise Mistake(f"The model was asked more often than this step says: {self.model.requests[-1].messages}")
        if self.model.answers and not self.begun:
            raise Mistake(f"The model was not asked for {list(self.model.answers)}")

    def check_requests(self, step: dict[str, Any]) -> None:
        if "sent" in step:
            requests = [request_view(request) for request in self.model.requests[self.requests :]]
            self.compare(step["sent"], requests)
        self.requests = len(self.model.requests)

    async def check_state(self, step: dict[str, Any]) -> None:
        if "lines" in step:
            thread = step.get("thread", step.get("threadId", "t1"))
            await self.check_lines(thread, step["lines"], step.get("by", "ada"))
        if "waiting" in step:
            listed = await self.http("GET", "threads/t1/messages/", step.get("by", "ada"), {})
            self.compare(step["waiting"], [row["message"]["content"] for row in listed.json["messages"]])
        for name, rows in step.get("rows", {}).items():
            self.compare(rows, await self.rows(name))
        self.effects = step.get("effects", self.effects)
        if transcript_tools.effects != self.effects:
            raise Mistake(f"The tools have done {transcript_tools.effects}, and not {self.effects}")

    async def check_lines(self, thread: str, lines: list[str], by: str) -> None:
        """Compare a thread's texts: the user's words, and the agent's with a sign before them."""
        reply = await self.http("GET", f"threads/{thread}/", by, {})
        texts = []
        for message in reply.json["messages"]:
            sign = "" if message["role"] == "user" else f"{message['role']}: "
            if message.get("content"):
                texts.append(sign + message["content"])
        self.compare(lines, texts)

    async def rows(self, name: str) -> list[dict[str, Any]]:
        model, order, fields = ROWS[name]
        found = apps.get_model(model).objects.order_by(order).values(*fields.values())
        return [{name: row[column] for name, column in fields.items()} async for row in found]


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def flat(events: list[Any]) -> Iterator[Any]:
    """Expected events in one form: a type, or a type with fields."""
    for event in events:
        if isinstance(event, list):
            yield from flat(event)
        elif isinstance(event, str):
            yield event if event == "..." else {"type": event}
        elif "type" in event:
            yield event
        else:
            [(kind, fields)] = event.items()
            yield {"type": kind, **fields}
