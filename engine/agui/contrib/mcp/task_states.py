"""What a client is told of a task: the `Task` of the extension io.modelcontextprotocol/tasks."""

from typing import Any

from mcp import types

from agui.contrib.mcp import approvals, forms, status, task_rows
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.models import ClientQuestion, ClientTask
from agui.contrib.mcp.sealing import Unreadable
from agui.contrib.mcp.task_rows import State

POLL_MS = 2000
POLL_PAGE_MS = 5000
"""How often a client should ask about a call that waits for a person."""
LOST = (
    "The server ended or failed while this was at work. Nobody knows whether the tool has acted: "
    "it may have been done in part. Check what was done before you try anything."
)
NO_ANSWER = "Nobody has answered in time. Call the tool again to ask once more."

Told = dict[str, Any]


def handle_of(task: ClientTask) -> Told:
    """Return the handle that a client gets in place of a result."""
    return {"resultType": "task", **_task(task, "working")}


async def state_of(task: ClientTask, caller: Caller) -> Told:
    """Return the state of a task, with its result, its error or what it asks."""
    question = task.question
    if task.state == State.CANCELLED:
        return _task(task, "cancelled")
    if task.state == State.WAITING and question:
        if question.arguments:
            return await _on_page(task, question, caller)
        return _in_form(task, question)
    if task.is_lost:
        return _failed(task, types.INTERNAL_ERROR, LOST)
    if task.state == State.WORKING:
        return _task(task, "working")
    try:
        outcome = task_rows.outcome_of(task)
    except Unreadable:
        return _completed(task, status.said(status.UNREADABLE, is_error=True))
    if task.state == State.FAILED:
        return _failed(task, outcome["code"], outcome["message"])
    return _task(task, "completed", result=outcome)


async def _on_page(task: ClientTask, question: ClientQuestion, caller: Caller) -> Told:
    """Return the state of a call that waits, or has waited, on our page."""
    words = await status.tell(question, caller)
    if question.is_open:
        [block] = words.content
        told = _task(task, "working", statusMessage=getattr(block, "text", ""))
        return told | {"pollIntervalMs": POLL_PAGE_MS}
    if question.is_lost:
        return _failed(task, types.INTERNAL_ERROR, status.LOST)
    words.meta = None
    return _completed(task, words)


def _in_form(task: ClientTask, question: ClientQuestion) -> Told:
    if forms.is_late(question):
        return _completed(task, status.said(NO_ANSWER, is_error=True))
    request = forms.form_request(question).model_dump(mode="json", by_alias=True, exclude_none=True)
    # Over the life of a task, no key may name two requests.
    return _task(task, "input_required", inputRequests={str(question.pk): request})


def _completed(task: ClientTask, result: types.CallToolResult) -> Told:
    return _task(task, "completed", result=stored(result))


def _failed(task: ClientTask, code: int, message: str) -> Told:
    error = {"code": code, "message": message}
    return _task(task, "failed", statusMessage=message, error=error)


def _task(task: ClientTask, state: str, **more: Any) -> Told:
    return {
        "taskId": str(task.pk),
        "status": state,
        "createdAt": task.created_at.isoformat(),
        "lastUpdatedAt": task.updated_at.isoformat(),
        "ttlMs": round(task_rows.ttl_of(task).total_seconds() * 1000),
        "pollIntervalMs": POLL_MS,
        **more,
    }


def stored(result: types.CallToolResult | types.InputRequiredResult) -> Told:
    """Return a result as it is kept and sent."""
    return approvals.limited(result.model_dump(mode="json", by_alias=True, exclude_none=True))
