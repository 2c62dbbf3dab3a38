"""The rows of tasks: calls that go on after their clients have got a handle.

working -> done, failed or cancelled; working -> waiting for a question -> working, or the state of
the question. Each change is one UPDATE with a condition, so an answer that comes twice counts once.
A row stays "working" if its process dies, and is then read as failed (`is_lost`).

All functions query the database: call them off the event loop.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from agui import clock
from agui.contrib.mcp import approvals
from agui.contrib.mcp.call import Request
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.models import KEPT, ClientQuestion, ClientTask, longest_call
from agui.contrib.mcp.sealing import seal, unseal
from agui.runs.processes import process_name
from agui.tools.audit import storable

State = ClientTask.State

MAX_OPEN = 50
"""The tasks of one user that may be at work or wait at once."""


def open_task(request: Request, question: ClientQuestion | None = None) -> ClientTask | None:
    """Keep a call as a task: at work, or waiting on our page. None if the user has too many."""
    now, caller = clock.now(), request.caller
    mine = ClientTask.objects.filter(
        scope=caller.actor.scope, state__in=(State.WORKING, State.WAITING), expires_at__gt=now
    )
    if question:
        # The same call again waits for the same decision.
        existing = mine.filter(caller=caller.key, question=question).first()
        if existing:
            return existing
    if mine.count() >= MAX_OPEN:
        return None
    user = caller.actor.user
    task = ClientTask(
        user=user if user.pk else None,
        scope=caller.actor.scope,
        caller=caller.key,
        client=storable(caller.client),
        tool_name=request.name,
        state=State.WAITING if question else State.WORKING,
        question=question,
        process=process_name(),
        created_at=now,
        updated_at=now,
        expires_at=_end_of(question),
    )
    task.save(force_insert=True)
    return task


def _end_of(question: ClientQuestion | None) -> Any:
    if question:
        return question.expires_at + KEPT
    return clock.now() + longest_call() + KEPT


def find(key: str, caller: Caller) -> ClientTask | None:
    """Find a task of this client of this user."""
    try:
        pk = UUID(key)
    except ValueError:
        return None
    mine = ClientTask.objects.filter(pk=pk, caller=caller.key, expires_at__gt=clock.now())
    return mine.select_related("question").first()


def settle(task: ClientTask, state: str, result: dict[str, Any] | None = None) -> None:
    """Keep how a task has ended."""
    rows = ClientTask.objects.filter(pk=task.pk, state=State.WORKING)
    rows.update(
        state=state,
        arguments="",
        result="" if result is None else seal(task.pk, "result", result),
        updated_at=clock.now(),
        expires_at=clock.now() + KEPT,
    )


def wait_for(task: ClientTask, question_id: Any, arguments: Any = None) -> None:
    """Let a task wait for a question, with the arguments of the call that its answer repeats."""
    question = ClientQuestion.objects.get(pk=question_id)
    rows = ClientTask.objects.filter(pk=task.pk, state=State.WORKING)
    rows.update(
        state=State.WAITING,
        question=question,
        arguments="" if arguments is None else seal(task.pk, "arguments", arguments),
        updated_at=clock.now(),
        expires_at=_end_of(question),
    )


def resume(task: ClientTask) -> bool:
    """Let a task work again, for the answer to its question; False if that has come already."""
    rows = ClientTask.objects.filter(
        pk=task.pk, state=State.WAITING, question=task.question, expires_at__gt=clock.now()
    )
    resumed = rows.update(
        state=State.WORKING,
        question=None,
        process=process_name(),
        updated_at=clock.now(),
        expires_at=_end_of(None),
    )
    return bool(resumed)


def wait_again(task: ClientTask) -> None:
    """Undo `resume`: the call was not begun."""
    rows = ClientTask.objects.filter(pk=task.pk, state=State.WORKING)
    rows.update(state=State.WAITING, question=task.question, expires_at=_end_of(task.question))


def ask_to_cancel(task: ClientTask) -> None:
    """Tell the process that is at work, which looks there, to cancel a task."""
    ClientTask.objects.filter(pk=task.pk, state=State.WORKING).update(is_cancelled=True)


def should_be_cancelled(task: ClientTask) -> bool:
    return ClientTask.objects.filter(pk=task.pk, is_cancelled=True).exists()


def close_withdrawn(task: ClientTask) -> None:
    """Record that a task is cancelled, whose call waited on our page."""
    rows = ClientTask.objects.filter(pk=task.pk, state=State.WAITING)
    rows.update(state=State.CANCELLED, updated_at=clock.now())


def arguments_of(task: ClientTask) -> dict[str, Any]:
    """Read the arguments of a task that waits for a form. Raises Unreadable."""
    arguments: dict[str, Any] = unseal(task.pk, "arguments", task.arguments)
    return arguments


def outcome_of(task: ClientTask) -> dict[str, Any]:
    """Read the result of a task, or its error. Raises Unreadable."""
    outcome: dict[str, Any] = unseal(task.pk, "result", task.result)
    return outcome


def words_of_result(task: ClientTask) -> str:
    """Read the words of a result, without its files. Raises Unreadable."""
    outcome = outcome_of(task)
    if task.state == State.FAILED:
        return str(outcome["message"])
    return approvals.words_in(outcome)


def ttl_of(task: ClientTask) -> timedelta:
    return task.expires_at - task.created_at
