"""The messages of a thread that wait: list, add, edit, move, take back, send."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from uuid import uuid4

from django.apps import apps
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.queue import events, rows
from agui.contrib.queue.conf import QueueSettings
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.queue.next_run import NextRun
from agui.contrib.queue.rows import Queue
from agui.errors import BadRequest, Conflict, HttpError, NotFound, RunFailed, UnsupportedMediaType
from agui.events.frames import to_data
from agui.http.bodies import parsed, read_body
from agui.http.thread_actions import ThreadAction
from agui.http.threads import OwnThread, ThreadView
from agui.http.throttle import throttle
from agui.http.views import DjangoAGUIView
from agui.models import Run
from agui.protocol.inbound import load
from agui.protocol.run_input import check_message_id, parse_run_input
from agui.protocol.strict_json import parse_json
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs.live import live
from agui.runs.shutdown import shutdown

# The fields of a RunAgentInput that a run gets which begins with this request.
OF_RUN = ("tools", "context", "state", "forwardedProps", "protocolVersion")


class Waits(Conflict):
    code = "paused"
    message = _("The conversation waits for your decision. Answer all open questions first.")


@dataclass(frozen=True)
class Wanted:
    """What a client asks for."""

    body: dict[str, Any]
    run_input: RunAgentInput
    """The messages and fields of the body."""

    @property
    def message(self) -> Any:
        return self.run_input.messages[0] if self.run_input.messages else None


class ThreadMessagesView(ThreadAction):
    """The messages that wait until the agent reads them.

    POST adds one, PATCH edits or moves one, DELETE takes one back. A POST without a message sends
    those that wait.
    """

    methods = frozenset({"GET", "POST", "PATCH", "DELETE"})
    action = "messages"
    runs_agents = True

    def __init__(self, thread: ThreadView, run_view: DjangoAGUIView, **access: Any) -> None:
        super().__init__(thread, **access)
        self.run_view = run_view

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(ThreadView.mounted(view), view, **view.access)

    def max_body_bytes(self) -> int:
        return conf.get().max_body_bytes

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        thread = OwnThread.open(request, actor, kwargs["thread_id"])
        queue = Queue(thread.scope, thread.id)
        config: Any = apps.get_app_config("agui_queue")
        if not config.modes():
            raise NotFound
        if request.method in ("GET", "HEAD"):
            return await self.list(thread, queue)
        if request.method == "DELETE":
            return await self.take_back(queue, request.GET.get("message_id", ""))
        wanted = await read(request, thread.id)
        if request.method == "PATCH":
            return await self.change(queue, wanted)
        shutdown.refuse_runs()
        await throttle(request, actor)
        next_run = NextRun(queue, wanted.run_input, partial(self.start, request, actor))
        if wanted.message is None:
            return await self.send(thread, queue, next_run)
        return await self.add(thread, queue, actor, wanted, next_run)

    def start(
        self, request: HttpRequest, actor: Actor, log: RunLog, run_input: RunAgentInput
    ) -> None:
        self.run_view.start(request, actor, run_input, log, path_of_endpoint(request))

    async def list(self, thread: OwnThread, queue: Queue) -> HttpResponse:
        is_running = await thread.is_running()
        waiting: list[QueuedMessage] = await in_database(queue.load)
        if not waiting:
            await thread.find()
        if waiting and is_running:
            # A run that began after these messages does not know them.
            await live.logs.tell(queue.scope, queue.thread_id)
        return await in_database(listing, queue, waiting)

    async def add(
        self, thread: OwnThread, queue: Queue, actor: Actor, wanted: Wanted, next_run: NextRun
    ) -> HttpResponse:
        mode = read_mode(wanted.body) or conf.part(QueueSettings).modes[0]
        expected_run = wanted.body.get("expected_run")
        if not isinstance(expected_run, str | None):
            raise BadRequest("expected_run is the id of a run.")
        await load([wanted.message], wanted.run_input)  # This refuses what no run could read.
        await thread.is_running()  # This recovers what a dead process left.
        row, refusal = await next_run.add(actor, wanted.message, mode, expected_run)
        return await in_database(added, queue, row, refusal)

    async def send(self, thread: OwnThread, queue: Queue, next_run: NextRun) -> HttpResponse:
        if await thread.is_running():
            raise Conflict
        stand = await in_database(stand_of, queue)
        if stand["held"] == Run.Status.PAUSED:
            raise Waits
        if not await in_database(queue.waiting().exists):
            await thread.find()
        refusal = None
        try:
            await next_run.begin()
        except RunFailed as error:
            refusal = describe(error)
        stand = await in_database(stand_of, queue)
        return JsonResponse({**stand, "refusal": refusal}, status=202)

    async def change(self, queue: Queue, wanted: Wanted) -> HttpResponse:
        body = wanted.body
        message_id = read_id(body.get("message_id"))
        position = body.get("position")
        if position is not None and (type(position) is not int or not 0 <= position <= 1000):
            raise BadRequest("position is a number from 0.")
        if wanted.message is not None:
            if wanted.message.id != message_id:
                raise BadRequest("An edited message keeps its id.")
            await load([wanted.message], wanted.run_input)
        row: QueuedMessage = await in_database(
            partial(
                rows.change,
                queue,
                message_id,
                message=wanted.message,
                mode=read_mode(body),
                position=position,
            )
        )
        response, event = await in_database(changed, queue, row)
        await live.logs.tell(queue.scope, queue.thread_id, event)
        return response

    async def take_back(self, queue: Queue, message_id: str) -> HttpResponse:
        read_id(message_id)
        if await in_database(rows.take_back, queue, message_id):
            event = events.removed(message_id)
            await live.logs.tell(queue.scope, queue.thread_id, to_data(event))
        return HttpResponse(status=204)


async def read(request: HttpRequest, thread_id: str) -> Wanted:
    """Read a body. Raises the errors of a run's body."""
    if request.content_type != "application/json":
        raise UnsupportedMediaType
    return await parsed(parse, read_body(request, conf.get().max_body_bytes), thread_id)


