"""What users think of answers: one word an answer, for whoever looks after the agent."""

import json
from typing import Any, TypedDict

from django.db import IntegrityError
from django.utils import timezone

from agui.actor import Actor
from agui.contrib.feedback.models import Feedback
from agui.errors import NotFound
from agui.models import Message, Run, Thread
from agui.parts import PersonalData
from agui.protocol.outbound import wire_messages
from agui.stores import codec, rows
from agui.stores.base import store_class
from agui.stores.model import ModelConversationStore
from agui.stores.summary import clean

MAX_COMMENT_CHARS = 2000
# An id is told apart by reading the messages that have its letters. More have them only if it is a
# word of theirs.
MAX_READ = 20


class Told(TypedDict):
    """What a client is told of it."""

    value: int
    comment: str


def is_kept() -> bool:
    """Tell whether ratings can be kept: they go with the rows of threads, and only one store has these."""
    return issubclass(store_class(), ModelConversationStore)


def read_feedback(thread_id: str, scope: str) -> dict[str, Told]:
    """Read what was said of a thread's answers, in all of its versions, by message id."""
    given = Feedback.objects.filter(thread__thread_id=thread_id, thread__scope=scope)
    return {one.message_id: Told(value=one.value, comment=one.comment) for one in given}


def give_feedback(
    thread_id: str, scope: str, message_id: str, value: int, comment: str
) -> Told | None:
    """Keep what the thread's user thinks of an answer, instead of what he thought before; with 0, nothing.

    Raises NotFound for somebody else's thread, and for a message that is no answer in it.
    """
    thread = Thread.objects.filter(thread_id=thread_id, scope=scope).first()
    entry = _find_answer(thread, message_id) if thread else None
    if thread is None or entry is None:
        raise NotFound("There is no such thread, or no such answer in it.")
    if not value:
        thread.feedback.filter(message_id=message_id).delete()
        return None
    told = Told(value=value, comment="\n".join(map(clean, comment.strip().splitlines())))
    said = {**told, "updated_at": timezone.now()}
    found = {"entry": entry.pk, "run": _find_run(entry)}
    try:
        thread.feedback.update_or_create(
            message_id=message_id, defaults=said, create_defaults=said | found
        )
    except IntegrityError:
        raise NotFound("There is no such thread.") from None  # Deleted at this very moment
    return told


def _find_answer(thread: Thread, message_id: str) -> Message | None:
    found = Message.objects.filter(
        data__contains=json.dumps(message_id, ensure_ascii=False)
    ).select_related("thread")
    if ends := [end for end in (thread.head, *thread.branches) if end and thread.forked_from]:
        # A fork has messages that are its source's.
        found = found.filter(thread__scope=thread.scope, pk__in=rows.read_links(ends))
    else:
        found = found.filter(thread=thread)
    for entry in found[:MAX_READ]:
        told = wire_messages(codec.load_messages([entry.data]))
        if any(one["id"] == message_id and one["role"] == "assistant" for one in told):
            return entry
    return None


def _find_run(entry: Message) -> object:
    """The run that has stored a message: a thread has one at a time."""
    runs = Run.objects.filter(thread_id=entry.thread.thread_id, scope=entry.thread.scope)
    return (
        runs.filter(started_at__lte=entry.created_at)
        .order_by("-started_at")
        .values_list("pk", flat=True)
        .first()
    )


class RatingsOfOwner(PersonalData):
    """Ratings, each with the id of its thread."""

    def extra(self, row: Any) -> dict[str, Any]:
        return {"thread_id": row.thread.thread_id}


def ratings_of(actor: Actor) -> PersonalData:
    rows = (
        Feedback.objects.filter(thread__scope=actor.scope)
        .order_by("created_at")
        .select_related("thread")
    )
    return RatingsOfOwner("feedback", rows, hidden=("id", "thread"))
