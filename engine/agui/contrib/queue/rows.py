"""The rows of messages that wait. Each function runs in a thread of the database pool."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import IntegrityError, router, transaction
from django.db.models import F, Max, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext_lazy as _

from agui import conf, statements
from agui.actor import Actor
from agui.contrib.queue.models import QueuedMessage
from agui.errors import Conflict, NotFound
from agui.models import Message, Run
from agui.part_values import EndedRun

State = QueuedMessage.State


class QueueFull(Conflict):
    code = "queue_full"
    message = _("Too many messages wait in this conversation.")


class OtherRun(Conflict):
    code = "run_changed"
    message = _("The run that this message is for has ended.")


class AlreadyRead(Conflict):
    code = "already_read"
    message = _("The agent has read this message already.")


@dataclass(frozen=True)
class Queue:
    """The messages of one thread that wait."""

    scope: str
    thread_id: str

    def rows(self) -> QuerySet[QueuedMessage]:
        return QueuedMessage.objects.filter(scope=self.scope, thread_id=self.thread_id)

    def waiting(self) -> QuerySet[QueuedMessage]:
        return self.rows().filter(state=State.WAITING)

    def in_thread(self, message_ids: Collection[str]) -> set[str]:
        """Select the ids of messages that the thread has."""
        messages = Message.objects.filter(
            thread__thread_id=self.thread_id, thread__scope=self.scope, prompt_id__in=message_ids
        )
        return set(messages.values_list("prompt_id", flat=True))

    def hold(self) -> None:
        """Let the next run of the thread hear of the messages, as no active one does."""
        config: Any = apps.get_app_config("agui_queue")
        config.hold(self.scope, self.thread_id)

    def index(self, row: QueuedMessage) -> int | None:
        """Count the messages that wait before one; None if it does not wait."""
        keys = list(self.waiting().values_list("pk", flat=True))
        return keys.index(row.pk) if row.pk in keys else None

    def lock(self) -> list[QueuedMessage]:
        """Lock the messages that wait, until the transaction ends."""
        locked = list(self.waiting().select_for_update().order_by("pk"))
        return sorted(locked, key=lambda row: (row.position, row.pk))

    def lock_run(self) -> None:
        """Lock the thread's last run, until the transaction ends."""
        runs = Run.objects.filter(scope=self.scope, thread_id=self.thread_id)
        runs.select_for_update().order_by("-started_at").only("pk").first()

    def load(self) -> list[QueuedMessage]:
        """Load the messages that wait, except those that have come into the thread otherwise."""
        rows = list(self.waiting())
        if not rows:
            return []
        present = self.in_thread([row.message_id for row in rows])
        if present:
            same = self.waiting().filter(message_id__in=present)
            same.update(state=State.READ, data="")
        return [row for row in rows if row.message_id not in present]


def atomic() -> Any:
    return transaction.atomic(using=router.db_for_write(QueuedMessage))


def add(
    queue: Queue,
    actor: Actor,
    message: Any,
    mode: str,
    limit: int,
    expected_run: str | None = None,
) -> QueuedMessage:
    """Add a message, unless there is one with its id: that one is returned, as it is.

    Raises QueueFull, OtherRun, and Conflict for a message that the thread has.
    """
    same = queue.rows().filter(message_id=message.id)
    existing = same.first()
    if existing is not None:
        return existing
    if queue.in_thread([message.id]):
        raise Conflict("The conversation has a message with this id.")
    try:
        with atomic():
            # Two that lock the same row add their messages one after the other.
            queue.lock_run()
            data = dump(message)
            if queue.waiting().count() >= limit or not _has_room(queue, data):
                raise QueueFull
            run = active_run(queue, expected_run)
            last = queue.rows().aggregate(last=Max("position"))["last"]
            return QueuedMessage.objects.create(
                scope=queue.scope,
                owner_id=actor.user.pk,
                thread_id=queue.thread_id,
                message_id=message.id,
                mode=mode,
                run=run if mode == QueuedMessage.Mode.STEER else None,
                position=0 if last is None else last + 1,
                data=data,
            )
    except IntegrityError:
        # The same request was sent twice.
        existing = same.first()
        if existing is None:
            raise
        return existing


def _has_room(queue: Queue, data: str, besides: QueuedMessage | None = None) -> bool:
    """Whether the messages that wait are no larger than one request: a run begins with all."""
    others = queue.waiting().exclude(pk=besides.pk) if besides else queue.waiting()
    size = others.aggregate(size=Sum(Length("data")))["size"] or 0
    return not size or bool(size + len(data) <= conf.get().max_body_bytes)


def dump(message: Any) -> str:
    """Write a message as JSON, which can hold lone surrogates, too."""
    return json.dumps(message.model_dump(mode="json", by_alias=True, exclude_none=True))


