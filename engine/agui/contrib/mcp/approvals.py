"""Calls that wait on our page: each is decided once, executed once, and keeps its result for a day.

pending -> executing -> done or failed, pending -> denied, pending -> expired. Each change is one
UPDATE with a condition, so of two decisions one wins. A row stays "executing" if its process dies:
nobody knows what the tool has done, so it never runs again.

All functions query the database: call them off the event loop.
"""

import hashlib
import json
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from pydantic_ai import ApprovalRequired

from agui import clock, conf
from agui.actor import Actor
from agui.contrib.mcp.call import Call
from agui.contrib.mcp.caller import key_of_app
from agui.contrib.mcp.models import KEPT, ClientQuestion
from agui.contrib.mcp.sealing import seal, unseal
from agui.tools.audit import storable
from agui.tools.schema import X_DESTRUCTIVE_KEY, X_EDITABLE_KEY

State = ClientQuestion.State

MAX_WAITING = timedelta(days=7)
MAX_OPEN = 50
"""The calls of one user that may wait at once."""
MAX_ARGUMENT_BYTES = 200_000
MAX_RESULT_BYTES = 2_000_000
MAX_LINES = 100
TOO_LARGE = "The arguments are too large to be approved. Nothing was done."
TOO_MANY = "Too many calls wait for the user's approval. Nothing was done."
DISCONNECTED = "The user has ended the connection to the app. Nothing was done."


class NotOpened(Exception):
    """The call can't wait, for a reason that the client is told."""


def on_page() -> QuerySet[ClientQuestion]:
    """Select the calls that wait, or have waited, on our page."""
    return ClientQuestion.objects.exclude(arguments="")


def of_owner(actor: Actor) -> QuerySet[ClientQuestion]:
    return on_page().filter(scope=actor.scope)


def waiting(actor: Actor) -> QuerySet[ClientQuestion]:
    return of_owner(actor).filter(state=State.PENDING, expires_at__gt=clock.now())


def open_call(call: Call, wish: ApprovalRequired, *, own_words: bool) -> ClientQuestion:
    """Let a call wait, or find the same call of the same client. Raises NotOpened.

    `own_words` says that the question was made from the arguments.
    """
    same = on_page().filter(caller=call.caller.key, call=call.digest)
    _expire(same)
    # A result counts for one call, so that the next one is asked about again.
    kept = same.filter(expires_at__gt=clock.now(), is_collected=False).exclude(state=State.EXPIRED)
    existing = kept.first()
    if existing:
        return existing
    if len(json.dumps(call.arguments)) > MAX_ARGUMENT_BYTES:
        raise NotOpened(TOO_LARGE)
    if waiting(call.caller.actor).count() >= MAX_OPEN:
        raise NotOpened(TOO_MANY)
    question = ClientQuestion(
        user=call.caller.actor.user,
        scope=call.caller.actor.scope,
        caller=call.caller.key,
        client=storable(call.caller.client),
        call=call.digest,
        tool_name=call.tool_name,
        kind="approval",
        form=_about(call, wish, own_words),
        state=State.PENDING,
        expires_at=clock.now() + _longest_wait(),
    )
    question.arguments = seal(question.pk, "arguments", call.arguments)
    try:
        with transaction.atomic():
            question.save(force_insert=True)
    except IntegrityError:
        # The same call came twice at once.
        return same.get(state=State.PENDING)
    return question


def _about(call: Call, wish: ApprovalRequired, own_words: bool) -> dict[str, Any]:
    words = [call.question_of(wish), *call.argument_lines()[:MAX_LINES]]
    editable = (wish.metadata or {}).get(X_EDITABLE_KEY, True)
    about: dict[str, Any] = storable(
        {
            "title": call.label_of(wish),
            "question": words[0],
            "message": "\n".join(words),
            "definition": call.definition,
            "own_words": own_words,
            "destructive": bool((wish.metadata or {}).get(X_DESTRUCTIVE_KEY)),
            "editable": editable if isinstance(editable, bool | list) else True,
        }
    )
    return about


def _longest_wait() -> timedelta:
    seconds = conf.get().interrupt_expires_seconds
    if seconds is None:
        return MAX_WAITING
    return min(timedelta(seconds=seconds), MAX_WAITING)


def _expire(rows: QuerySet[ClientQuestion]) -> None:
    late = rows.filter(state=State.PENDING, expires_at__lte=clock.now())
    late.update(state=State.EXPIRED)


def arguments_of(question: ClientQuestion) -> dict[str, Any]:
    """Read the arguments. Raises Unreadable."""
    arguments: dict[str, Any] = unseal(question.pk, "arguments", question.arguments)
    return arguments


def result_of(question: ClientQuestion) -> Any:
    """Read the result. Raises Unreadable."""
    return unseal(question.pk, "result", question.result)


def words_of_result(question: ClientQuestion) -> str:
    """Read the words of a result, without its files. Raises Unreadable."""
    return words_in(result_of(question))


def words_in(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def version_of(question: ClientQuestion) -> str:
    """Name what the user is shown: a decision holds for nothing else."""
    return hashlib.sha256(question.arguments.encode()).hexdigest()[:16]


def claim(question: ClientQuestion) -> bool:
    """Begin to execute a decision; False if the call waits no longer, or not as it was shown."""
    now = clock.now()
    rows = ClientQuestion.objects.filter(
        pk=question.pk,
        state=State.PENDING,
        arguments=question.arguments,
        expires_at__gt=now,
    )
    claimed = rows.update(state=State.EXECUTING, decided_at=now, expires_at=now + KEPT)
    return bool(claimed)


def finish(question: ClientQuestion, state: str, result: dict[str, Any]) -> None:
    """Keep the result of a call that this process has claimed."""
    rows = ClientQuestion.objects.filter(pk=question.pk, state=State.EXECUTING)
    rows.update(state=state, result=seal(question.pk, "result", limited(result)))


def limited(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result, or only words about it if it is too large to be kept."""
    if len(json.dumps(result)) <= MAX_RESULT_BYTES:
        return result
    too_large = {"type": "text", "text": "The result is too large to be kept."}
    return {"content": [too_large], "isError": result.get("isError", False)}


def ask_again(
    question: ClientQuestion, call: Call, wish: ApprovalRequired, *, own_words: bool
) -> None:
    """Let a claimed call wait again, with the arguments that the user has edited."""
    rows = ClientQuestion.objects.filter(pk=question.pk, state=State.EXECUTING)
    rows.update(
        state=State.PENDING,
        arguments=seal(question.pk, "arguments", call.arguments),
        form=_about(call, wish, own_words),
        decided_at=None,
        expires_at=question.expires_at,
    )


def end_for_app(user: Any, client_id: str) -> None:
    """Deny what an app has asked for, whose connection its user has ended."""
    result = {"content": [{"type": "text", "text": DISCONNECTED}], "isError": True}
    for question in on_page().filter(user=user, state=State.PENDING):
        if question.caller == key_of_app(question.scope, client_id) and claim(question):
            finish(question, State.DENIED, result)


def collect(question: ClientQuestion) -> None:
    """Record that the client has got the result."""
    ClientQuestion.objects.filter(pk=question.pk).update(is_collected=True)
