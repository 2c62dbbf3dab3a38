"""Delete threads, with everything that belongs to them."""

from collections.abc import Iterable

from django.db import IntegrityError, router, transaction
from pydantic_ai.conversation_store import ConversationConflict

from agui import parts
from agui.models import AbstractConversation, Message, Run, get_conversation_model

Thread = get_conversation_model()

BATCH = 500


def delete_thread(thread_id: str, scope: str | None, expected_revision: str | None = None) -> None:
    """Delete a thread and its messages, except those that a fork uses.

    By default the revision does not matter. Without a scope the revision identifies the thread,
    because no two threads have the same one. Raises ConversationConflict.
    """
    owned = {"revision": expected_revision} if scope is None else {"scope": scope}
    try:
        with transaction.atomic(using=router.db_for_write(Thread)):
            threads = Thread.objects.select_for_update().filter(thread_id=thread_id)
            thread = threads.filter(**owned).first()
            if thread is None or expected_revision not in (None, thread.revision):
                raise ConversationConflict(thread_id)
            _hand_over(thread)
            thread.delete()
            delete_traces(thread_id, thread.scope)
    except IntegrityError as error:
        # A fork that should inherit messages is being deleted at the same time.
        raise ConversationConflict(thread_id) from error


def delete_traces(conversation_id: str, scope: str) -> None:
    """Delete a conversation's runs, and what the parts keep about it.

    The audit trail stays: users can't delete it.
    """
    Run.objects.filter(thread_id=conversation_id, scope=scope).delete()
    for part in parts.installed():
        part.thread_deleted(conversation_id, scope)


def _hand_over(thread: AbstractConversation) -> None:
    """Give the messages of a thread that forks use to these forks."""
    own = Message.objects.filter(thread=thread.pk)
    continued = Message.objects.exclude(thread=thread.pk).filter(parent__in=own.values("id"))
    # The database uses the partial index only if the query excludes empty values.
    forks = Thread.objects.exclude(pk=thread.pk).exclude(forked_at="")
    forks = forks.filter(forked_at__in=own.values("id"))
    ends = forks.order_by().values_list("forked_at", "pk")
    used = list(continued.order_by().values_list("parent", "thread_id").union(ends))
    if not used:
        return
    parents = dict(own.values_list("id", "parent"))
    for heir, message_ids in _inheritances(used, parents).items():
        for start in range(0, len(message_ids), BATCH):
            batch = message_ids[start : start + BATCH]
            own.filter(pk__in=batch).update(thread_id=heir)


def _inheritances(
    used: Iterable[tuple[str | None, int]], parents: dict[str, str | None]
) -> dict[int, list[str]]:
    """Assign each used message and its ancestors to the first thread that uses them.

    The function removes these messages from `parents`.
    """
    inherited: dict[int, list[str]] = {}
    for message_id, heir in used:
        while message_id in parents:
            inherited.setdefault(heir, []).append(message_id)
            message_id = parents.pop(message_id)
    return inherited
