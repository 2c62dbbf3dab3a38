"""Play a transcript: send what its steps send, and compare what comes back with what they say.

A file in `transcripts/` has transcripts by name; `transcripts/README.md` describes the format. Nothing here asks the
engine for more than a client has, except for `ROWS` in judging.py and for the end of everything that the server still
does.
"""

import asyncio
import importlib
import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient
from mcp_message import message_of_2026

from agui import AgentConfig, DjangoAGUIView, get_urls
from agui.testing import say
from tests import transcript_tools
from tests.comparing import bind, compare
from tests.conftest import Client, played_by
from tests.judging import Judge, Mistake, Reply, answer_of
from tests.mounting import serve_urls
from tests.transcript_files import INPUT, MCP, METHODS, Transcript, action_of, rows_of
from tests.transcript_tools import Gate
from tests.wire import WireError, check_stream, read_stream

STREAM_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}

# What no answer to an attack says, and how each one ends: whatever a step takes, a run has no failure of ours.
LEAKS = ("hunter2", "Traceback", ".py", "Error(")
TAKEN_OR_REFUSED = r"4(00|13|15|22) |(?!internal_error)[a-z]"
USER = {"role": "user", "content": "hunter2"}
numbers = count()


class Wire(AsyncClient):
    """Passes a path on as it goes over the wire, too, as an ASGI server does."""

    async def generic(self, method: str, path: Any, *args: Any, **kwargs: Any) -> Any:
        self.path = str(path).partition("?")[0]
        return await super().generic(method, path, *args, **kwargs)

    async def request(self, **scope: Any) -> Any:
        return await super().request(**scope | {"path": unquote(self.path), "raw_path": self.path.encode()})


