"""Delete rows that are older than AGUI["RETENTION"] allows, and rows that have no owner any more.

Transactions are short, so other processes can write in between. A row that can't be deleted does
not keep the command from deleting the rest.
"""

import logging
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from importlib import import_module
from itertools import islice
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.core.management.base import BaseCommand, CommandError
from django.db import connections, router
from django.db.models import Exists, OuterRef, Q, QuerySet
from pydantic_ai.conversation_store import ConversationConflict

from agui import clock, conf, parts
from agui.models import AbstractConversation, ApiToken, AuditRecord, Run, get_conversation_model
from agui.part_values import Outdated
from agui.parts import Part
from agui.stores.deletion import delete_thread

Thread = get_conversation_model()

logger = logging.getLogger("agui.prune")

BATCH = 200
READ_AHEAD = 10_000
MAX_AGE = 100_000
VISITOR = "session:"
# SQLite has one writer at a time. A process that waits tries again every tenth of a second, and has
# to meet a pause.
WORK_SECONDS = 0.2
PAUSE_SECONDS = 0.12
# A process that has been silent about its runs for this long is dead.
SILENCE = timedelta(hours=1)
# An expired or revoked token is kept for this long, to explain what happened.
TOKEN_AGE = timedelta(days=30)

HELP = {
    "conversations": "Conversations without a new message for so long [%(default)s].",
    "runs": "Records of runs that began so long ago [%(default)s].",
    "audit": "Records of tool calls made so long ago [%(default)s].",
}


