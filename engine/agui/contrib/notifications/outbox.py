"""The rows of what users are to be told: made when a run ends, and sent by whoever claims them."""

from collections.abc import Collection
from datetime import timedelta

from django.db.models import F, Min
from django.utils import translation

from agui import clock, conf
from agui.contrib.notifications.choices import channels_of
from agui.contrib.notifications.conf import NotificationsSettings
from agui.contrib.notifications.models import Notification
from agui.models import Run
from agui.part_values import EndedRun

KINDS: dict[str, str] = {
    Run.Status.FINISHED: Notification.Kind.FINISHED,
    Run.Status.PAUSED: Notification.Kind.WAITING,
    Run.Status.FAILED: Notification.Kind.FAILED,
    Run.Status.TIMED_OUT: Notification.Kind.FAILED,
    Run.Status.INTERRUPTED: Notification.Kind.FAILED,
}
# The pause after each failed attempt, in seconds: a day in all.
PAUSES = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800)
# How long nobody else sends what one process sends. It is longer than any attempt.
LEASE_SECONDS = 300

pending = Notification.objects.filter(state=Notification.State.PENDING)


def record(run: EndedRun) -> bool:
    """Store what the user of a run is to be told; returns whether that is anything.

    What the user has cancelled is no news to them.
    """
    kind = KINDS.get(run.status)
    if kind is None or run.owner_id is None or run.is_deleted:
        return False
    channels = channels_of(run.owner_id)
    wait = timedelta(seconds=conf.part(NotificationsSettings).wait_seconds)
    # The run of a dead process is ended by another one, in the language of somebody else.
    is_own = run.status != Run.Status.INTERRUPTED
    language = translation.get_language() if is_own else None
    now = clock.now()
    rows = []
    for channel in channels:
        row = Notification(
            scope=run.scope,
            owner_id=run.owner_id,
            thread_id=run.thread_id,
            run=run.key,
            kind=kind,
            channel=channel,
            language=language or "",
            created_at=now,
            next_at=now + wait,
        )
        rows.append(row)
    if rows:
        Notification.objects.bulk_create(rows, ignore_conflicts=True)
    return bool(rows)


def forget(key: str) -> None:
    """Delete what nobody has tried to send yet: the user has read the end of the run."""
    pending.filter(run=key, attempts=0).delete()


def claim(limit: int) -> list[Notification]:
    """Take what is due. Nobody else gets it while the lease lasts, and its id stays the same."""
    now = clock.now()
    lease = now + timedelta(seconds=LEASE_SECONDS)
    claimed = []
    for row in pending.filter(next_at__lte=now).order_by("next_at")[:limit]:
        # Of all who have read the row, one finds it as it was.
        unclaimed = pending.filter(pk=row.pk, attempts=row.attempts, next_at=row.next_at)
        if unclaimed.update(attempts=F("attempts") + 1, next_at=lease):
            row.attempts += 1
            claimed.append(row)
    return claimed


def settle(row: Notification, error: str) -> None:
    """Record how an attempt has ended, unless a later one has begun."""
    now = clock.now()
    own = pending.filter(pk=row.pk, attempts=row.attempts)
    if not error:
        own.update(state=Notification.State.SENT, sent_at=now, error="")
    elif row.attempts > len(PAUSES):
        own.update(state=Notification.State.GIVEN_UP, error=error)
    else:
        pause = timedelta(seconds=PAUSES[row.attempts - 1])
        own.update(next_at=now + pause, error=error)


def give_up(row: Notification, error: str) -> None:
    """Record that no further attempt is made."""
    own = pending.filter(pk=row.pk, attempts=row.attempts)
    own.update(state=Notification.State.GIVEN_UP, error=error)


def drop(rows: Collection[Notification]) -> None:
    """Delete what need not be sent any more."""
    pending.filter(pk__in=[row.pk for row in rows]).delete()


def seconds_to_next() -> float | None:
    """Return in how many seconds something is due; None if nothing waits."""
    next_at = pending.aggregate(at=Min("next_at"))["at"]
    if next_at is None:
        return None
    return max(0.0, (next_at - clock.now()).total_seconds())
