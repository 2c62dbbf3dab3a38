"""What clients are told about a call that waits on our page, and the tool that tells it."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp import types

from agui.blocking.executor import in_database
from agui.contrib.mcp import approvals
from agui.contrib.mcp.approvals import State
from agui.contrib.mcp.call import Call, find
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.links import page_of
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.sealing import Unreadable
from agui.errors import HttpError
from agui.http.throttle import throttle

NAME = "approval_status"
TOOL = types.Tool(
    name=NAME,
    title="Approval status",
    description="Tell whether a call that waits for the user's approval was approved or denied, "
    "and return its result.",
    input_schema={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id in the result of the call."}
        },
        "required": ["id"],
    },
    annotations=types.ToolAnnotations(
        title="Approval status",
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=True,
        open_world_hint=False,
    ),
)
UNKNOWN = "There is no such approval, or it is kept no longer."
WAITS = (
    "This waits for approval. Nothing was done. Ask the user to open {link} and to approve or deny "
    "it there, before {deadline}. Then call " + NAME + ' with the id "{id}", or this tool with the '
    "same arguments, to get the result. Don't try to get around the approval."
)
AT_WORK = "The user has approved this, and it is at work. Call " + NAME + " again in a few seconds."
LOST = (
    "The user has approved this, and the server ended while it was at work. It may have been done "
    "in part, and it never runs again. Check what was done before you try anything."
)
EXPIRED = "Nobody approved this in time. Nothing was done. Call the tool again to ask once more."
NOT_ALLOWED = "This was decided, and you may not see its result any more."
UNREADABLE = "This was decided, and its result can't be read any more."
FINAL = (State.DONE, State.FAILED, State.DENIED, State.EXPIRED)


async def answer(
    caller: Caller,
    arguments: dict[str, Any],
    may_know: Callable[[str, Caller], Awaitable[bool]],
) -> types.CallToolResult:
    """Answer a call of the tool, about calls of this client alone, with results it may know."""
    try:
        await throttle(caller.request, caller.actor)
    except HttpError as refusal:
        return said(str(refusal), is_error=True)
    question = await find(arguments.get("id"), caller, also_late=True)
    if question is None or not question.arguments:
        return said(UNKNOWN, is_error=True)
    is_over = question.state in (State.DONE, State.FAILED)
    if is_over and not await may_know(question.tool_name, caller):
        return said(NOT_ALLOWED, is_error=True)
    return await tell(question, caller)


async def tell(
    question: ClientQuestion, caller: Caller, call: Call | None = None
) -> types.CallToolResult:
    """Tell a client the state of a call, or its result.

    `call` is the same call if the client has made it again.
    """
    state = question.state_now
    if state in FINAL or question.is_lost:
        await in_database(approvals.collect, question)
    about = {"id": str(question.pk), "state": str(state)}
    if state == State.PENDING:
        about |= {"link": page_of(question, caller), "deadline": _deadline(question)}
        words = waits(question, caller)
    elif state == State.EXECUTING:
        words = LOST if question.is_lost else AT_WORK
    elif state == State.EXPIRED:
        words = EXPIRED
    else:
        return _stored(question, about)
    # A client refuses a result without the fields that it expects, unless it is an error.
    is_misfit = call is not None and call.returns_object
    result = said(words, is_error=is_misfit or state == State.EXPIRED or question.is_lost)
    if not is_misfit:
        result.structured_content = {"approval": about}
    return result


def waits(question: ClientQuestion, caller: Caller) -> str:
    link = page_of(question, caller)
    return WAITS.format(link=link, deadline=_deadline(question), id=question.pk)


def _stored(question: ClientQuestion, about: dict[str, str]) -> types.CallToolResult:
    try:
        stored = approvals.result_of(question)
    except Unreadable:
        return said(UNREADABLE, is_error=True)
    result = types.CallToolResult.model_validate(stored, by_name=False)
    result.meta = {"approval": about}
    return result


def said(words: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=words)], is_error=is_error
    )


def _deadline(question: ClientQuestion) -> str:
    return f"{question.expires_at:%Y-%m-%d %H:%M} UTC"