class Command(BaseCommand):
    help = (
        "Delete old conversations, runs and audit records, unused files, dead tokens, and what "
        "visitors have left."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        retention = conf.get().retention
        options = {
            "conversations": retention.conversations_days,
            "runs": retention.runs_days,
            "audit": retention.audit_days,
        }
        for name, default in options.items():
            parser.add_argument(
                f"--{name}", type=_age, metavar="DAYS", default=default, help=HELP[name]
            )
        parser.add_argument(
            "--dry-run", action="store_true", help="Only count what would be deleted."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.now = clock.now()
        self.pause_at = clock.monotonic() + WORK_SECONDS
        self.dry_run: bool = options["dry_run"]
        self.failed = False
        self.counted: set[int] = set()  # The threads that a dry run has counted.
        outdated_of_parts: list[Outdated] = []
        for part in parts.installed():
            outdated_of_parts += self.ask(part)
        # Runs come before conversations, which delete the rest of their runs. So a dry run counts
        # the same runs.
        if options["runs"]:
            self.prune_runs(options["runs"])
        if options["audit"]:
            self.prune_audit(options["audit"])
        self.prune_tokens()
        if options["conversations"]:
            before = self.before(days=options["conversations"])
            threads = Thread.objects.filter(updated_at__lt=before)
            self.prune("conversations", self.prune_threads, threads)
        self.prune("conversations of visitors who are gone", self.prune_visitors)
        for outdated in outdated_of_parts:
            self.prune_rows(outdated)
        if self.failed:
            raise CommandError("Not everything could be deleted: the log says what and why.")

    def ask(self, part: Part) -> list[Outdated]:
        """Ask a part what it keeps no longer. If that fails, the rest is deleted all the same."""
        try:
            return list(part.prune(self.dry_run))
        except Exception:
            self.failed = True
            logger.exception("Listing the outdated rows of %s failed", part.name)
            return []

    def prune_runs(self, days: int) -> None:
        runs = self.ended_runs().filter(started_at__lt=self.before(days=days))
        self.prune_rows(Outdated("runs", runs))

    def prune_audit(self, days: int) -> None:
        records = AuditRecord.objects.filter(started_at__lt=self.before(days=days))
        self.prune_rows(Outdated("records of tool calls", records))

    def prune_tokens(self) -> None:
        long_ago = self.now - TOKEN_AGE
        tokens = ApiToken.objects.filter(Q(expires_at__lt=long_ago) | Q(revoked_at__lt=long_ago))
        self.prune_rows(Outdated("dead tokens", tokens))

    def prune(self, what: str, step: Callable[..., int], *args: Any) -> None:
        try:
            count = step(*args)
        except Exception:
            self.failed = True
            logger.exception("Deleting %s failed", what)
        else:
            verb = "Would delete" if self.dry_run else "Deleted"
            self.stdout.write(f"{verb} {what}: {count}")

    def pause(self) -> None:
        """Let other processes write to SQLite from time to time."""
        database = connections[router.db_for_write(Thread)]
        if database.vendor == "sqlite" and clock.monotonic() > self.pause_at:
            time.sleep(PAUSE_SECONDS)
            self.pause_at = clock.monotonic() + WORK_SECONDS

    def before(self, **age: int) -> datetime:
        return self.now - timedelta(**age)

    def ended_runs(self) -> QuerySet[Run]:
        """Find runs that nothing needs any more.

        A run that died with its process is still needed if it has a thread, which gets the run's
        draft when it is next opened.
        """
        thread = Thread.objects.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        is_needed = Q(Exists(thread)) | Q(seen_at__gte=self.now - SILENCE)
        return Run.objects.exclude(is_needed, status=Run.Status.RUNNING)

    def prune_rows(self, outdated: Outdated) -> None:
        step = self.count if self.dry_run else self.delete
        self.prune(outdated.name, step, outdated)

    def count(self, outdated: Outdated) -> int:
        return outdated.rows.count()

    def delete(self, outdated: Outdated) -> int:
        count = 0
        all_pks = map(attrgetter("pk"), read_ahead(outdated.rows.only("pk")))
        while pks := list(islice(all_pks, min(BATCH, outdated.batch))):
            try:
                count += outdated.delete(pks)
            except Exception:
                self.failed = True
                logger.exception("Deleting %s failed, with the keys %s", outdated.name, pks)
            self.pause()
        return count

    def prune_threads(self, rows: QuerySet[AbstractConversation]) -> int:
        active = Run.objects.filter(status=Run.Status.RUNNING, seen_at__gte=self.now - SILENCE)
        active = active.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        rows = rows.filter(~Exists(active)).only("thread_id", "scope", "revision")
        return sum(map(self.prune_thread, read_ahead(rows)))

    def prune_thread(self, thread: AbstractConversation) -> bool:
        if self.dry_run:
            is_new = thread.pk not in self.counted
            self.counted.add(thread.pk)
            return is_new
        try:
            # A user who returns to the thread now changes its revision, and so keeps it.
            delete_thread(thread.thread_id, thread.scope, thread.revision)
        except ConversationConflict:
            return False
        except Exception:
            self.failed = True
            logger.exception("Deleting thread %s failed", thread.thread_id)
            return False
        self.pause()
        return True

    def prune_visitors(self) -> int:
        """Prune conversations of visitors whose session has ended: nobody can reach them now."""
        before = self.before(seconds=settings.SESSION_COOKIE_AGE)
        old = Thread.objects.filter(updated_at__lt=before)
        rows = old.filter(owner=None, scope__contains=VISITOR).order_by("scope")
        scopes = rows.values_list("scope", flat=True).distinct()
        count = 0
        batch = list(scopes[:BATCH])
        while batch:
            keys = {scope: scope.partition(VISITOR)[2] for scope in batch}
            live = self.live_sessions(list(keys.values()))
            gone = [scope for scope in batch if keys[scope] not in live]
            count += self.prune_threads(old.filter(scope__in=gone))
            batch = list(scopes.filter(scope__gt=batch[-1])[:BATCH])
        return count

    def live_sessions(self, keys: list[str]) -> set[str]:
        engine = import_module(settings.SESSION_ENGINE).SessionStore
        if not issubclass(engine, DatabaseSessionStore):
            return {key for key in keys if engine().exists(key)}
        # Don't use `exists`: it also finds expired sessions that `clearsessions` has not deleted.
        sessions = engine.get_model_class().objects.filter(
            session_key__in=keys, expire_date__gt=self.now
        )
        return set(sessions.values_list("session_key", flat=True))


def read_ahead(rows: QuerySet[Any]) -> Iterator[Any]:
    """Read rows in the order of their keys, many at once: for each read, all rows are sorted."""
    rows = rows.order_by("pk")
    batch = list(rows[:READ_AHEAD])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1].pk)[:READ_AHEAD])


def _age(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_AGE:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_AGE}.")
    return int(text)
