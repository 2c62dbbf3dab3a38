"""Approvals and questions that a client shows to its user as a form.

A client of 2026 gets the form as the result of its call, with a sealed state, and calls again with
the answer and the state. A client of 2025 gets the form on the stream of its response, and posts
the answer. Both name a row, which holds for one user, one credential, one tool with its definition
and one set of arguments, until its deadline, and is used once. An answer that names no such row
counts for nothing.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from mcp import MCPError, types
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from pydantic import ValidationError
from pydantic_ai import ApprovalRequired, CallDeferred

from agui import clock, conf
from agui.blocking.executor import in_database, release_connections
from agui.contrib.mcp.call import Call, find
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.flat import ANSWER, NotFlat, form_of
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.sealing import keys_for
from agui.protocol.answer_schemas import fits
from agui.sentences import fill
from agui.tools.audit import storable
from agui.tools.questions import question_text
from agui.tools.schema import prettify

State = ClientQuestion.State

OPEN_SECONDS = 600.0
"""The time in which a form has to be answered, if INTERRUPT_EXPIRES_SECONDS is not shorter."""
POLL_SECONDS = 1.0
"""How often a waiting call looks for an answer that another process has got."""
APPROVAL, QUESTION = "approval", "question"
APPROVAL_FORM = {
    "type": "object",
    "properties": {APPROVAL: {"type": "boolean", "title": "Approve", "description": "Do this."}},
    "required": [APPROVAL],
}
STALE = "Invalid or expired requestState"
# Answers that this process has got, for calls that wait here.
_arrivals: dict[UUID, asyncio.Event] = {}


@dataclass(frozen=True)
class Answer:
    """What the user has answered."""

    kind: str
    accepted: bool
    value: Any = None


def state_boundary(caller: Caller, audience: str) -> RequestStateBoundary:
    """Return what seals the states that travel, and refuses all others."""
    security = RequestStateSecurity(
        keys=keys_for("agui.mcp.state"),
        ttl=_open_seconds(),
        bind_principal=lambda context: caller.key,
    )
    return RequestStateBoundary(security, default_audience=audience)


def _open_seconds() -> float:
    return min(conf.get().interrupt_expires_seconds or OPEN_SECONDS, OPEN_SECONDS)


async def open_form(call: Call, wish: ApprovalRequired | CallDeferred) -> ClientQuestion | None:
    """Open a question to be shown as a form; None if it has none."""
    kind, about = _about(call, wish)
    if about is None:
        return None
    user = call.caller.actor.user
    question = ClientQuestion(
        user=user if user.pk else None,
        scope=call.caller.actor.scope,
        caller=call.caller.key,
        client=storable(call.caller.client),
        call=call.digest,
        tool_name=call.tool_name,
        kind=kind,
        form=storable(about),
        expires_at=clock.now() + timedelta(seconds=_open_seconds()),
    )
    await in_database(lambda: question.save(force_insert=True))
    return question


def _about(call: Call, wish: ApprovalRequired | CallDeferred) -> tuple[str, dict[str, Any] | None]:
    """Return the kind of a question and what its form shows, if it has a form."""
    if isinstance(wish, ApprovalRequired):
        words = "\n".join([call.question_of(wish), *call.argument_lines()])
        return APPROVAL, {"message": words, "form": APPROVAL_FORM}
    if wish.kind != QUESTION:
        return wish.kind, None
    metadata = wish.metadata or {}
    schema = metadata.get("response_schema")
    try:
        form, is_wrapped = form_of(schema)
    except NotFlat:
        return QUESTION, None
    label = prettify(call.tool_name)
    message = metadata.get("message") or fill(_('"{tool}" needs an answer.'), tool=label)
    words = question_text(message)
    return QUESTION, {
        "message": words,
        "form": form,
        "schema": schema or {},
        "is_wrapped": is_wrapped,
    }


def form_request(question: ClientQuestion) -> types.ElicitRequest:
    params = types.ElicitRequestFormParams(
        message=question.form["message"], requested_schema=question.form["form"]
    )
    return types.ElicitRequest(params=params)


def input_required(question: ClientQuestion) -> types.InputRequiredResult:
    """Return a question as the result of a call, for a client of 2026."""
    return types.InputRequiredResult(
        input_requests={question.kind: form_request(question)}, request_state=str(question.pk)
    )


async def read_answer(
    question: ClientQuestion, call: Call, params: Any
) -> Answer | ClientQuestion | None:
    """Read the answer that a call brings to a question of this client, and use it up.

    Returns None for a tool that has changed since, so that the user is asked anew. Returns the
    question if its answer is missing. Raises MCPError for a question that is not open.
    """
    if question.state != State.OPEN:
        raise stale()
    if question.call != call.digest:
        return None
    given = (params.input_responses or {}).get(question.kind)
    if not isinstance(given, types.ElicitResult):
        return question
    answer = _read(question, given)
    if answer is None:
        return question
    if not await _use(question, State.OPEN, answer):
        raise stale()
    return answer


def is_late(question: ClientQuestion) -> bool:
    """Whether an answer to a form counts no more."""
    return question.state != State.OPEN or question.expires_at <= clock.now()


def stale() -> MCPError:
    return MCPError(types.INVALID_PARAMS, STALE)


def _read(question: ClientQuestion, given: types.ElicitResult) -> Answer | None:
    """Read what a form has got; None if that does not fit it."""
    content = given.content or {}
    if given.action != "accept":
        return Answer(question.kind, accepted=False)
    if question.kind == APPROVAL:
        return Answer(APPROVAL, accepted=content.get(APPROVAL) is True)
    value: Any = content
    if question.form["is_wrapped"]:
        value = content.get(ANSWER)
    if not fits(value, question.form["schema"]):
        return None
    if not isinstance(value, str):
        # In a store, an object of a client could look like a file.
        value = json.dumps(value, ensure_ascii=False)
    return Answer(QUESTION, accepted=True, value=value)


async def _use(question: ClientQuestion, state: str, answer: Answer) -> bool:
    """Use a question up; False if another call has."""
    rows = ClientQuestion.objects.filter(pk=question.pk, state=state, expires_at__gt=clock.now())
    used = State.USED if answer.accepted else State.DECLINED
    return bool(await in_database(lambda: rows.update(state=used, answer=None)))


# --- Clients of 2025


async def ask_on_stream(caller: Caller, question: ClientQuestion) -> Answer | None:
    """Send a question on the stream of the response, and wait for its answer.

    Returns None if there is no stream any more, or no answer in time.
    """
    request = form_request(question).model_dump(mode="json", by_alias=True, exclude_none=True)
    result = await request_on_stream(caller, question, request)
    if result is None:
        return None
    try:
        given = types.ElicitResult.model_validate(result, by_name=False)
    except ValidationError:
        given = types.ElicitResult(action="cancel")
    answer = _read(question, given)
    if answer is None or not await _use(question, State.ANSWERED, answer):
        return None
    return answer


async def request_on_stream(
    caller: Caller, question: ClientQuestion, request: dict[str, Any]
) -> Any:
    """Send a request that names a question, and wait for the client's result; None without one."""
    stream = caller.stream
    if stream is None:
        return None
    arrived = _arrivals[question.pk] = asyncio.Event()
    try:
        await stream.send({"jsonrpc": "2.0", "id": str(question.pk), **request})
        while question.expires_at > clock.now() and not stream.is_closed:
            await release_connections()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await arrived.wait()
            arrived.clear()
            row = await in_database(ClientQuestion.objects.filter(pk=question.pk).first)
            if row is None:
                return None
            if row.state == State.ANSWERED:
                return {} if row.answer is None else row.answer
    finally:
        del _arrivals[question.pk]
    return None


async def receive(caller: Caller, message: dict[str, Any]) -> None:
    """Keep a client's answer to a request on a stream, for the call that waits for it."""
    question = await find(message.get("id"), caller)
    if question is None:
        return
    rows = ClientQuestion.objects.filter(pk=question.pk, state=State.OPEN)
    answer = storable(message.get("result"))
    await in_database(lambda: rows.update(state=State.ANSWERED, answer=answer))
    arrived = _arrivals.get(question.pk)
    if arrived:
        arrived.set()