def change(
    queue: Queue, message_id: str, *, message: Any, mode: str | None, position: int | None
) -> QueuedMessage:
    """Edit a message that waits, or move it to a position. Raises AlreadyRead and NotFound."""
    with atomic():
        rows = queue.lock()
        row = _find(queue, rows, message_id)
        if position is not None:
            rows.remove(row)
            rows.insert(position, row)
            for number, other in enumerate(rows):
                other.position = number
            QueuedMessage.objects.bulk_update(rows, ["position"])
        if message is not None:
            row.data = dump(message)
            if not _has_room(queue, row.data, besides=row):
                raise QueueFull
        if mode is not None:
            row.mode = mode
            row.run = active_run(queue) if mode == QueuedMessage.Mode.STEER else None
        if message is not None or mode is not None:
            row.changes += 1
            row.save(update_fields=["data", "mode", "run", "changes"])
    return row


def _find(queue: Queue, rows: Sequence[QueuedMessage], message_id: str) -> QueuedMessage:
    for row in rows:
        if row.message_id == message_id:
            return row
    if queue.rows().filter(message_id=message_id, state=State.READ).exists():
        raise AlreadyRead
    raise NotFound("No such message waits.")


def take_back(queue: Queue, message_id: str) -> bool:
    """Remove a message that waits; returns False if that was done before.

    Raises AlreadyRead and NotFound.
    """
    row = queue.rows().filter(message_id=message_id)
    if row.filter(state=State.WAITING).update(state=State.TAKEN_BACK, data=""):
        return True
    if row.filter(state=State.TAKEN_BACK).exists():
        return False
    _find(queue, (), message_id)
    raise AlreadyRead


class Changed(Conflict):
    """A message was edited, moved, taken back or read, after it was loaded."""


def claim(rows: Sequence[QueuedMessage], key: str, *, is_stored: bool) -> None:
    """Record that a run reads messages as they were loaded. Raises Changed.

    `is_stored` says whether the same transaction stores them in the thread. The database may have
    done this although its answer was lost, so a second time is none.
    """
    values: dict[str, Any] = {"state": State.READ, "run": key}
    if is_stored:
        values["data"] = ""
    # Queue.lock has the same order: in another one, two transactions could wait for each other.
    for row in sorted(rows, key=lambda row: row.pk):
        unchanged = QueuedMessage.objects.filter(pk=row.pk, mode=row.mode, changes=row.changes)
        if unchanged.filter(state=State.WAITING).update(**values):
            continue
        if not unchanged.filter(state=State.READ, run=key).exists():
            raise Changed


def check_not_paused(queue: Queue, key: str) -> None:
    """Raise Changed if the last run before this one waits for an answer.

    It may have begun after the last look, and its question would be gone.
    """
    runs = Run.objects.filter(scope=queue.scope, thread_id=queue.thread_id).exclude(pk=key)
    statuses = runs.order_by("-started_at").values_list("status", flat=True)
    if statuses.first() == Run.Status.PAUSED:
        raise Changed


def settle(run: EndedRun) -> None:
    """Let messages wait again that a run has read, but that did not come into the thread."""
    queue = Queue(run.scope, run.thread_id)
    rows = queue.rows().filter(run=run.key, state=State.READ)
    read = list(rows.values_list("message_id", flat=True))
    if not read:
        return
    kept = queue.in_thread(read)
    rows.filter(message_id__in=kept).update(data="")
    wait_again = rows.exclude(message_id__in=kept).update(
        state=State.WAITING, mode=QueuedMessage.Mode.QUEUE, run=None, changes=F("changes") + 1
    )
    if wait_again:
        queue.hold()


def look_after_commit(queue: Queue) -> None:
    """Hold a thread if messages wait in it when the end of its run is committed.

    Until then, another process that adds a message leaves it to the run, which may not have heard
    of it yet. From then on, it begins the next run itself.
    """
    waiting = {"scope": queue.scope, "thread_id": queue.thread_id, "state": State.WAITING}

    def look() -> None:
        if statements.select(QueuedMessage, **waiting):
            queue.hold()

    transaction.on_commit(look, using=router.db_for_write(Run), robust=True)


def active_run(queue: Queue, expected_run: str | None = None) -> Any:
    """Read the key of the thread's active run; None if there is none.

    Raises OtherRun unless it is the expected one, by the client's id.
    """
    runs = Run.objects.filter(scope=queue.scope, thread_id=queue.thread_id)
    active = runs.filter(status=Run.Status.RUNNING).values_list("pk", "run_id").first()
    key, run_id = active or (None, None)
    if expected_run is not None and run_id != expected_run:
        raise OtherRun
    return key


def threads_with_messages(limit: int) -> set[tuple[str, str]]:
    """Select threads in which messages wait, by scope and id."""
    waiting = QueuedMessage.objects.filter(state=State.WAITING).order_by()
    return set(waiting.values_list("scope", "thread_id").distinct()[:limit])


def last_run(queue: Queue) -> Any:
    """Read the id, the status and the start of the thread's last run; None if there is none."""
    runs = Run.objects.filter(scope=queue.scope, thread_id=queue.thread_id)
    return runs.order_by("-started_at").values("run_id", "status", "started_at").first()
