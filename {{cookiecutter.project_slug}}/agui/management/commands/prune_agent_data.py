"""Delete what is older than AGUI["RETENTION"] allows, and what is nobody's any more.

Transactions are short, and others can write in between. What can't be deleted stops nothing else.
"""

import logging
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.core.management.base import BaseCommand, CommandError
from django.db import connections, router, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from pydantic_ai.conversation_store import ConversationConflict

from agui import conf
from agui.contrib.dashboard.rollup import roll_up
from agui.models import ApiToken, Attachment, AttachmentUse, AuditRecord, Run, Spending, Thread
from agui.stores.base import store_class
from agui.stores.model import ModelConversationStore
from agui.stores.null import NullConversationStore
from agui.stores.rows import delete_thread

logger = logging.getLogger("agui.prune")

BATCH = 200
MAX_AGE = 100_000
VISITOR = "session:"
# SQLite takes one writer at a time. Who waits asks every tenth of a second, and has to meet a pause.
WORK_SECONDS = 0.2
PAUSE_SECONDS = 0.12
# Longer than any process that is alive says nothing of its runs.
SILENCE = timedelta(hours=1)
# For so long, a token that is no longer good may still explain something.
TOKEN_AGE = timedelta(days=30)
MONTH_DAYS = 31


class Command(BaseCommand):
    help = "Delete old conversations, runs and audit records, unused files, dead tokens, what visitors have left."

    def add_arguments(self, parser: ArgumentParser) -> None:
        kept = conf.get().retention
        for name, unit, default, what in (
            ("conversations", "DAYS", kept.conversations_days, "Conversations without a new message for so long"),
            ("runs", "DAYS", kept.runs_days, "Records of runs that began so long ago"),
            ("spending", "DAYS", kept.spending_days, "What somebody has spent on days so long ago"),
            ("audit", "DAYS", kept.audit_days, "Records of tool calls made so long ago"),
            ("attachments", "HOURS", kept.attachments_hours, "Files uploaded so long ago that no conversation names"),
        ):
            parser.add_argument(f"--{name}", type=_age, metavar=unit, default=default, help=f"{what} [%(default)s].")
        parser.add_argument("--dry-run", action="store_true", help="Only say what would go.")

    def handle(self, *args: Any, **options: Any) -> None:
        self.now = timezone.now()
        self.pause_at = time.monotonic() + WORK_SECONDS
        self.dry_run: bool = options["dry_run"]
        self.failed = False
        self.gone: set[int] = set()  # The threads that a dry run has come across
        if not self.dry_run:
            self.count()
        # Before the conversations, which take the rest of their runs along: so a dry run counts the same.
        if days := options["runs"]:
            self.prune("runs", self.prune_rows, self.ended_runs().filter(started_at__lt=self.before(days=days)))
        # Visitors': no budget looks further back than a month.
        days = max(MONTH_DAYS, settings.SESSION_COOKIE_AGE // (24 * 60 * 60) + 1)
        old = Q(owner=None, scope__startswith=VISITOR, day__lt=self.before(days=days))
        if days := options["spending"]:
            old |= Q(day__lt=self.before(days=days))
        self.prune("spending", self.prune_rows, Spending.objects.filter(old))
        if days := options["audit"]:
            records = AuditRecord.objects.filter(started_at__lt=self.before(days=days))
            self.prune("records of tool calls", self.prune_rows, records)
        long_ago = self.now - TOKEN_AGE
        dead = ApiToken.objects.filter(Q(expires_at__lt=long_ago) | Q(revoked_at__lt=long_ago))
        self.prune("dead tokens", self.prune_rows, dead)
        if days := options["conversations"]:
            threads = Thread.objects.filter(updated_at__lt=self.before(days=days))
            self.prune("conversations", self.prune_threads, threads)
        self.prune("conversations of visitors who are gone", self.prune_visitors)
        if hours := options["attachments"]:
            self.prune("unused files", self.prune_attachments, self.before(hours=hours))
        if self.failed:
            raise CommandError("Not everything could be deleted: the log says what and why.")

    def count(self) -> None:
        """Tell the dashboard of what goes. Who has to forget does so all the same if that fails."""
        try:
            roll_up()
        except Exception:
            self.failed = True
            logger.exception("The runs of the last hours could not be counted")

    def prune(self, what: str, step: Callable[..., int], *args: Any) -> None:
        try:
            count = step(*args)
        except Exception:
            self.failed = True
            logger.exception("Deleting %s failed", what)
        else:
            self.stdout.write(f"{'Would delete' if self.dry_run else 'Deleted'} {what}: {count}")

    def pause(self) -> None:
        if connections[router.db_for_write(Thread)].vendor == "sqlite" and time.monotonic() > self.pause_at:
            time.sleep(PAUSE_SECONDS)
            self.pause_at = time.monotonic() + WORK_SECONDS

    def before(self, **age: int) -> datetime:
        return self.now - timedelta(**age)

    def at_work(self) -> QuerySet[Run]:
        return Run.objects.filter(status=Run.Status.RUNNING, seen_at__gte=self.now - SILENCE)

    def ended_runs(self) -> QuerySet[Run]:
        """Not those that died with their process: their thread takes what they said when it is next opened."""
        thread = Exists(Thread.objects.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope")))
        return Run.objects.exclude(Q(thread) | Q(seen_at__gte=self.now - SILENCE), status=Run.Status.RUNNING)

    def prune_rows(self, rows: QuerySet[Any]) -> int:
        if self.dry_run:
            return rows.count()
        count = 0
        while pks := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
            count += rows.filter(pk__in=pks).delete()[0]
            self.pause()
        return count

    def prune_threads(self, rows: QuerySet[Thread]) -> int:
        at_work = self.at_work().filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        rows = rows.filter(~Exists(at_work)).order_by("pk").only("thread_id", "scope", "revision")
        count, last = 0, 0
        while batch := list(rows.filter(pk__gt=last)[:BATCH]):
            last = batch[-1].pk
            count += sum(self.prune_thread(thread) for thread in batch)
        return count

    def prune_thread(self, thread: Thread) -> bool:
        if self.dry_run:
            is_new = thread.pk not in self.gone
            self.gone.add(thread.pk)
            return is_new
        try:
            # In this revision: whoever comes back to it at this moment keeps it.
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
        """Without his session a visitor can't read, export or delete what was his, nor can anybody for him."""
        old = Thread.objects.filter(updated_at__lt=self.before(seconds=settings.SESSION_COOKIE_AGE))
        scopes = old.filter(owner=None, scope__startswith=VISITOR).order_by().values_list("scope", flat=True).distinct()
        count, last = 0, ""
        while batch := list(scopes.filter(scope__gt=last).order_by("scope")[:BATCH]):
            last = batch[-1]
            gone = set(batch) - {VISITOR + key for key in self.live_sessions([s.removeprefix(VISITOR) for s in batch])}
            count += self.prune_threads(old.filter(scope__in=gone))
        return count

    def live_sessions(self, keys: list[str]) -> set[str]:
        engine = import_module(settings.SESSION_ENGINE).SessionStore
        if issubclass(engine, DatabaseSessionStore):
            # Not `exists`: it knows those, too, that have expired and wait for `clearsessions`.
            sessions = engine.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=self.now)
            return set(sessions.values_list("session_key", flat=True))
        return {key for key in keys if engine().exists(key)}

    def prune_attachments(self, before: datetime) -> int:
        """Delete what was never named, or only by conversations that went without it."""
        needed = AttachmentUse.objects.filter(attachment=OuterRef("pk"))
        # Where other stores keep their threads, only they know.
        if issubclass(store_class(), ModelConversationStore | NullConversationStore):
            threads = Thread.objects.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("attachment__scope"))
            needed = needed.filter(Exists(threads))
        unused = Attachment.objects.filter(~Exists(needed), created_at__lt=before)
        if self.dry_run:
            return unused.count()
        return sum(self.prune_attachment(unused, pk) for pk in list(unused.values_list("pk", flat=True)))

    def prune_attachment(self, unused: QuerySet[Attachment], pk: UUID) -> bool:
        try:
            with transaction.atomic(using=router.db_for_write(Attachment)):
                # Nobody can name it any more: so it is asked again whether somebody just has.
                Attachment.objects.select_for_update().filter(pk=pk).first()
                is_gone = bool(unused.filter(pk=pk).delete()[0])
        except Exception:
            self.failed = True
            logger.exception("Deleting attachment %s failed", pk)
            return False
        self.pause()
        return is_gone


def _age(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_AGE:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_AGE}.")
    return int(text)
