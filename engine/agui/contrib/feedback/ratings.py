"""Users' ratings of answers, for the people who look after the agent."""

import json
from typing import Any, TypedDict

from django.db import IntegrityError
from django.utils.translation import gettext_lazy as _

from agui import clock
from agui.actor import Actor
from agui.contrib.feedback.models import Feedback
from agui.errors import NotFound
from agui.models import AbstractConversation, Message, Run, get_conversation_model
from agui.part_values import PersonalData
from agui.protocol.outbound import wire_messages
from agui.stores import codec, rows
from agui.stores.base import store_class
from agui.stores.model import ModelConversationStore
from agui.stores.summary import clean

Thread = get_conversation_model()

MAX_COMMENT_CHARS = 2000
# The id is searched for as a text, so a message that quotes it matches, too.
MAX_READ = 20


class Rating(TypedDict):
    """A rating as clients get it."""

    value: int
    comment: str


def is_kept() -> bool:
    """Return whether the project's store has rows of threads, to which ratings belong."""
    return issubclass(store_class(), ModelConversationStore)


def read_feedback(thread_id: str, scope: str) -> dict[str, Rating]:
    """Read the ratings of a thread's answers, in all of its versions, by message id."""
    ratings = {}
    for row in Feedback.objects.filter(thread__thread_id=thread_id, thread__scope=scope):
        ratings[row.message_id] = Rating(value=row.value, comment=row.comment)
    return ratings


def give_feedback(
    thread_id: str, scope: str, message_id: str, value: int, comment: str
) -> Rating | None:
    """Save what the thread's user thinks of an answer, in place of an earlier rating.

    With 0, delete the rating. Raises NotFound for another owner's thread, and for a message that is
    no answer in it.
    """
    thread = Thread.objects.filter(thread_id=thread_id, scope=scope).first()
    entry = _find_answer(thread, message_id) if thread else None
    if thread is None or entry is None:
        raise NotFound(_("There is no such thread, or no such answer in it."))
    if not value:
        Feedback.objects.filter(thread=thread.pk, message_id=message_id).delete()
        return None
    # Line by line, because clean() replaces control characters.
    lines = map(clean, comment.strip().splitlines())
    rating = Rating(value=value, comment="\n".join(lines))
    changes = {**rating, "updated_at": clock.now()}
    origin = {"entry": entry.pk, "run": _find_run(entry)}
    try:
        Feedback.objects.update_or_create(
            thread_id=thread.pk,
            message_id=message_id,
            defaults=changes,
            create_defaults=changes | origin,
        )
    except IntegrityError:
        # The thread has just been deleted.
        raise NotFound(_("There is no such thread.")) from None
    return rating


def _find_answer(thread: AbstractConversation, message_id: str) -> Message | None:
    quoted_id = json.dumps(message_id, ensure_ascii=False)
    entries = Message.objects.filter(data__contains=quoted_id).select_related("thread")
    ends = []
    if thread.forked_from:
        ends = [end for end in (thread.head, *thread.branches) if end]
    if ends:
        # Some messages of a fork belong to its source.
        entries = entries.filter(thread__scope=thread.scope, pk__in=rows.read_links(ends))
    else:
        entries = entries.filter(thread=thread.pk)
    for entry in entries[:MAX_READ]:
        for message in wire_messages(codec.load_messages([entry.data])):
            if message["id"] == message_id and message["role"] == "assistant":
                return entry
    return None


def _find_run(entry: Message) -> object:
    """Return the key of the run that has stored a message: a thread has one run at a time."""
    runs = Run.objects.filter(thread_id=entry.thread.thread_id, scope=entry.thread.scope)
    earlier = runs.filter(started_at__lte=entry.created_at).order_by("-started_at")
    return earlier.values_list("pk", flat=True).first()


class RatingsOfOwner(PersonalData):
    """Ratings, each with the id of its thread."""

    def extra(self, row: Any) -> dict[str, Any]:
        return {"thread_id": row.thread.thread_id}


def ratings_of(actor: Actor) -> PersonalData:
    own = Feedback.objects.filter(thread__scope=actor.scope)
    ratings = own.order_by("created_at").select_related("thread")
    return RatingsOfOwner("feedback", ratings, hidden=("id", "thread"))