def parse(body: bytes, thread_id: str) -> Wanted:
    payload = parse_json(body)
    if not isinstance(payload, dict):
        raise BadRequest("The body is not a JSON object.")
    message = payload.get("message")
    if message is not None and (not isinstance(message, dict) or message.get("role") != "user"):
        raise BadRequest("message is a message with the role user.")
    run_input = {
        "threadId": thread_id,
        "runId": str(uuid4()),
        "messages": [] if message is None else [message],
    }
    for key in OF_RUN:
        if key in payload:
            run_input[key] = payload[key]
    return Wanted(payload, parse_run_input(json.dumps(run_input).encode())[0])


def read_mode(body: dict[str, Any]) -> str | None:
    mode = body.get("mode")
    allowed = conf.part(QueueSettings).modes
    if mode is not None and mode not in allowed:
        raise BadRequest(f"mode is one of: {', '.join(allowed)}.")
    return mode


def read_id(message_id: Any) -> str:
    if not isinstance(message_id, str):
        raise BadRequest("Send the message_id.")
    check_message_id(message_id)
    return message_id


def stand_of(queue: Queue) -> dict[str, Any]:
    """Say which run is active, or how the last one has ended, so that messages wait."""
    last = rows.last_run(queue)
    if last is None:
        return {"run": None, "held": None}
    if last["status"] == Run.Status.RUNNING:
        run = {"run_id": last["run_id"], "started_at": last["started_at"].isoformat()}
        return {"run": run, "held": None}
    return {"run": None, "held": last["status"]}


# A message can be as large as a body, so these responses are written in a thread of the database.


def listing(queue: Queue, waiting: list[QueuedMessage]) -> HttpResponse:
    messages = [events.to_json(row, number) for number, row in enumerate(waiting)]
    return JsonResponse({"messages": messages, **stand_of(queue)})


def added(queue: Queue, row: QueuedMessage, refusal: Any) -> HttpResponse:
    row.refresh_from_db()
    described = {**events.to_json(row, queue.index(row)), **stand_of(queue)}
    described["refusal"] = describe(refusal) if refusal else None
    return JsonResponse(described, status=202)


def changed(queue: Queue, row: QueuedMessage) -> tuple[HttpResponse, bytes]:
    """Return the response, and the event for those who follow the run."""
    index = queue.index(row)
    return JsonResponse(events.to_json(row, index)), to_data(events.changed(row, index or 0))


def describe(error: HttpError | RunFailed) -> dict[str, str]:
    """Say why no run could begin."""
    sentence = error.sentence if isinstance(error, HttpError) else error
    return {"error": error.code, "message": str(sentence)}


def path_of_endpoint(request: HttpRequest) -> str:
    """Find the path of the agent's own endpoint: the part of this one before `threads/`."""
    route = request.resolver_match.route if request.resolver_match else ""
    depth = route.partition("threads/<path:")[0].count("/")
    parts = request.path_info.lstrip("/").split("/")[:depth]
    return "/" + "".join(f"{part}/" for part in parts)
