"""What a step of a transcript says about what came of it, and the model: what it answers, and what it is sent."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import RetryPromptPart, TextPart, ToolReturnPart, UserPromptPart

from agui.testing import ScriptedModel, call, fail, say, think
from tests import transcript_tools
from tests.comparing import Only, both, compare
from tests.conftest import parts_of
from tests.transcript_files import action_of
from tests.transcript_tools import Gate


def fields(names: str, **others: str) -> dict[str, str]:
    """Fields of a row, by the names that transcripts use."""
    return {name: name for name in names.split()} | others


# The rows that a transcript may look at: their model, their order, and their fields.
ROWS: dict[str, tuple[str, str, dict[str, str]]] = {
    "runs": ("agui.Run", "pk", fields("status code model usage duration_ms", thread="thread_id")),
    "tool calls": (
        "agui.AuditRecord",
        "started_at",
        fields(
            "outcome error arguments proposed via approved_by result_size",
            tool="tool_name",
            thread="thread_id",
            run="run_id",
            user="user__username",
        ),
    ),
    "messages": ("agui.Message", "pk", fields("data", thread="thread__thread_id")),
    "messages sent during runs": ("agui_queue.QueuedMessage", "pk", fields("state data")),
    "files": ("agui_attachments.Attachment", "created_at", fields("name")),
    "uses of files": ("agui_attachments.AttachmentUse", "pk", {"thread": "thread_id"}),
    "feedback": ("agui_feedback.Feedback", "pk", fields("value comment")),
    "questions of clients": ("agui_mcp.ClientQuestion", "created_at", fields("state form arguments answer result")),
    "tasks of clients": ("agui_mcp.ClientTask", "created_at", fields("state arguments result")),
}


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

    @property
    def ended(self) -> Any:
        """The outcome of a run, or the code of its error."""
        last = self.events[-1]
        return last["code"] if last["type"] == "RUN_ERROR" else last.get("outcome", {}).get("type")


class Judge:
    """Compares what a step says with what came of it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.model = Script()
        self.effects: list[Any] = []
        self.requests = 0

    async def http(self, method: str, path: str, by: str, step: dict[str, Any]) -> Reply:
        raise NotImplementedError

    def compare(self, wanted: Any, actual: Any) -> None:
        if mistake := compare(wanted, actual, self.names):
            raise Mistake(f"{mistake}\n{both(wanted, actual)}")

    def check_answer(self, reply: Reply, step: dict[str, Any]) -> None:
        action = action_of(step)
        # An error of JSON-RPC has a status of its own.
        status = range(600) if action in ("open", "submit", "mcp", "attack") else range(200, 300)
        if reply.status not in ([step["status"]] if "status" in step else status):
            raise Mistake(f"The status is {reply.status}: {reply.raw[:1000].decode()}")
        if "answer" in step:
            self.compare(step["answer"], reply.json)
        if "answer_headers" in step:
            self.compare(step["answer_headers"], dict(reply.headers))
        if reply.events and action != "attack":
            self.check_events(reply, step)

    def check_events(self, reply: Reply, step: dict[str, Any]) -> None:
        wanted, events = step.get("events", ["..."]), reply.events
        if isinstance(wanted, list):
            wanted = list(flat(wanted))
        self.compare(wanted, events)
        is_told = isinstance(wanted[-1], dict) and wanted[-1]["type"] == "RUN_ERROR"
        if not is_told:
            self.compare(step.get("ends", "interrupt" if "asks" in step else "success"), reply.ended)
        if "asks" in step:
            asks = step["asks"] if isinstance(step["asks"], dict) else {key: {} for key in step["asks"]}
            asks = {key: {"message": each} if isinstance(each, str) else each for key, each in asks.items()}
            interrupts = events[-1].get("outcome", {}).get("interrupts", [])
            self.compare(Only(asks), {interrupt["toolCallId"]: interrupt for interrupt in interrupts})
        if "custom" in step:
            self.compare(step["custom"], [event for event in events if event["type"] == "CUSTOM"])
        if "says" in step:
            deltas = [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
            self.compare(step["says"], "".join(deltas))

    def check_script(self, *, is_going_on: bool) -> None:
        if self.model.overdrawn:
            raise Mistake(f"The model was asked more often than this step says: {self.model.requests[-1].messages}")
        if self.model.answers and not is_going_on:
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
                texts.append(sign + str(message["content"]))
        self.compare(lines, texts)

    async def rows(self, name: str) -> list[dict[str, Any]]:
        model, order, columns = ROWS[name]
        found = apps.get_model(model).objects.order_by(order).values(*columns.values())
        return [{name: row[column] for name, column in columns.items()} async for row in found]


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
            [(kind, values)] = event.items()
            yield {"type": kind, **values}


# --- The model

FAILURES: dict[Any, Callable[[], BaseException]] = {
    **{code: lambda code=code: ModelHTTPError(code, "m", body={"secret": "hunter2"}) for code in (400, 401, 429, 500)},
    "crash": lambda: RuntimeError("postgres://user:hunter2@db"),
    "connection": lambda: ConnectionError("gone"),
}


class Script(ScriptedModel):
    """A model whose answers the steps give, one by one."""

    def __init__(self) -> None:
        self.answers: deque[Any] = deque()
        self.overdrawn = False
        self.always: Any = None
        """What it answers if no step says anything else."""
        super().__init__(self._next())

    def _next(self) -> Iterator[Any]:
        while True:
            self.overdrawn |= not self.answers and not self.always
            yield self.answers.popleft() if self.answers else self.always or [fail(AssertionError("no answer"))]


def answer_of(parts: list[Any], gate: Callable[[str], Gate]) -> list[Any]:
    return [_part_of(part, gate) for part in parts if part is not None]


def _part_of(part: Any, gate: Callable[[str], Gate]) -> Any:
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
            return gate(name)()
    raise ValueError(f"The model can't say {part}")


def request_view(request: Any) -> dict[str, Any]:
    """What a step says about a request to the model."""
    parts = parts_of(request)
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    return {
        "prompt": request.prompt,
        "prompts": [part.content for part in parts if isinstance(part, UserPromptPart)],
        "results": {part.tool_name: part.content for part in results},
        "calls": {part.tool_call_id: {"content": part.content, "outcome": part.outcome} for part in results},
        "lines": list(_lines_of(parts)),
        "tools": sorted(request.tools),
        "instructions": request.instructions,
        "all": str([message.parts for message in request.messages]),
    }


def _lines_of(parts: list[Any]) -> Iterator[str]:
    """The texts in their order, as a step names those of a thread."""
    for part in parts:
        match part:
            case UserPromptPart():
                yield str(part.content)
            case TextPart():
                yield f"assistant: {part.content}"
            case ToolReturnPart() | RetryPromptPart():
                yield f"tool: {part.content}"