class Player(Judge):
    """Plays the steps of one transcript."""

    def __init__(self, transcript: Transcript, users: dict[str, Any], settings: Any, caplog: Any, clock: Any) -> None:
        super().__init__()
        self.transcript, self.users, self.settings, self.caplog = transcript, users, settings, caplog
        self.clock = clock
        self.gates: dict[str, Gate] = {}
        self.begun: dict[str, asyncio.Task[Reply]] = {}
        self.clients: dict[str, Client] = {}
        self.browsers: dict[str, AsyncClient] = {}
        self.page = ("", "")
        self.calls: set[str] = set()
        transcript_tools.gates = self.gate

    async def play(self, row: dict[str, Any]) -> None:
        with played_by(self.model):
            for each in self.transcript.steps:
                step: Any = row[each[1:]] if isinstance(each, str) else each
                for values in rows_of(step["values"]) if "values" in step else [{}]:
                    self.names |= row
                    self.names |= bind(values, self.names)
                    try:
                        await self.play_step(bind({key: step[key] for key in step if key != "values"}, self.names))
                    except (Mistake, WireError) as mistake:
                        place = f"{self.transcript.path.name}:{step.line}"
                        about = f" with {row | values}"[:500] if row or values else ""
                        pytest.fail(f"{self.transcript.sentence}\n{place}{about}\n{mistake}", pytrace=False)
        for gate in self.gates.values():
            gate.opened.set()
        await self.do_idle(None, "", {})
        if self.begun:
            raise ValueError(f"{self.transcript.sentence}: the runs in {list(self.begun)} have no end")

    async def play_step(self, step: dict[str, Any]) -> None:
        action = action_of(step)
        by = step.get("by", "ada")
        self.model.answers.extend(answer_of(as_list(each), self.gate) for each in as_list(step.get("model", [])))
        self.caplog.clear()
        if action in ("run", "resume", "messages"):
            reply = await self.run(by, self.run_input(step), step.get("headers", {}))
            if not self.begun:
                await self.do_idle(None, by, step)
        elif action in METHODS:
            reply = await self.http(action.upper(), step[action], by, step)
        else:
            act = getattr(self, f"do_{action}", None)  # A step may only look.
            reply = (await act(step[action], by, step) if act else None) or Reply()
        for secret in step.get("without", []):
            if secret in reply.raw.decode():
                raise Mistake(f"{secret!r} is in {reply.raw.decode()[:2000]}")
        if action not in ("begin", "release"):
            self.check_answer(reply, step)
            # A run that the server begins may go on after its answer.
            if reply.events or "model" not in step:
                self.check_script(is_going_on=bool(self.begun))
        begins_a_run = action in ("send", "post") and "model" in step and not reply.events
        if "logged" in step and step["logged"] not in self.caplog.text:
            raise Mistake(f"{step['logged']!r} is not in the log: {self.caplog.text}")
        if not begins_a_run:
            self.check_requests(step)
        await self.check_state(step)

    # --- What a step sends

    def gate(self, name: str) -> Gate:
        return self.gates.setdefault(name, Gate())

    def run_input(self, step: dict[str, Any]) -> dict[str, Any]:
        text = step.get("run") or step.get("begin")
        body = {"threadId": "t1", "runId": str(uuid4()), "protocolVersion": "1.0", "messages": []}
        if text:
            body["messages"] = [{"id": str(uuid4()), "role": "user", "content": text}]
        body |= {key: value for key, value in step.items() if key in INPUT}
        body["resume"] = self.resolved(body.get("resume"))
        return {key: value for key, value in body.items() if value is not None or key == "state"}

    def resolved(self, resume: Any) -> Any:
        """The answers to interrupts that a step names by their calls."""
        if not isinstance(resume, dict) or not resume:
            return resume
        answered = {"status": "resolved"}
        return [{"interruptId": self.names.get(key), **answered, "payload": value} for key, value in resume.items()]

    async def post(self, by: str, data: Any, step: dict[str, Any]) -> Reply:
        client = await self.client(by)
        given = {"content_type": step.get("type", "application/json"), "headers": step.get("headers", {})}
        return await self.read(await client.http.post(client.prefix, data, **given))

    async def client(self, by: str) -> Client:
        if by not in self.clients:
            user = self.users.get(by.split(" ")[0])
            prefix = "/open/" if by.startswith("visitor") else "/agent/"
            self.clients[by] = await sync_to_async(Client)(user, prefix, Wire())
        return self.clients[by]

    async def run(self, by: str, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        response = await (await self.client(by)).post(body, **headers)
        reply = await self.read(response)
        if response.status_code == 200:
            self.check_reply(reply, body)
            self.learn(reply.events)
        return reply

    async def read(self, response: Any) -> Reply:
        if not response.streaming:
            raw = response.content
        elif response.is_async:
            raw = b"".join([chunk async for chunk in response])
        else:
            raw = b""  # After a HEAD
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

    async def do_attack(self, change: Any, by: str, step: dict[str, Any]) -> Reply:
        """Add a change to a good body, or send this text: it is refused and changes nothing, or nothing is lost."""
        self.model.always = say("Yes.")
        if "everywhere" not in step:
            return await self.attack(change, by, step)
        reply = Reply()
        whole = with_ids(change)
        for path in places_of(whole):
            if ".".join(map(str, path)).startswith(step.get("at", "")):
                for value in step["everywhere"]:
                    reply = await self.attack(replaced(whole, path, value), by, step)
        return reply

    async def attack(self, change: Any, by: str, step: dict[str, Any]) -> Reply:
        body = change
        if isinstance(change, dict):
            body = {"threadId": "t1", "runId": str(uuid4()), "protocolVersion": "1.0", "messages": [USER]} | change
            answers = {"resume": self.resolved(body["resume"])} if "resume" in body else {}
            body = with_ids(body | answers)
        before = (await self.do_thread("t1", by, step)).json
        reply = await self.post_badly(body, step.get("ends", "..."), by, step)
        async with asyncio.timeout(60):
            # Redis gives a refused run's place back soon after the answer.
            while (after := (await self.do_thread("t1", by, step)).json).get("running") and not before.get("running"):
                pass
        said = before["messages"]
        if reply.status == 200 and reply.ended == "success":
            self.compare(said, after["messages"][: len(said)])
        elif before != after:
            raise Mistake(f"{before} has become {after}")
        if "anew" in step:
            thread = {"threadId": f"anew {next(numbers)}"}
            await self.post_badly(body | thread, step["anew"], by, step)
            await self.post_badly(with_ids({"messages": [USER], "runId": "r"}) | thread, "success", by, step)
            await self.do_thread(thread["threadId"], by, step)
        return reply

    async def post_badly(self, body: Any, ends: Any, by: str, step: dict[str, Any]) -> Reply:
        """Post a body, and read the answer as strictly as can be."""
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        if "raw" in step:
            data = data.replace('"@"', step["raw"])
        reply = await self.post(by, data, step)
        if leaks := [leak for leak in LEAKS if leak in reply.raw.decode()]:
            raise Mistake(f"{leaks} in {reply.raw.decode()[:2000]}")
        if reply.status == 200:
            self.check_reply(reply, body if isinstance(body, dict) else {})
            ended = reply.ended
        else:
            self.compare({"error": "...", "message": "..."}, reply.json)
            ended = f"{reply.status} {reply.json['error']}"
        allowed = as_list(ends)
        if all(compare(one, ended, {}) for one in allowed) or not re.match(TAKEN_OR_REFUSED, ended):
            raise Mistake(f"{ended!r} is none of {allowed}: {str(data)[:500]}")
        return reply

    async def do_begin(self, text: str, by: str, step: dict[str, Any]) -> None:
        body = self.run_input(step)
        self.begun[step.get("as", body["threadId"])] = asyncio.create_task(self.run(by, body, {}))
        waits = re.findall(r"'wait': '(.+?)'", str(step.get("model")))
        await self.reach(step.get("until", waits[0]))

    async def reach(self, name: str) -> None:
        """Wait until the model or a tool is at a gate."""
        reached = asyncio.create_task(self.gate(name).reached.wait())
        async with asyncio.timeout(60):
            await asyncio.wait([reached, *self.begun.values()], return_when=asyncio.FIRST_COMPLETED)
        if not reached.done():
            reached.cancel()
            raise Mistake(f"Ended before {name!r}: {[task.result() for task in self.begun.values() if task.done()]}")

    async def do_release(self, name: str, by: str, step: dict[str, Any]) -> None:
        self.gate(name).opened.set()
        if "until" in step:
            await self.reach(step["until"])

    async def do_close(self, name: str, by: str, step: dict[str, Any]) -> None:
        """Let what comes to this gate from now on wait again."""
        del self.gates[name]

    async def do_end(self, thread: str, by: str, step: dict[str, Any]) -> Reply:
        for name in as_list(step.get("release", [])):
            self.gate(name).opened.set()
        async with asyncio.timeout(60):
            reply = await self.begun.pop(thread)
        if not self.begun:
            await self.do_idle(None, by, step)
        return reply

    async def do_idle(self, _: Any, by: str, step: dict[str, Any]) -> None:
        """Wait until the server has nothing more to do, and has begun no run by itself."""
        async with asyncio.timeout(60):
            if "queue" in self.transcript.needs:
                await importlib.import_module("tests.queueing").settled()
            if "mcp" in self.transcript.needs:
                part = apps.get_app_config("agui_mcp").name
                await importlib.import_module(f"{part}.tasks").finish()

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

    async def do_settings(self, values: dict[str, Any], by: str, step: dict[str, Any]) -> None:
        self.settings.AGUI = {**self.settings.AGUI, **values}

    async def do_django(self, values: dict[str, Any], by: str, step: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self.settings, name, value)

    async def do_agent(self, name: str, by: str, step: dict[str, Any]) -> None:
        registry, config = transcript_tools.AGENTS[name]()
        view = DjangoAGUIView(registry, AgentConfig(model=self.model, **config))
        serve_urls(self.settings, get_urls(view))

    async def do_later(self, seconds: float, by: str, step: dict[str, Any]) -> None:
        self.clock.advance(seconds)

    async def do_user(self, values: dict[str, Any], by: str, step: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self.users[by], name, value)
        await self.users[by].asave()

    async def do_permit(self, permission: str, by: str, step: dict[str, Any]) -> None:
        label, _, codename = permission.partition(".")
        row = await Permission.objects.aget(codename=codename, content_type__app_label=label)
        await self.users[by].user_permissions.aadd(row)

    async def do_forbid(self, _: str, by: str, step: dict[str, Any]) -> None:
        await self.users[by].user_permissions.aclear()


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def with_ids(body: dict[str, Any]) -> dict[str, Any]:
    """Give the messages ids, unless they have some."""
    if not isinstance(body.get("messages"), list):
        return body
    named = [{"id": f"m{next(numbers)}", **one} if isinstance(one, dict) else one for one in body["messages"]]
    return {**body, "messages": named}


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a body."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places_of(inner, (*path, key))


def replaced(body: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A body with this value at that place."""
    changed: dict[str, Any] = json.loads(json.dumps(body))
    *parents, last = path
    place: Any = changed
    for key in parents:
        place = place[key]
    place[last] = value
    return changed
